import { andThen, type MaybePromise } from '../maybe-promise.ts';
import type { Directory, Freshness } from '../store/directory.ts';
import { StoreUnavailable, type Store } from '../store/port.ts';
import { directReader } from './fleet-direct.ts';
import type { FleetMemory } from './fleet-memory.ts';
import type { FleetReader } from './fleet-reader.ts';

/** The only way to the fleet's records: asked by every request, answered as the store was then or later. */
export interface Fleet {
  /** @throws StoreUnavailable when the store does not say how new it is */
  current(): MaybePromise<FleetReader>;
  /** As `current`, but later: it waits for a question that others put to the store, for a second or so. */
  currentInPassing(): MaybePromise<FleetReader>;
  readonly memory: FleetMemory;
}

export function createFleet(store: Store, directory: Directory, memory: FleetMemory): Fleet {
  const catchUp = (): MaybePromise<boolean> => andThen(directory.fresh(), (freshness) => freshness === 'fresh');
  const direct = directReader(store, memory, catchUp);
  const held = whileWhole(memory);
  const readerAfter = (asked: MaybePromise<Freshness>): MaybePromise<FleetReader> =>
    andThen(asked, (freshness) => (freshness === 'fresh' ? held : direct));
  return {
    memory,
    current: () => readerAfter(directory.fresh()),
    currentInPassing: () => readerAfter(directory.freshInPassing()),
  };
}

/** Memory as a reader. It may be dropped while a request is under way: "not found" would then be a wrong answer. */
function whileWhole(memory: FleetMemory): FleetReader {
  const whole = (): FleetMemory => {
    if (!memory.whole) throw new StoreUnavailable('timeout', 'Memory is being filled anew.');
    return memory;
  };
  return {
    atOnce: true,
    account: (accountId) => whole().account(accountId),
    accountOfKey: (keyId) => whole().accountOfKey(keyId),
    appOfCredential: (hash) => whole().appOfCredential(hash),
    appById: (appId) => whole().appById(appId),
    day: () => whole().day(),
    writingKey: () => whole().writingKey(),
  };
}
