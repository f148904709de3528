import { openEtcdStore, type EtcdOptions } from '../store/etcd/etcd-store.ts';
import type { Store } from '../store/port.ts';
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts';

/** Which store: the only place that names the back-ends. */
export type StoreChoice =
  { readonly kind: 'sqlite'; readonly path: string } | ({ readonly kind: 'etcd' } & EtcdOptions);

/** @throws StoreUnavailable, or Error in words when the store is there but cannot be used */
export async function openStore(choice: StoreChoice): Promise<Store> {
  return choice.kind === 'sqlite' ? await openSqliteStore(choice.path) : await openEtcdStore(choice);
}
