import { expectUnchanged, type Write } from '../../../store/port.ts';
import type { Sweep, SweepDeps } from '../../cleanup/sweep.ts';
import { suffixOf } from '../../records/audit-records.ts';
import { put } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import { readIndex, readSegment } from './find.ts';
import { lastOf } from './segment.ts';

const ACCOUNTS_PER_PIECE_MAX = 100;
/** Segments that one commit removes, of an account in a pass: 400,000 entries. */
const SEGMENTS_MAX = 100;

type CutDeps = Pick<SweepDeps, 'store' | 'fence'>;

/** Removes the segments of the index whose entries the retention has removed; see `Sweep`. */
export async function cutOldSegments(deps: CutDeps, from: string | undefined, signal: AbortSignal): ReturnType<Sweep> {
  const prefix = KEYS.auditIndex.under();
  const page = await deps.store.list({ prefix, limit: ACCOUNTS_PER_PIECE_MAX, keysOnly: true, after: from });
  let gone = 0;
  for (const { key } of page.entries) {
    if (signal.aborted) break;
    gone += await cut(deps, key.slice(prefix.length));
  }
  return { gone, next: page.next };
}

/** A leader that describes more at the same moment is faster: the next pass removes them. */
async function cut({ store, fence }: CutDeps, accountId: string): Promise<number> {
  const { index } = await readIndex(store, accountId);
  const head = index.record;
  if (!head) return 0;
  const prefix = KEYS.audit.under(accountId);
  const [oldest] = (await store.list({ prefix, limit: 1, keysOnly: true })).entries;
  const begin = oldest && suffixOf(accountId, oldest.key);
  let { first } = head;
  const write: Write[] = [];
  for (; first <= head.last && write.length < SEGMENTS_MAX; first += 1) {
    const segment = await readSegment(store, accountId, first);
    if (segment.record && begin !== undefined && lastOf(segment.record) >= begin) break;
    write.push({ remove: segment.key });
  }
  if (write.length === 0) return 0;
  const key = KEYS.auditIndex(accountId);
  const result = await store.commit({
    expect: [expectUnchanged(index), ...fence],
    write: [...write, first > head.last ? { remove: key } : put(key, { ...head, first })],
    quiet: true,
    writeClass: 'vital',
  });
  return result.outcome === 'conflict' ? 0 : write.length;
}
