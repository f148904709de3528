import { COMMIT_OPERATIONS_MAX } from '../../store/port.ts';
import { LIMITS } from '../limits.ts';
import type { ReviewIndex } from '../records/review-records.ts';

/**
 * Decides which of the incoming entries one commit takes, in their order, and which of the oldest it drops to make
 * room. Where an entry needs more room than one commit can make, that commit only drops.
 * @param operationsMax the operations of one commit; one of them writes the index
 */
export function admit<Entry extends { readonly digest: string; readonly bytes: number }>(
  index: ReviewIndex,
  incoming: readonly Entry[],
  operationsMax: number = COMMIT_OPERATIONS_MAX,
): { readonly index: ReviewIndex; readonly taken: readonly Entry[]; readonly dropped: readonly string[] } {
  const taken: Entry[] = [];
  let dropCount = 0;
  let count = index.entries.length;
  let bytes = index.entries.reduce((sum, [, size]) => sum + size, 0);
  const room = (): number => operationsMax - 1 - taken.length - dropCount;
  for (const entry of incoming) {
    while (
      (count + 1 > LIMITS.reviewEntriesPerAppMax || bytes + entry.bytes > LIMITS.reviewBytesPerAppMax) &&
      dropCount < index.entries.length &&
      room() > 0
    ) {
      bytes -= index.entries[dropCount]?.[1] ?? 0;
      count -= 1;
      dropCount += 1;
    }
    if (room() === 0) break;
    taken.push(entry);
    count += 1;
    bytes += entry.bytes;
  }
  const kept = index.entries.slice(dropCount);
  return {
    index: {
      ...index,
      entries: [...kept, ...taken.map(({ digest, bytes }): [string, number] => [digest, bytes])],
      dropped: index.dropped + dropCount,
    },
    taken,
    dropped: index.entries.slice(0, dropCount).map(([digest]) => digest),
  };
}
