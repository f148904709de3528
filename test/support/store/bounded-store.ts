import { guardedWrites } from '../../../src/domain/replicas/guarded-writes.ts';
import type { Store } from '../../../src/store/port.ts';
import { wrappedStore } from './wrapped-store.ts';

/** The store as a service writes to it: with the classes of a full store. */
export const boundedStore = (store: Store): Store =>
  wrappedStore(
    store,
    guardedWrites(store, () => REGISTERED),
  );

const REGISTERED = {};
