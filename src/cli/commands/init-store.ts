import process from 'node:process';
import { readStoreConfig } from '../../config/config.ts';
import { settleFormat } from '../../domain/replicas/format.ts';
import { StoreIdentity } from '../../domain/replicas/store-identity.ts';
import { openConfiguredStore } from '../../service/open-store.ts';
import { say } from '../terminal/exit.ts';

/**
 * `muster init-store`: makes an empty store one that a service may start on where MUSTER_STORE_ID is set, and gives a
 * store without an id one. A store that has an id stays as it is.
 * @throws ConfigError, StoreUnavailable, BadRecord, Error in words
 */
export async function initStore(env: NodeJS.ProcessEnv): Promise<void> {
  process.stdout.write(`${await initializedStore(env)}\n`);
}

/** @returns the id of the store @throws as `initStore` */
export async function initializedStore(env: NodeJS.ProcessEnv): Promise<string> {
  const config = readStoreConfig(env);
  await using store = await openConfiguredStore(config, say);
  return await settleFormat(store, { identity: new StoreIdentity(config.storeId), initialize: true, warn: say });
}
