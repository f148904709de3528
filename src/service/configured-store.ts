import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config/config.ts';
import { DEADLINES, type Deadlines } from '../domain/limits.ts';
import { openStore } from './backends.ts';
import type { Store } from '../store/port.ts';

/**
 * The store that the configuration names; an embedded one is made where there is none.
 * @param warn told what is not as it should be, but will do
 * @throws StoreUnavailable, or Error in words when the store is there but cannot be used
 */
export async function openConfiguredStore(
  { store }: Pick<Config, 'store'>,
  warn: (message: string) => void,
  { storeMs }: Pick<Deadlines, 'storeMs'> = DEADLINES,
): Promise<Store> {
  if (store.kind === 'sqlite') {
    mkdirSync(dirname(store.path), { recursive: true, mode: 0o700 });
    return await openStore(store);
  }
  const { endpoints, prefix, quotaBytes, tls, auth } = store;
  return await openStore({
    kind: 'etcd',
    endpoints,
    prefix,
    quotaBytes,
    warn,
    deadlineMs: storeMs,
    ...(tls && { tls }),
    ...(auth && { auth }),
  });
}
