import type { Store } from '../../../src/store/port.ts';
import { wrappedStore } from './wrapped-store.ts';

/** The same store; every value that a commit puts is noted, as it will lie at rest. */
export const recordingStore = (store: Store, written: string[]): Store =>
  wrappedStore(store, {
    commit: (change) => {
      for (const write of change.write) if ('put' in write) written.push(write.value);
      return store.commit(change);
    },
  });
