import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, inject } from 'vitest';
import { openEtcdStore } from '../../../src/store/etcd/etcd-store.ts';
import type { Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { findEtcd, NO_ETCD } from '../etcd/etcd-binary.ts';
import { EtcdCluster } from '../etcd/etcd.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Nothing but the embedded store in memory: for a run that starts no process and writes no file. */
    memoryAlone?: boolean;
  }
}

/** No test here is about an outage: no answer of etcd comes late because others use this machine. */
const PATIENT_MS = 60_000;

export interface Stores {
  readonly name: Store['backend'];
  /** An empty store of its own; on etcd a neighbour of the others, under a prefix that nobody has. */
  open(): Promise<Store>;
}

const sqlite: Stores = {
  name: 'sqlite',
  open: () => openSqliteStore(':memory:'),
};

const etcd = (url: () => string): Stores => ({
  name: 'etcd',
  open: () => openEtcdStore({ endpoints: [url()], prefix: `${randomUUID()}/`, deadlineMs: PATIENT_MS }),
});

/** Once on each back-end; on etcd in the one that all tests share. */
export function onEachStore(title: string, suite: (stores: Stores) => void): void {
  describe(`${title} (sqlite)`, () => {
    suite(sqlite);
  });
  if (inject('memoryAlone') === true) return;
  const url = inject('etcd');
  describe.skipIf(url === undefined)(`${title} (etcd)`, () => {
    suite(etcd(() => url ?? ''));
  });
}

/** Once on each back-end; on an etcd of this file's own, for tests in which nobody else may compact. */
export function onEachStoreAlone(title: string, suite: (stores: Stores) => void): void {
  describe(`${title} (sqlite)`, () => {
    suite(sqlite);
  });
  if (inject('memoryAlone') === true) return;
  const binary = findEtcd();
  describe.skipIf(binary === undefined)(`${title} (etcd)${binary ? '' : ` [skipped: ${NO_ETCD}]`}`, () => {
    let cluster: EtcdCluster;
    beforeAll(async () => {
      cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
    });
    afterAll(() => cluster[Symbol.asyncDispose]());
    suite(etcd(() => cluster.member.url));
  });
}
