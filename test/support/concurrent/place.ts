import { randomUUID } from 'node:crypto';
import { openEtcdStore } from '../../../src/store/etcd/etcd-store.ts';
import type { Store } from '../../../src/store/port.ts';
import { TcpProxy } from '../etcd/tcp-proxy.ts';
import { Muster } from '../service/muster.ts';

/** Where mutations meet: two replicas, or on the embedded store one service twice, and the store below them. */
export interface Place extends AsyncDisposable {
  readonly one: Muster;
  readonly other: Muster;
  /** The store itself, without a latency. */
  readonly store: Store;
}

/** Milliseconds by which bytes come late between each replica and etcd, each way. */
interface Latency {
  readonly one: number;
  readonly other: number;
}

/** Behind a proxy the address of a visitor is the one that it names, and each has a rate of sign-ins of its own. */
const BEHIND_PROXY = { MUSTER_TRUSTED_PROXIES: '127.0.0.1' };
/** Nothing here is about an outage. */
const PATIENT_MS = 60_000;

type Variables = Readonly<Record<string, string>>;

/** One service on an embedded store of its own. */
export async function embeddedPlace(env: Variables = {}): Promise<Place> {
  let store: Store | undefined;
  const muster = await Muster.start({
    env: { ...BEHIND_PROXY, ...env },
    wrapStore: (opened) => (store = opened),
  });
  if (!store) throw new Error('The service has opened no store.');
  return { one: muster, other: muster, store, [Symbol.asyncDispose]: () => muster[Symbol.asyncDispose]() };
}

/** Two replicas on one etcd, each at a distance of its own. */
export async function replicatedPlace(url: string, latency: Latency, env: Variables = {}): Promise<Place> {
  await using held = new AsyncDisposableStack();
  const prefix = `/${randomUUID()}/`;
  const store = held.use(await openEtcdStore({ endpoints: [url], prefix, deadlineMs: PATIENT_MS }));
  const startReplica = async (delayMs: number): Promise<Muster> => {
    const wire = held.use(await TcpProxy.before(Number(new URL(url).port)));
    wire.delayMs = delayMs;
    const variables = { ...BEHIND_PROXY, ...env, MUSTER_ETCD_PREFIX: prefix, MUSTER_ETCD_COMPACT: 'never' };
    return held.use(await Muster.start({ store: `etcd:${wire.url}`, env: variables }));
  };
  const one = await startReplica(latency.one);
  const other = await startReplica(latency.other);
  const kept = held.move();
  return { one, other, store, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
