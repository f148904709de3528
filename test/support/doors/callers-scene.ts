import { rmSync } from 'node:fs';
import type { Store } from '../../../src/store/port.ts';
import { scratchDirectory } from '../run/scratch-directory.ts';
import type { Muster } from '../service/muster.ts';
import type { Backend } from '../store/backends.ts';
import type { FakeClock } from '../time/fake-clock.ts';
import { Callers, environment } from './callers.ts';

/** A Muster of its own, with the callers that stand before it. */
export interface CallersScene extends AsyncDisposable {
  readonly muster: Muster;
  readonly store: Store;
  readonly callers: Callers;
}

/** Opens a scene for the tests of one list. @param clock the real one by default */
export async function openCallers(backend: Backend, clock?: FakeClock): Promise<CallersScene> {
  await using opening = new AsyncDisposableStack();
  const directory = scratchDirectory('callers');
  opening.defer(() => rmSync(directory, { recursive: true }));
  let store: Store | undefined;
  const options = { env: environment(directory), wrapStore: (real: Store) => (store = real), ...(clock && { clock }) };
  const muster = opening.use(await backend.fresh(options));
  if (!store) throw new Error('The service has opened no store.');
  const callers = await Callers.on(muster, store);
  const opened = opening.move();
  return { muster, store, callers, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
