import { isGrpcTrouble } from '../../../src/store/etcd/wire/errors.ts';
import { StoreUnavailable, type Store } from '../../../src/store/port.ts';
import { put, writing } from '../conformance/harness.ts';
import { rawKey } from '../../support/store/raw-key.ts';

/** Every call of the port at once, and the reason with which it failed, or what it answered instead. */
export async function everyCallEnds(store: Store): Promise<Record<string, unknown>> {
  const calls: Record<string, () => Promise<unknown>> = {
    get: () => store.get('t/a'),
    list: () => store.list({ prefix: '', limit: 1 }),
    listAt: () => store.listAt({ prefix: '', limit: 1 }, 1),
    commit: () => store.commit(writing(put('t/a'))),
    head: () => store.head(),
    headAt: () => store.headAt(1),
    compact: () => store.compact(1),
    hold: () => store.hold(rawKey('t/held'), 'v', 1000),
  };
  const ends = Object.entries(calls).map(async ([name, call]) => {
    const end = await call().catch((error: unknown) => (error instanceof StoreUnavailable ? error.reason : error));
    return [name, end] as const;
  });
  return Object.fromEntries(await Promise.all(ends));
}

/** As often as it takes: a cluster that elects a leader, or is started again, answers a little later. */
export async function eventually<T>(run: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      const passes = error instanceof StoreUnavailable ? error.reason !== 'closed' : isGrpcTrouble(error);
      if (!passes) throw error;
    }
  }
}
