import { randomUUID } from 'node:crypto';
import { openEtcdStore } from '../../../../src/store/etcd/etcd-store.ts';
import type { Store } from '../../../../src/store/port.ts';
import type { EtcdCluster } from '../../../support/etcd/etcd.ts';
import { TcpProxy } from '../../../support/etcd/tcp-proxy.ts';
import { whileTimePasses } from '../while-time-passes.ts';

/** A store over a wire that fails, and one beside it. */
export interface Wire extends AsyncDisposable {
  readonly proxy: TcpProxy;
  readonly prefix: string;
  /** Over the wire. */
  readonly store: Store;
  /** Beside the wire. */
  readonly witness: Store;
}

/** In real time, where nothing depends on when a call gives up. */
const PATIENT_MS = 20_000;

/**
 * Both under a prefix that nobody has. @param deadlineMs of the store over the wire; production's where it is absent
 */
export async function openWire(cluster: EtcdCluster, deadlineMs?: number): Promise<Wire> {
  const prefix = `${randomUUID()}/`;
  const proxy = await TcpProxy.before(cluster.member.port);
  const store = await openEtcdStore({
    endpoints: [proxy.url],
    prefix,
    ...(deadlineMs !== undefined && { deadlineMs }),
  });
  const witness = await openEtcdStore({ endpoints: cluster.urls, prefix, deadlineMs: PATIENT_MS });
  return {
    proxy,
    prefix,
    store,
    witness,
    async [Symbol.asyncDispose]() {
      // A call without an answer would wait for its deadline, while time stands still.
      proxy.silence = 'none';
      proxy.cut(({ silence }) => silence !== 'none');
      await whileTimePasses(store[Symbol.asyncDispose]());
      await witness[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    },
  };
}
