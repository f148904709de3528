import type { Store } from '../../../store/port.ts';
import type { AuditIndexRecord, SegmentRecord } from '../../records/audit-records.ts';
import { BadRecord, parseRecord, replaceable, type Versioned } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';

/* How the segments of an audit are found. A segment that is not there, or cannot be read, is no fault of the audit. */

type Reading = Pick<Store, 'get'>;

/** Which segments an audit has. */
interface FoundIndex {
  /** Its record is undefined where there is no index, or one of another store. */
  readonly index: Versioned<AuditIndexRecord | undefined>;
  readonly storeId: string | undefined;
}

/** @throws StoreUnavailable; BadRecord where the format of the store cannot be read */
export async function readIndex(store: Reading, accountId: string): Promise<FoundIndex> {
  const key = KEYS.auditIndex(accountId);
  const [entry, format] = await Promise.all([store.get(key), store.get(KEYS.format())]);
  const storeId = format && parseRecord(KEYS.format, format).record.storeId;
  const found = replaceable(KEYS.auditIndex, key, entry);
  const isOwn = found.record?.storeId === storeId;
  return { index: isOwn ? found : { ...found, record: undefined }, storeId };
}

/** Reads a segment, whose record is undefined where there is none. @throws StoreUnavailable */
export async function readSegment(
  store: Reading,
  accountId: string,
  number: number,
): Promise<Versioned<SegmentRecord | undefined>> {
  const key = KEYS.auditSegment(accountId, number);
  return replaceable(KEYS.auditSegment, key, await store.get(key));
}

/** The segment in an entry of the store; undefined where it cannot be read. */
export function segmentIn(entry: Parameters<typeof parseRecord>[1]): SegmentRecord | undefined {
  try {
    return parseRecord(KEYS.auditSegment, entry).record;
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    return undefined;
  }
}

/**
 * The number of the newest segment that is true for `test`, which is true for the oldest ones and false for the newer
 * ones; one less than the oldest where it is true for none.
 */
export async function newestSegment(
  { first, last }: Pick<AuditIndexRecord, 'first' | 'last'>,
  read: (number: number) => Promise<SegmentRecord | undefined>,
  test: (segment: SegmentRecord) => boolean,
): Promise<number> {
  let [low, high] = [first - 1, last];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const segment = await read(middle);
    if (!segment || test(segment)) low = middle;
    else high = middle - 1;
  }
  return low;
}
