import type { Directory } from '../store/directory.ts';
import type { Store } from '../store/port.ts';
import { directReader } from './fleet-direct.ts';
import type { FleetMemory } from './fleet-memory.ts';
import type { FleetReader } from './fleet-reader.ts';

/** The only way to the fleet's records: asked by every request, answered as the store was then or later. */
export interface Fleet {
  /** @throws StoreUnavailable when the store does not say how new it is */
  current(): Promise<FleetReader>;
  readonly memory: FleetMemory;
}

export function createFleet(store: Store, directory: Directory, memory: FleetMemory): Fleet {
  const direct = directReader(store, memory);
  return {
    memory,
    async current() {
      return (await directory.fresh()) === 'fresh' ? memory : direct;
    },
  };
}
