import { KEYS } from '../records/keys.ts';

/** A parsed key of the cached range: the account, the kind of record, and which one. */
export interface RecordRef {
  readonly accountId: string;
  /** Its name in `KEYS`. */
  readonly kind: 'account' | 'apiKey' | 'app' | 'otel' | 'counters' | 'lastSeen' | 'members' | 'stored';
  /** The id of the API key or app; `''` for records of which an account has one. */
  readonly id: string;
}

/** The kinds by the segment of their keys. */
const KINDS: ReadonlyMap<string, RecordRef['kind']> = new Map([
  ['key', 'apiKey'],
  ['app', 'app'],
  ['otel', 'otel'],
  ['tally', 'counters'],
  ['seen', 'lastSeen'],
  ['members', 'members'],
  ['stored', 'stored'],
]);

function endOfPart(key: string, start: number): number {
  const slash = key.indexOf('/', start);
  return slash < 0 ? key.length : slash;
}

const ACCOUNTS = KEYS.account.under();

/** Parses a key; undefined for a key that no account has, or of a kind that this program does not know. */
export function recordRefOf(key: string): RecordRef | undefined {
  if (!key.startsWith(ACCOUNTS)) return undefined;
  // The parts are found by hand, without `split`: a start parses a million keys.
  const afterId = endOfPart(key, ACCOUNTS.length);
  const afterKind = endOfPart(key, afterId + 1);
  const accountId = key.slice(ACCOUNTS.length, afterId);
  const kind = afterId === key.length ? 'account' : KINDS.get(key.slice(afterId + 1, afterKind));
  return kind && { accountId, kind, id: key.slice(afterKind + 1, endOfPart(key, afterKind + 1)) };
}
