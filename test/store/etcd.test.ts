import { describe } from 'vitest';
import { openEtcdStore } from '../../src/store/etcd.ts';
import { findEtcd, NO_ETCD } from '../support/etcd-binary.ts';
import { EtcdCluster } from '../support/etcd.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { storeConformance, type StoreUnderTest } from './conformance.ts';
import { afterAll, beforeAll } from 'vitest';

const binary = findEtcd();

describe.skipIf(binary === undefined)(binary === undefined ? `etcd [skipped: ${NO_ETCD}]` : 'etcd', () => {
  let cluster: EtcdCluster;
  let stores = 0;

  beforeAll(async () => {
    // Nothing here is about what survives a crash.
    cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
  });
  afterAll(async () => cluster[Symbol.asyncDispose]());

  storeConformance('the promises of the port', async () => {
    stores += 1;
    return openUnderTest(cluster, `conformance-${stores}/`);
  });
});

async function openUnderTest(cluster: EtcdCluster, prefix: string): Promise<StoreUnderTest> {
  const proxy = await TcpProxy.before(cluster.member.port);
  const open = async () => openEtcdStore({ endpoints: [proxy.url], prefix });
  const stores = [await open()];
  // Watches have a connection of their own, opened by the first one.
  const others = new Set(proxy.flows);
  const [store] = stores;
  if (!store) throw new Error('unreachable');
  return {
    store,
    sever: () => proxy.cut((flow) => !others.has(flow)),
    async again() {
      const other = await open();
      stores.push(other);
      return other;
    },
    async reopen() {
      await store[Symbol.asyncDispose]();
      const other = await open();
      stores.push(other);
      return other;
    },
    async [Symbol.asyncDispose]() {
      for (const each of stores) await each[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    },
  };
}
