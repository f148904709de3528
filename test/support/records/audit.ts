import { auditSealReconciler } from '../../../src/controller/audit.ts';
import type { Term } from '../../../src/controller/leader.ts';
import type { Reconciler } from '../../../src/controller/loop.ts';
import { sealAccount } from '../../../src/domain/audit/seal.ts';
import { createAuditNews } from '../../../src/domain/audit/following/news.ts';
import { sealedIn } from '../../../src/domain/audit/unsealed.ts';
import { verifyAudit } from '../../../src/domain/audit/verify.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { AuditRecord } from '../../../src/domain/records/audit-records.ts';
import { createLog } from '../../../src/log.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { ABSENT, COMMIT_OPERATIONS_MAX, expectAbsent, type Put, type Store } from '../../../src/store/port.ts';
import type { FakeClock } from '../time/fake-clock.ts';
import { rawKey } from '../store/raw-key.ts';

export const ACCOUNT = 'a'.repeat(16);
export const OTHER_ACCOUNT = 'b'.repeat(16);

let markers = 0;

/** What an entry has that is not as usual. */
type Unusual = Partial<Pick<AuditRecord, 'actor' | 'action' | 'detail' | 'requestId'>>;

/** @returns the entry of one mutation, as a write, at a key that nobody has */
export function entryAt(at: number, accountId: string, unusual: Unusual = {}): Put {
  markers += 1;
  const key = KEYS.audit(accountId, at, String(markers).padStart(22, 'm'));
  const actor = markers % 2 === 0 ? 'operator' : 'key:n4c8r2w6y1z5';
  return put(key, { at, actor, action: 'test', requestId: `r${markers}`, detail: {}, ...unusual });
}

/** Writes entries in one commit. */
export async function writeAll(store: Store, entries: readonly Put[]): Promise<void> {
  const [first, ...others] = entries.map((entry) => expectAbsent(entry.put));
  if (!first) return;
  const result = await store.commit({ expect: [first, ...others], write: entries });
  if (result.outcome === 'conflict') throw new Error('the entry was there already');
}

/** An audit entry as a mutation writes it. @returns its key */
export async function writeEntry(
  store: Store,
  at: number,
  accountId = ACCOUNT,
  unusual: Unusual = {},
): Promise<string> {
  const entry = entryAt(at, accountId, unusual);
  await writeAll(store, [entry]);
  return entry.put;
}

/** Audit entries as merged mutations write them: as many as a commit takes in each. @returns their keys */
export async function writeEntries(
  store: Store,
  ats: readonly number[],
  accountId = ACCOUNT,
  unusual: Unusual = {},
): Promise<string[]> {
  const entries = ats.map((at) => entryAt(at, accountId, unusual));
  for (let from = 0; from < entries.length; from += COMMIT_OPERATIONS_MAX) {
    await writeAll(store, entries.slice(from, from + COMMIT_OPERATIONS_MAX));
  }
  return entries.map((entry) => entry.put);
}

/** Changes one key past the service, as anybody who can write the store may do. */
export async function tamper(store: Store, key: string, value: string | undefined): Promise<void> {
  const entry = await store.get(key);
  await store.commit({
    expect: [expectRevision(key, entry?.revision ?? ABSENT)],
    write: [value === undefined ? { remove: rawKey(key) } : { put: rawKey(key), value }],
    quiet: true,
  });
}

/** A leader that seals on command. */
interface Sealer extends AsyncDisposable {
  readonly term: Term;
  /** How many entries it has sealed. */
  readonly sealed: number;
  readonly logged: readonly string[];
  readonly loop: Reconciler;
  round(): Promise<void>;
}

export function sealer(store: Store, clock: FakeClock, fence: Term['fence'] = []): Sealer {
  const ended = new AbortController();
  const logged: string[] = [];
  const log = createLog('debug', { write: (line: string) => void logged.push(line) });
  const term = { fence, signal: ended.signal };
  let sealed = 0;
  const metrics = { auditSealed: (entries = 1) => void (sealed += entries) };
  const storedBytes = { sealed: () => undefined };
  const indexing = { sealed: () => undefined };
  const unsealed = createAuditNews(store, clock).follow(sealedIn(store));
  const reconciler = auditSealReconciler({ store, clock, log, metrics, unsealed, storedBytes, indexing }, term);
  return {
    term,
    logged,
    loop: reconciler,
    get sealed() {
      return sealed;
    },
    round: () => reconciler.reconcile(ended.signal),
    async [Symbol.asyncDispose]() {
      ended.abort();
    },
  };
}

/** Seals all there is: what was just written comes by the watch, in its own time. */
export async function sealAll(store: Store, leader: Sealer, accountId = ACCOUNT): Promise<void> {
  for (;;) {
    await leader.round();
    if ((await verifyAudit(store, accountId)).unsealed === 0) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Blocks of a few entries have each at a revision of its own. */
const ONE_BY_ONE_MAX = 10;

/** Writes so many entries, a second apart, and seals them in blocks of the size given. @returns their keys */
export async function sealedBlocks(store: Store, clock: FakeClock, blocks: number, size: number): Promise<string[][]> {
  const keys: string[][] = [];
  for (let block = 0; block < blocks; block += 1) {
    const ats = Array.from({ length: size }, () => {
      clock.advance(1000);
      return clock.now();
    });
    const own: string[] = [];
    if (size > ONE_BY_ONE_MAX) own.push(...(await writeEntries(store, ats)));
    else for (const at of ats) own.push(await writeEntry(store, at));
    await sealNow(store, clock);
    keys.push(own);
  }
  return keys;
}

/** Seals what there is, in one go. */
export async function sealNow(store: Store, clock: FakeClock, accountId = ACCOUNT): Promise<void> {
  await sealAccount({ store, clock, fence: [] }, { accountId, from: '', upTo: Number.MAX_SAFE_INTEGER });
}
