import { setImmediate } from 'node:timers/promises';
import { createBackups, isLeftOut } from '../../../src/domain/backup/backup.ts';
import { readBackup } from '../../../src/domain/backup/file-format.ts';
import type { RestoreRules } from '../../../src/domain/backup/restore-rules.ts';
import { restore, type Restored } from '../../../src/domain/backup/restore.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { ABSENT, PAGE_ENTRIES_MAX, type Entry, type Store } from '../../../src/store/port.ts';
import { entriesOf } from '../service/accounts.ts';
import { FakeClock } from '../time/fake-clock.ts';

const random = systemRandom();

export const backupsOf = (store: Store): ReturnType<typeof createBackups> =>
  createBackups({ store, clock: new FakeClock(), random, version: '0.1.0' });

/** The whole text of a backup; `between` is called before each further piece. */
export async function backupText(
  store: Store,
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  const begun = await backupsOf(store).begin({ counted: false });
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

async function* bytesOf(text: string): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(text);
}

export const restoreText = (store: Store, text: string, rules: Partial<RestoreRules> = {}): Promise<Restored> =>
  restore({ store, clock: restless(), random, keepCodes: false, opens: () => true, ...rules }, () => bytesOf(text));

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
    const page = await store.listAt(
      { prefix: '', limit: PAGE_ENTRIES_MAX, ...(after !== undefined && { after }) },
      revision,
    );
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
  const all = Object.entries(records).map(([key, record]) => ({ put: key, value: JSON.stringify(record) }));
  for (let at = 0; at < all.length; at += 100) {
    await store.commit({ expect: [{ key: 'never', revision: ABSENT }], write: all.slice(at, at + 100) });
  }
}
