import { readStoreConfig } from '../config/config.ts';
import { settleFormat } from '../domain/replicas/format.ts';
import { StoreIdentity } from '../domain/replicas/store-identity.ts';
import type { Store } from '../store/port.ts';
import { openConfiguredStore } from './open-store.ts';

/**
 * Makes an empty store one that a service may start on where MUSTER_STORE_ID is set, and gives a store without an id
 * one. A store that has an id stays as it is.
 * @param say is called with each sentence for the operator
 * @param judge is called with the store before anything is written to it; its rejection leaves the store as it is
 * @returns the id of the store
 * @throws ConfigError, StoreUnavailable, BadRecord, Error in words; as `judge`
 */
export async function initializedStore(
  env: NodeJS.ProcessEnv,
  say: (message: string) => void,
  judge?: (store: Store) => Promise<void>,
): Promise<string> {
  const config = readStoreConfig(env);
  await using store = await openConfiguredStore(config, say);
  await judge?.(store);
  return await settleFormat(store, { identity: new StoreIdentity(config.storeId), initialize: true });
}
