import {
  ABSENT,
  StoreUnavailable,
  type Change,
  type CommitResult,
  type Entry,
  type Store,
  type WatchListener,
} from '../../../src/store/port.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Random, Timeline } from '../time/timeline.ts';

/** The network between one replica and the store; a test changes it while it is used. */
export interface Network {
  /** Nothing comes through. */
  cut: boolean;
  /** The part of calls whose way there or back is lost, or takes up to seconds. */
  troubled: number;
  /** Its watches bring nothing, and do not end either. */
  isMute: boolean;
}

interface Caller {
  readonly network: Network;
  /** Does it within the caller's process, now or when that goes on. */
  deliver(act: () => void): void;
  /** A commit took effect: the record before, and after it. */
  wrote(before: string | undefined, after: string): void;
}

interface Watching {
  readonly prefix: string;
  readonly listener: WatchListener;
  readonly caller: Caller;
  open: boolean;
  /** Batches arrive in their order. */
  arrivesAt: number;
}

const CALL_MS = 1800;

/**
 * The part of a store that the rate window needs, on a network in simulated time. It stands where the real back-ends
 * cannot: in a thousand minutes of trouble. `test/service/replicas/rate-window.test.ts` runs the same code on a real
 * one.
 */
export class SimulatedStore {
  readonly #timeline: Timeline;
  readonly #random: Random;
  /** The delay of a call in each direction, and of an event of a watch. */
  readonly #wayMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #watches = new Set<Watching>();
  #revision = 1;

  constructor(timeline: Timeline, random: Random, wayMs: number) {
    this.#timeline = timeline;
    this.#random = random;
    this.#wayMs = wayMs;
  }

  portFor(caller: Caller): Store {
    const never = (): never => {
      throw new Error('the rate window does not need this');
    };
    return {
      backend: 'etcd',
      get: (key) => this.#call(caller, () => this.#entries.get(key)),
      commit: (change) => this.#call(caller, () => this.#commit(change, caller)),
      list: ({ prefix }) => this.#call(caller, () => ({ entries: this.#under(prefix), revision: this.#revision })),
      watch: (prefix, _from, listener) => this.#watch(caller, prefix, listener),
      listAt: never,
      head: never,
      headAt: never,
      compact: never,
      retain: never,
      hold: never,
      fullness: () => 0,
      [Symbol.asyncDispose]: async () => undefined,
    };
  }

  /** There and back; each way may be lost, and each may take longer than the caller waits. */
  #call<T>(caller: Caller, act: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const timeline = this.#timeline;
    let isAnswered = false;
    // An error is dear to make, and a call that was answered needs none.
    const over = (): void => (isAnswered ? undefined : reject(new StoreUnavailable('timeout', 'no answer')));
    timeline.after(CALL_MS, () => caller.deliver(over));
    const answer = (value: T): void => {
      isAnswered = true;
      resolve(value);
    };
    this.#travel(caller, () => {
      const value = act();
      this.#travel(caller, () => caller.deliver(() => answer(value)));
    });
    return promise;
  }

  #travel({ network }: Caller, arrive: () => void): void {
    const random = this.#random;
    if (network.cut) return;
    const trouble = random() < network.troubled;
    if (trouble && random() < 0.5) return;
    this.#timeline.after(trouble ? random() * 4000 : this.#way(), arrive);
  }

  /** About as long each time; now and then twice as long. */
  #way(): number {
    const ms = this.#wayMs * (0.8 + 0.4 * this.#random());
    return this.#random() < 0.05 ? 2 * ms : ms;
  }

  #commit({ expect, write }: Change, caller: Caller): CommitResult {
    if (expect.some(({ key, revision }) => (this.#entries.get(key)?.revision ?? ABSENT) !== revision)) {
      return { outcome: 'conflict' };
    }
    this.#revision += 1;
    for (const one of write) {
      if ('removeAll' in one) for (const { key } of this.#under(one.removeAll)) this.#entries.delete(key);
      if (!('put' in one)) continue;
      if (one.put.startsWith(KEYS.rateWindow.under())) caller.wrote(this.#entries.get(one.put)?.value, one.value);
      this.#put({ key: one.put, value: one.value, revision: this.#revision });
    }
    return { outcome: 'committed', revision: this.#revision };
  }

  #under(prefix: string): Entry[] {
    return [...this.#entries.values()].filter(({ key }) => key.startsWith(prefix));
  }

  #put(entry: Entry): void {
    this.#entries.set(entry.key, entry);
    for (const watching of this.#watches) if (entry.key.startsWith(watching.prefix)) this.#tell(watching, entry);
  }

  #tell(watching: Watching, change: Entry): void {
    const { caller, listener } = watching;
    if (caller.network.isMute) return;
    if (caller.network.cut) return this.#end(watching);
    const late = this.#random() < caller.network.troubled ? this.#random() * 4000 : this.#way();
    watching.arrivesAt = Math.max(watching.arrivesAt, this.#timeline.now + late);
    this.#timeline.at(watching.arrivesAt, () => {
      caller.deliver(() => {
        if (watching.open) listener.onBatch({ revision: change.revision, changes: [change] });
      });
    });
  }

  /** The watches that were mute end. */
  unmute(network: Network): void {
    network.isMute = false;
    for (const watching of this.#watches) if (watching.caller.network === network) this.#end(watching);
  }

  /** Ends a watch; its listener notices some seconds later, as with a connection that has died. */
  #end(watching: Watching): void {
    this.#watches.delete(watching);
    this.#timeline.after(3000, () => {
      watching.caller.deliver(() => {
        if (watching.open) watching.listener.onEnd('disconnected');
        watching.open = false;
      });
    });
  }

  #watch(caller: Caller, prefix: string, listener: WatchListener): { close(): void } {
    const watching: Watching = { prefix, listener, caller, open: true, arrivesAt: 0 };
    this.#travel(caller, () => {
      this.#watches.add(watching);
      caller.deliver(() => listener.onOpen());
    });
    return {
      close: () => {
        this.#watches.delete(watching);
        watching.open = false;
      },
    };
  }
}
