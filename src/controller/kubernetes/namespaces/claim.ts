import { isKubeError, type KubeApi, type KubeObject, type ResourceType } from '../client/kube-api.ts';

/*
 * The claim of a release on a namespace: a Lease whose holder is the release, as its namespace and name (ADR 0040). It
 * does not expire: an operator with another store that took over after a pause would create every account a second
 * time.
 */

export const LEASES: ResourceType = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };
/** The name of the Lease in each followed namespace; roles name it, too. */
export const LEASE_NAME = 'muster-operator';
export const LEASE_SELECTOR: string = `metadata.name=${LEASE_NAME}`;

const HOLDER_CHARACTERS_MAX = 128;

/**
 * The release that holds the Lease, printable and shortened: whoever may edit the namespace may write it. Undefined
 * where nobody holds it.
 */
export function holderOf(lease: KubeObject): string | undefined {
  const { spec } = lease as { spec?: { holderIdentity?: unknown } | null };
  const holder = spec?.holderIdentity;
  if (typeof holder !== 'string' || holder === '') return undefined;
  return holder.replaceAll(/[^\x21-\x7e]/g, '?').slice(0, HOLDER_CHARACTERS_MAX);
}

export interface ClaimDeps {
  readonly api: KubeApi;
  readonly namespace: string;
  /** The release: its namespace and name. */
  readonly release: string;
}

/**
 * Creates the Lease, or takes one that nobody holds as it was read: of two releases that race one gets a conflict.
 * @param read the Lease as it was read; undefined where there is none
 * @param at the instant, in milliseconds since 1970
 * @throws KubeError `exists` or `conflict` where another one was first; `refused` without the right
 */
export async function takeLease(
  { api, namespace, release }: ClaimDeps,
  read: KubeObject | undefined,
  at: number,
  signal: AbortSignal,
): Promise<KubeObject> {
  const acquireTime = new Date(at).toISOString().replace('Z', '000Z');
  const spec = { holderIdentity: release, acquireTime };
  if (read) return await api.patch(LEASES, read, { merge: { spec } }, signal);
  const labels = { 'app.kubernetes.io/part-of': 'muster' };
  const metadata = { name: LEASE_NAME, namespace, labels };
  return await api.create(
    LEASES,
    namespace,
    { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec },
    signal,
  );
}

/**
 * Deletes the Lease as it was read where the release holds it; one that has changed since is left alone.
 * @throws KubeError
 */
export async function releaseLease(
  { api, release }: ClaimDeps,
  read: KubeObject | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (!read || holderOf(read) !== release) return;
  try {
    await api.remove(LEASES, read, signal);
  } catch (error) {
    if (!isKubeError(error, 'conflict')) throw error;
  }
}
