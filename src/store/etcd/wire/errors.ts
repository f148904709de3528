import { StoreUnavailable, type StoreTrouble } from '../../port.ts';

/** The status codes of gRPC that the rules name. */
export const GRPC = {
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export interface GrpcTrouble {
  readonly code: number;
  readonly details: string;
}

export function isGrpcTrouble(error: unknown): error is GrpcTrouble {
  return error instanceof Error && 'code' in error && 'details' in error && typeof error.details === 'string';
}

/** etcd's refusals are told apart by their words: several share a code. */
function says(error: unknown, words: string): boolean {
  return isGrpcTrouble(error) && error.details.includes(words);
}

/** Whether etcd refused a read because its revision is compacted. */
export const isCompacted = (error: unknown): boolean => says(error, 'required revision has been compacted');
/** Whether etcd refused a read because it has not reached the revision. */
export const isFuture = (error: unknown): boolean => says(error, 'required revision is a future revision');

/** Whether etcd refused a call because the lease does not exist any more. */
export const isLeaseGone = (error: unknown): boolean => says(error, 'requested lease not found');
/** Whether etcd refused to grant a lease because one of that id exists. */
export const isLeaseThere = (error: unknown): boolean => says(error, 'lease already exists');

/** The token expired, was lost in a restart, or is older than the last change of users: a fresh one will do. */
export function refusesToken(details: string): boolean {
  return details.includes('invalid auth token') || details.includes('revision of auth store is old');
}

/** Whether etcd refused a user or a password. */
export const refusesPassword = (error: unknown): boolean => says(error, 'authentication failed');

/** etcd found fault with the request itself and did nothing: too many operations, a key twice, too large. */
export function isInvalid(error: unknown): boolean {
  // A rejected password has the same code, and would be rejected for each commit alone, too.
  if (!(error instanceof StoreUnavailable && error.reason === 'failed')) return false;
  return isGrpcTrouble(error.cause) && error.cause.code === GRPC.invalidArgument;
}

/** Any failure of a call, in the port's terms. etcd's own words are kept: they name no value. */
export function unavailable(operation: string, error: unknown): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  if (!isGrpcTrouble(error)) return new StoreUnavailable('failed', `${operation} failed`, { cause: error });
  const reason = reasonOf(error);
  // gRPC says this where HTTP/2 is spoken, and no gRPC.
  const status = /^Received HTTP status code (\d+)/.exec(error.details)?.[1];
  if (status !== undefined) {
    const words = `its address answers with HTTP status ${status}: what listens there is no etcd, or a proxy before it fails`;
    return new StoreUnavailable(reason, `${operation}: ${words}`, { cause: error });
  }
  return new StoreUnavailable(reason, `${operation}: ${SENTENCES[reason]} (${detailsOf(error)})`, { cause: error });
}

/** Returns what gRPC says of a failure, without the notes and JavaScript values that say nothing. */
export const detailsOf = ({ details }: Pick<GrpcTrouble, 'details'>): string =>
  details
    .replace(/Last error: (?:undefined|null)?(?=\.|$)/, 'No reason is known')
    .replace(/\.? *Resolution note: *$/, '');

const SENTENCES: Record<StoreTrouble, string> = {
  timeout: 'etcd did not answer in time',
  unreachable: 'etcd cannot be reached',
  full: 'etcd is full',
  refused: 'etcd refuses the user or does not permit it this',
  replaced: 'etcd is empty, or holds another store',
  readonly: 'etcd takes no writes',
  corrupt: 'etcd is corrupt',
  divided: 'the members of etcd do not agree, and it takes no writes',
  failed: 'etcd failed',
  closed: 'the store is closed',
};

function reasonOf({ code, details }: GrpcTrouble): StoreTrouble {
  if (code === GRPC.deadlineExceeded || /timed out|deadline exceeded/.test(details)) return 'timeout';
  // A stream that the other side resets ends as cancelled; what this side cancels has ended before, by its deadline.
  if (code === GRPC.unavailable || code === GRPC.cancelled) return 'unreachable';
  // "Received message larger than max" and "too many requests" have the same code and are not a full store.
  if (code === GRPC.resourceExhausted) return details.includes('database space exceeded') ? 'full' : 'failed';
  if (code === GRPC.permissionDenied || code === GRPC.unauthenticated) return 'refused';
  // Its alarm CORRUPT is on: reads are answered all the same.
  if (details.includes('corrupt cluster')) return 'divided';
  if (/authentication|auth token|user name|permission denied/.test(details)) return 'refused';
  return 'failed';
}
