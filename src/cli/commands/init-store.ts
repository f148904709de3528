import process from 'node:process';
import { initializedStore } from '../../service/initialized-store.ts';
import type { Invocation } from '../terminal/invocation.ts';

/** `muster init-store`: makes the store that is configured, and writes its id. @throws as `initializedStore` */
export async function initStore({ env, say }: Invocation): Promise<void> {
  process.stdout.write(`${await initializedStore(env, say)}\n`);
}
