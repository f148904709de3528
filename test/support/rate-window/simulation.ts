import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { DEADLINES, LIMITS } from '../../../src/domain/limits.ts';
import type { WindowRules } from '../../../src/domain/rate-window/shared/rules.ts';
import { createSharedRateWindow, type SharedRateWindow } from '../../../src/domain/rate-window/shared/shared-window.ts';
import type { Clock } from '../../../src/time/clock.ts';
import { SimulatedStore, type Network } from '../store/simulated-store.ts';
import { seeded, Timeline } from '../time/timeline.ts';
import { demand } from './demand.ts';

/*
 * Replicas of the shared rate window in simulated time: the code of the service on a store whose answers are late or
 * lost, with clocks that differ, and replicas that pause, sleep, crash and are cut off. All of it follows from a seed.
 */

export interface Fault {
  readonly at: number;
  readonly until: number;
  readonly replica: string;
  /** The replica's monotonic clock stood still: for a minute it does not know how old anything is. */
  readonly suspended: boolean;
}

/** A commit that took effect. */
export interface Written {
  readonly at: number;
  /** The record before, and as it was written. */
  readonly before: string | undefined;
  readonly after: string;
}

/** Everything that happened, in true time. */
export interface History {
  readonly admitted: readonly number[];
  /** When each admitted request came, in the order of `admitted`. */
  readonly waitedSince: readonly number[];
  readonly refused: readonly number[];
  /** Requests that were answered with 502; a few of these were admitted, too late. */
  readonly failed: number;
  readonly faults: readonly Fault[];
  readonly writes: ReadonlyMap<string, readonly Written[]>;
}

/** Requests that come at once. */
export interface Burst {
  readonly at: number;
  readonly replica: number;
  readonly requests: number;
}

export interface Scenario {
  readonly seed: number;
  readonly faults: boolean;
  readonly rules: WindowRules;
  /** Half of the round trip to the store. */
  readonly wayMs?: number;
  /** Random, 1 to 5, where it is not given. */
  readonly replicas?: number;
  /** All requests of the run; random demand where it is not given. */
  readonly bursts?: readonly Burst[];
}

const ACCOUNT = 'account';
export const LASTS_MS = 200_000;
const CLOCK_OFFSET_MS = 500;
const EPOCH = Date.UTC(2026, 5, 1);
const log = pino({ level: 'silent' });

/** One process: nothing happens in it while it is paused, nor ever after it has crashed. */
class Replica implements Clock {
  readonly id: string;
  readonly window: SharedRateWindow;
  readonly writes: Written[] = [];
  readonly network: Network = { cut: false, troubled: 0 };
  readonly #timeline: Timeline;
  readonly #offset: number;
  readonly #stopping = new AbortController();
  #deferred: (() => void)[] = [];
  #slept = 0;
  state: 'runs' | 'paused' | 'dead' = 'runs';

  constructor(id: string, timeline: Timeline, store: SimulatedStore, offset: number, rules: WindowRules) {
    this.id = id;
    this.#timeline = timeline;
    this.#offset = offset;
    const metrics = { rateAllotment: () => undefined, rateWaited: () => undefined, rateSharedAge: () => undefined };
    const port = store.portFor({
      ...this.#within(),
      network: this.network,
      wrote: (before, after) => this.writes.push({ at: timeline.now, before, after }),
    });
    this.window = createSharedRateWindow({
      store: port,
      clock: this,
      deadlines: DEADLINES,
      log,
      metrics,
      replicaId: id,
      rules,
    });
    void this.window.run(this.#stopping.signal);
  }

  #within() {
    return { deliver: (act: () => void) => this.deliver(act) };
  }

  now = (): number => EPOCH + this.#timeline.now + this.#offset;
  monotonic = (): number => this.#timeline.now + 5_000_000 - this.#slept;

  sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#timeline.after(ms, () => this.deliver(resolve));
    return promise;
  }

  deliver(act: () => void): void {
    if (this.state === 'runs') act();
    else if (this.state === 'paused') this.#deferred.push(act);
  }

  pause(): void {
    if (this.state === 'runs') this.state = 'paused';
  }

  /**
   * @param suspendedMs how long its monotonic clock stood still
   * @param first what the process does before anything else
   */
  resume(suspendedMs: number, first: () => void): void {
    if (this.state !== 'paused') return;
    this.#slept += suspendedMs;
    this.state = 'runs';
    first();
    for (const act of this.#deferred.splice(0)) act();
  }

  crash(): void {
    this.state = 'dead';
    this.#deferred = [];
  }
}

/** Runs a scenario and returns its history. */
export async function simulate({ seed, faults, rules, bursts, ...scenario }: Scenario): Promise<History> {
  const random = seeded(seed);
  const timeline = new Timeline();
  const store = new SimulatedStore(timeline, random, scenario.wayMs ?? 10);
  const [admitted, waitedSince, refused]: [number[], number[], number[]] = [[], [], []];
  const faultsSeen: Fault[] = [];
  let failed = 0;
  const replicas: Replica[] = [];

  const start = (name: string): Replica => {
    const offset = (random() * 2 - 1) * CLOCK_OFFSET_MS;
    const replica = new Replica(name, timeline, store, offset, rules);
    replicas.push(replica);
    if (!bursts) demand(random, timeline, (requests) => ask(replica, requests));
    if (faults) trouble(replica);
    return replica;
  };

  function ask(replica: Replica, requests: number): void {
    if (replica.state !== 'runs') return;
    const since = timeline.now;
    for (let n = 0; n < requests; n += 1) {
      const count = (isAdmitted: boolean): void => {
        // The service has answered it with 502 by then, whether or not it was charged.
        if (timeline.now - since > LIMITS.requestDeadlineMs) failed += 1;
        (isAdmitted ? admitted : refused).push(timeline.now);
        if (isAdmitted) waitedSince.push(since);
      };
      const charged = replica.window.charge(ACCOUNT);
      if (!(charged instanceof Promise)) count(charged.admitted);
      else
        charged.then(
          (decision) => count(decision.admitted),
          () => void (failed += 1),
        );
    }
  }

  function trouble(replica: Replica): void {
    for (let at = timeline.now + random() * 60_000; at < LASTS_MS; at += 20_000 + random() * 90_000) {
      const ms = random() < 0.5 ? random() * 3000 : random() * 90_000;
      timeline.at(at, () => FAULTS[Math.floor(random() * FAULTS.length)]?.(replica, ms));
    }
  }
  const note = (replica: Replica, ms: number, suspended = false): void =>
    void faultsSeen.push({ at: timeline.now, until: timeline.now + ms, replica: replica.id, suspended });
  const FAULTS: readonly ((replica: Replica, ms: number) => void)[] = [
    (replica, ms) => {
      const suspended = random() < 0.3 ? ms : 0;
      note(replica, ms, suspended > 0);
      replica.pause();
      timeline.after(ms, () => replica.resume(suspended, () => ask(replica, 1 + Math.floor(random() * 100))));
    },
    (replica, ms) => {
      if (replica.state === 'dead') return;
      note(replica, 0);
      replica.crash();
      timeline.after(ms, () => start(`${replica.id}+`));
    },
    (replica, ms) => {
      note(replica, ms);
      replica.network.cut = true;
      timeline.after(ms, () => (replica.network.cut = false));
    },
    (replica, ms) => {
      note(replica, ms);
      replica.network.troubled = 0.05 + random() * 0.5;
      timeline.after(ms, () => (replica.network.troubled = 0));
    },
  ];

  const count = scenario.replicas ?? 1 + Math.floor(random() * 5);
  const begun = Array.from({ length: count }, (_, n) => start(`r${n}`));
  for (const { at, replica, requests } of bursts ?? []) {
    const one = begun[replica];
    if (one) timeline.at(at, () => ask(one, requests));
  }
  while (timeline.now < LASTS_MS && timeline.next()) if (timeline.isAsync) await setImmediate();
  for (const replica of replicas) replica.crash();
  const writes = new Map(replicas.map((replica) => [replica.id, replica.writes]));
  return { admitted, waitedSince, refused, failed, faults: faultsSeen, writes };
}
