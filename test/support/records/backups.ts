import { setImmediate } from 'node:timers/promises';
import { createBackups, isLeftOut } from '../../../src/domain/backup/backup.ts';
import { readBackup } from '../../../src/domain/backup/file-format.ts';
import type { RestoreRules } from '../../../src/domain/backup/restore-rules.ts';
import { restore, type BackupTrust, type Restored } from '../../../src/domain/backup/restore.ts';
import type { SigningKey } from '../../../src/domain/backup/file-format.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { parseKeyRing, type KeyRing } from '../../../src/domain/keys/key-ring.ts';
import type { Origin } from '../../../src/domain/mutation/step.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics/service-metrics.ts';
import { PAGE_ENTRIES_MAX, expectAbsent, type Entry, type Store } from '../../../src/store/port.ts';
import { entriesOf } from '../service/accounts.ts';
import { FakeClock } from '../time/fake-clock.ts';
import { keyLine } from './key-lines.ts';
import { rawPut } from '../store/raw-key.ts';

const random = systemRandom();

/** The ring with the keys of these numbers, as `keyLine` makes them. */
export const ringOf = (...numbers: readonly number[]): KeyRing =>
  parseKeyRing(numbers.map((number) => keyLine(number)).join(''));

/** The keys that sign a backup of these tests, and verify it. */
export const RING = ringOf(1, 2);

/** @param number of the key that signs */
export function signer(number: number, ring = RING): SigningKey {
  const [key, fingerprint] = [ring.key(number), ring.fingerprint(number)];
  if (!key || fingerprint === undefined) throw new Error(`no key ${number}`);
  return { number, fingerprint, key };
}

export const ORIGIN: Origin = { actor: 'operator', requestId: 'r', at: 1, deadline: Number.POSITIVE_INFINITY };

/** @param logged is given the lines of the log */
export const backupsOf = (store: Store, logged?: string[]): ReturnType<typeof createBackups> =>
  createBackups({
    store,
    fleet: { newestInstant: () => 0 },
    quotas: { countOwnAct: () => undefined },
    clock: new FakeClock(),
    random,
    log: logged ? createLog('info', { write: (line) => void logged.push(line) }) : createLog('silent'),
    metrics: createMetrics('test'),
    keyRing: RING,
    version: '0.1.0',
  });

/** The whole text of a backup; `between` is called before each further piece. */
export async function backupText(
  store: Store,
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  const begun = await backupsOf(store).begin({ counted: false, origin: ORIGIN });
  if (begun === 'busy') throw new Error('busy');
  await using backup = begun;
  let text = '';
  for await (const piece of backup.pieces()) {
    text += piece;
    await between();
  }
  return text;
}

/** Its pauses between attempts pass at once. */
function restless(): FakeClock {
  const clock = new FakeClock();
  clock.sleep = () => setImmediate();
  return clock;
}

async function* bytesOf(text: string | Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(text);
}

/** @param text what each reading of the file gives; a list has one for each */
export async function restoreText(
  store: Store,
  text: string | readonly string[],
  rules: Partial<RestoreRules & { trust: BackupTrust }> = {},
): Promise<Restored> {
  const readings = typeof text === 'string' ? [text] : text;
  let reading = 0;
  return await restore(
    { store, clock: restless(), random, keepCodes: false, opens: () => true, trust: { keyRing: RING }, ...rules },
    () => bytesOf(readings[Math.min(reading++, readings.length - 1)] ?? ''),
  );
}

/** The entries of a backup, and the revision that it is of. */
export async function readText(text: string): Promise<{ entries: Entry[]; revision: number; counted?: number }> {
  const entries: Entry[] = [];
  let head: { revision: number; entries?: number | undefined } = { revision: 0 };
  for await (const piece of readBackup(bytesOf(text))) {
    if ('header' in piece) head = piece.header;
    else if ('entry' in piece) entries.push(piece.entry);
  }
  return { entries, revision: head.revision, ...(head.entries !== undefined && { counted: head.entries }) };
}

/** The entries of a store at a revision, but for those that no backup has. */
export async function copiedAt(store: Store, revision: number): Promise<Entry[]> {
  const entries: Entry[] = [];
  let after: string | undefined;
  do {
    const page = await store.listAt({ prefix: '', limit: PAGE_ENTRIES_MAX, after }, revision);
    if (page === 'compacted') throw new Error('compacted');
    entries.push(...page.entries.filter(({ key }) => !isLeftOut(key)));
    after = page.next;
  } while (after !== undefined);
  return entries;
}

/** Keys and values of everything in a store. */
export async function contentOf(store: Store): Promise<Map<string, string>> {
  return new Map((await entriesOf(store, '')).map(({ key, value }) => [key, value]));
}

/** Puts records as they are given, whatever they are, each over what was there. */
export async function putAll(store: Store, records: Readonly<Record<string, object>>): Promise<void> {
  const all = Object.entries(records).map(([key, record]) => rawPut(key, record));
  for (let at = 0; at < all.length; at += 100) {
    await store.commit({ expect: [expectAbsent('never')], write: all.slice(at, at + 100) });
  }
}
