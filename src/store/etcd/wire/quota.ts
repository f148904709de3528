import type { Look } from '../../fullness.ts';
import { unavailable } from './errors.ts';
import type { Endpoint, Endpoints } from './endpoints.ts';
import { sizesFromMetrics, type Sizes, type Status } from './status.ts';

interface QuotaOptions {
  readonly endpoints: Endpoints;
  readonly deadlineMs: number;
  /** Counts where etcd does not tell its quota. */
  readonly configuredBytes: number;
}

/** etcd's quota changes with a restart of etcd alone. */
const LOOKS_PER_QUOTA = 60;
/** The part of the quota that counts as free in freed pages, at most. */
const FREED_SHARE_MAX = 0.1;

/**
 * Makes the function that asks etcd how full it is: the bytes in use against its quota. The file itself is larger,
 * since it keeps freed pages for later writes; but once the file has reached the quota etcd refuses every put, whatever
 * is in use. A value that is larger than a page grows the file where no run of freed pages is long enough for it, so
 * the file counts but for a share of freed pages. The function resolves with undefined where etcd tells neither by its
 * status nor by its metrics, and where no connection stands.
 */
export function quotaLook({ endpoints, deadlineMs, configuredBytes }: QuotaOptions): () => Promise<Look | undefined> {
  let learnt: number | undefined;
  let looksSince = Number.POSITIVE_INFINITY;

  const metricsOf = (endpoint: Endpoint): Promise<Sizes> =>
    sizesFromMetrics(endpoint.url, endpoint.tls, deadlineMs).catch(() => ({}));

  /** A user without the permission is refused the status, and metrics have no user. */
  async function ask(endpoint: Endpoint, status: Promise<Status>): Promise<Partial<Status>> {
    const told: Partial<Status> = await status.catch((error: unknown) => {
      if (isRefusal(error)) return {};
      throw error;
    });
    if (told.quota !== undefined && told.inUse !== undefined) return told;
    looksSince += 1;
    if (told.inUse !== undefined && looksSince < LOOKS_PER_QUOTA) return told;
    const metrics = await metricsOf(endpoint);
    if (metrics.quota !== undefined) looksSince = 0;
    return { ...metrics, ...told };
  }

  return async () => {
    // A look begins no attempt to connect: a call that came during it would have only what is left of its time.
    if (!endpoints.isReady) return undefined;
    const { inUse, file, quota, noSpace } = await endpoints.repeatedly('status', async (endpoint, options) =>
      ask(endpoint, endpoint.status(options)),
    );
    learnt = quota ?? learnt;
    if (inUse === undefined) return undefined;
    const capacityBytes = learnt ?? configuredBytes;
    const inUseBytes = Math.max(inUse, (file ?? 0) - FREED_SHARE_MAX * capacityBytes);
    if (file !== undefined && file >= capacityBytes) return { inUseBytes, capacityBytes, refusesPuts: true };
    return { inUseBytes, capacityBytes, ...(noSpace !== undefined && { refusesPuts: noSpace }) };
  };
}

const isRefusal = (error: unknown): boolean => unavailable('status', error).reason === 'refused';
