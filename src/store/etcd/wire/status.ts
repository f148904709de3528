import { textOverHttp } from './http.ts';
import type { Tls } from './channel.ts';
import { decode } from './range-codec.ts';

/** The sizes of an etcd's database in bytes; those that it does not tell are absent. */
export interface Sizes {
  readonly inUse?: number;
  /** The file, without what its preallocation adds: once it has reached the quota, etcd refuses every put. */
  readonly file?: number;
  /** The value of `--quota-backend-bytes`; absent also where that is off. */
  readonly quota?: number;
}

/** The status that etcd tells of itself: its sizes, and whether it has raised the alarm NOSPACE. */
export interface Status extends Sizes {
  readonly noSpace: boolean;
}

// A tag is a field's number and the kind of its value: (number << 3) | kind.
const DB_SIZE = (3 << 3) | 0;
const ERRORS = (8 << 3) | 2;
const DB_SIZE_IN_USE = (9 << 3) | 0;
const DB_SIZE_QUOTA = (12 << 3) | 0;

/**
 * Reads a StatusResponse of etcd (api/etcdserverpb/rpc.proto). The quota is there from etcd 3.6 on, and the package
 * does not know it.
 * @throws StoreUnavailable `failed` where the bytes are no StatusResponse
 */
export const decodeStatus = (bytes: Buffer): Status =>
  decode(bytes, (wire) => {
    let [file, inUse, quota, noSpace] = [0, 0, 0, false];
    wire.fields(bytes.length, (tag) => {
      if (tag === DB_SIZE) file = wire.size();
      else if (tag === DB_SIZE_IN_USE) inUse = wire.size();
      else if (tag === DB_SIZE_QUOTA) quota = wire.size();
      else if (tag === ERRORS) noSpace = wire.text(0).includes('NOSPACE') || noSpace;
    });
    return { noSpace, ...positive('file', file), ...positive('inUse', inUse), ...positive('quota', quota) };
  });

/** etcd has some thousand series. */
const METRICS_CHARACTERS_MAX = 4 * 1024 * 1024;

/**
 * Reads the sizes from etcd's `/metrics`, where no user is asked for: etcd 3.5 tells its quota nowhere else.
 * @throws Error where it is not served
 */
export async function sizesFromMetrics(url: string, tls: Tls | undefined, deadlineMs: number): Promise<Sizes> {
  const text = await textOverHttp(new URL('/metrics', url), {
    tls,
    deadlineMs,
    charactersMax: METRICS_CHARACTERS_MAX,
  });
  const [file, inUse, quota] = [
    'etcd_mvcc_db_total_size_in_bytes',
    'etcd_mvcc_db_total_size_in_use_in_bytes',
    'etcd_server_quota_backend_bytes',
  ].map((name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0));
  return { ...positive('file', file), ...positive('inUse', inUse), ...positive('quota', quota) };
}

const positive = (name: keyof Sizes, value = 0): Sizes => (value > 0 ? { [name]: value } : {});
