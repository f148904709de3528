import { Busy } from '../domain/refusal.ts';
import type { Clock } from '../time/clock.ts';
import type { StoreCallMetrics, StoreOperation, StoreResult } from './metrics.ts';
import type { CallKind, Outages } from './outages.ts';
import { StoreUnavailable, type Held, type Store } from './port.ts';

const WRITES: ReadonlySet<StoreOperation> = new Set(['commit', 'hold', 'rewrite', 'compact']);

/** The same store, with every call counted by its result and timed in seconds, and its outages told. */
export function instrumented(store: Store, clock: Clock, metrics: StoreCallMetrics, outages: Outages): Store {
  async function timed<T>(
    operation: StoreOperation,
    call: Promise<T>,
    resultOf: (value: T) => StoreResult,
  ): Promise<T> {
    const startedAt = clock.monotonic();
    const kind: CallKind = WRITES.has(operation) ? 'write' : 'read';
    let result: StoreResult = 'failed';
    try {
      const value = await call;
      result = resultOf(value);
      // A holder may know without the store that its key is lost.
      if (result !== 'lost') outages.answered(kind);
      return value;
    } catch (error) {
      if (error instanceof StoreUnavailable) {
        result = error.reason;
        outages.failed(error, startedAt, kind);
      } else if (error instanceof Busy) result = 'busy';
      throw error;
    } finally {
      metrics.storeCallEnded(operation, result, (clock.monotonic() - startedAt) / 1000);
    }
  }
  const headNow = store.headNow?.bind(store);
  const ok = (): StoreResult => 'ok';
  const wordOrOk = (value: StoreResult | object): StoreResult => (typeof value === 'string' ? value : 'ok');

  const timedHold = (held: Held): Held => ({
    get revision() {
      return held.revision;
    },
    get lost() {
      return held.lost;
    },
    rewrite: (value) => timed('rewrite', held.rewrite(value), (word) => (word === 'written' ? 'ok' : word)),
    release: () => held.release(),
  });

  return {
    backend: store.backend,
    get: (key) => timed('get', store.get(key), ok),
    list: (request) => timed('list', store.list(request), ok),
    listAt: (request, revision) => timed('listAt', store.listAt(request, revision), wordOrOk),
    commit: (change) => timed('commit', store.commit(change), ({ outcome }) => outcome),
    // Embedded, `head` is answered from memory on the path of every request: there is nothing to measure.
    head: store.backend === 'sqlite' ? () => store.head() : () => timed('head', store.head(), ok),
    ...(headNow && { headNow }),
    headAt: (revision) => timed('headAt', store.headAt(revision), wordOrOk),
    watch: (prefix, from, listener) => store.watch(prefix, from, listener),
    compact: (revision) => timed('compact', store.compact(revision), ok),
    retain: (revision) => store.retain(revision),
    async hold(key, value, ttlMs) {
      const held = await timed('hold', store.hold(key, value, ttlMs), wordOrOk);
      return held === 'taken' ? held : timedHold(held);
    },
    fullness: () => store.fullness(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
