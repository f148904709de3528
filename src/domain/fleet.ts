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
  /**
   * Memory, as new as the store was when this was called: for what the store cannot be asked, as which accounts there
   * are. It is waited for, half a second at most beside what the store takes to say how new it is.
   * @throws StoreUnavailable when memory does not get there
   */
  whole(): Promise<FleetMemory>;
  readonly memory: FleetMemory;
}

export function createFleet(store: Store, directory: Directory, memory: FleetMemory): Fleet {
  const whole = (): Promise<FleetMemory> => caughtUp(memory, directory);
  const direct = directReader(store, memory, whole);
  const held = whileWhole(memory);
  const readerAfter = (asked: MaybePromise<Freshness>): MaybePromise<FleetReader> =>
    andThen(asked, (freshness) => (freshness === 'fresh' ? held : direct));
  return {
    memory,
    current: () => readerAfter(directory.fresh()),
    currentInPassing: () => readerAfter(directory.freshInPassing()),
    whole,
  };
}

/** A pause of the watch or of this process may be longer than one read waits for it; half a second is not a pause. */
const CATCH_UP_LOOKS_MAX = 10;

/** As `Fleet.whole`. */
export async function caughtUp(memory: FleetMemory, directory: Pick<Directory, 'fresh'>): Promise<FleetMemory> {
  for (let look = 1; look <= CATCH_UP_LOOKS_MAX; look += 1) {
    if ((await directory.fresh()) === 'fresh' && memory.whole) return memory;
  }
  // Better unavailable for a moment than told wrong.
  throw new StoreUnavailable('timeout', 'Memory is behind the store.');
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
