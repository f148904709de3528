import { setImmediate } from 'node:timers/promises';
import { pino, type Logger } from 'pino';
import { DEADLINES, LIMITS } from '../../../src/domain/limits.ts';
import type { LiveReplica } from '../../../src/domain/rate-window/shared/age-exchange.ts';
import type { WindowRules } from '../../../src/domain/rate-window/shared/rules.ts';
import { createSharedRateWindow, type SharedRateWindow } from '../../../src/domain/rate-window/shared/shared-window.ts';
import type { Store } from '../../../src/store/port.ts';
import type { Clock } from '../../../src/time/clock.ts';
import { SimulatedStore, type Network } from '../store/simulated-store.ts';
import { seeded, Timeline } from '../time/timeline.ts';
import { demand } from './demand.ts';

/*
 * Replicas of the shared rate window in simulated time: the code of the service on a store whose answers are late or
 * lost, with clocks that differ, and replicas that pause, sleep, crash and are cut off. All of it follows from a seed.
 */

interface Fault {
  readonly at: number;
  readonly until: number;
  readonly replica: string;
  /**
   * For a minute it does not know how old anything is: its monotonic clock stood still, or it started while nobody
   * could tell it.
   */
  readonly knowsNoAges: boolean;
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
  /** How far the rates of monotonic clocks are off, as a part of one. */
  readonly rateError: number;
  /** What replicas warned of, as logged. */
  readonly warnings: readonly string[];
}

/** Requests that come at once. */
export interface Burst {
  readonly at: number;
  readonly replica: number;
  readonly requests: number;
}

/** How wrong clocks are. */
interface Clocks {
  /** The offsets of the wall clocks of the first replicas, in milliseconds; those of others are within `apartMs`. */
  readonly offsetsMs?: readonly number[];
  readonly apartMs: number;
  /** Wall clocks jump by as much as this, a few times in a run. */
  readonly jumpMs: number;
  /** How far the rates of monotonic clocks are off, in parts per million. */
  readonly ratePpm: number;
}
const FAIR: Clocks = { apartMs: 500, jumpMs: 0, ratePpm: 0 };
/** As wrong as they come: two minutes, jumps of two minutes, and the greatest correction of a time server. */
export const WILD: Clocks = { apartMs: 120_000, jumpMs: 120_000, ratePpm: 500 };

/** A replica stops for a while and goes on; while it is suspended its monotonic clock stands still, too. */
interface Stop {
  readonly replica: number;
  readonly at: number;
  readonly ms: number;
  readonly isSuspended: boolean;
  /** So many requests come before it hears anything of the store. */
  readonly requests: number;
}

/** The store tells a revision that it has not reached yet; or a machine does not know that it was suspended. */
type Slip = 'revisions ahead' | 'standstill unseen';

export interface Scenario {
  readonly seed: number;
  readonly faults: boolean;
  readonly rules: WindowRules;
  /** Half of the round trip to the store. */
  readonly wayMs?: number;
  /** The wall clocks are right but for half a second where it is not given. */
  readonly clocks?: Clocks;
  /** A planted slip: something that a replica relies on is not so. */
  readonly slip?: Slip;
  readonly stops?: readonly Stop[];
  /** Random, 1 to 5, where it is not given. */
  readonly replicas?: number;
  /** All requests of the run; random demand where it is not given. */
  readonly bursts?: readonly Burst[];
}

const ACCOUNT = 'account';
export const LASTS_MS = 200_000;
const EPOCH = Date.UTC(2026, 5, 1);
/** How long a dead replica is on the registry. */
const REGISTERED_MS = 15_000;
/** How far a revision is ahead that the store has not reached yet. */
const REVISIONS_AHEAD = 40;

interface OwnClocks {
  /** How far the wall clock is ahead. */
  readonly offsetMs: number;
  /** How fast the monotonic clock goes. */
  readonly rate: number;
}

interface ReplicaDeps {
  readonly id: string;
  readonly timeline: Timeline;
  readonly store: SimulatedStore;
  readonly clocks: OwnClocks;
  readonly rules: WindowRules;
  readonly liveReplicas: () => Promise<readonly LiveReplica[]>;
  readonly slip: Slip | undefined;
  readonly log: Logger;
}

const withRevisionsAhead = (store: Store): Store => ({
  ...store,
  async list(request) {
    const page = await store.list(request);
    return { ...page, revision: page.revision + REVISIONS_AHEAD };
  },
});

/** One process: nothing happens in it while it is paused, nor ever after it has crashed. */
class Replica implements Clock {
  readonly id: string;
  readonly window: SharedRateWindow;
  readonly writes: Written[] = [];
  readonly network: Network = { cut: false, troubled: 0, isMute: false };
  readonly #timeline: Timeline;
  readonly #rate: number;
  readonly #isSlipping: boolean;
  #offset: number;
  readonly #stopping = new AbortController();
  #deferred: (() => void)[] = [];
  #slept = 0;
  state: 'runs' | 'paused' | 'dead' = 'runs';
  diedAt: number | undefined;

  constructor(deps: ReplicaDeps) {
    const { id, timeline, store, clocks, rules, liveReplicas, slip, log } = deps;
    const { offsetMs, rate } = clocks;
    this.id = id;
    this.#isSlipping = slip === 'standstill unseen';
    this.#timeline = timeline;
    this.#offset = offsetMs;
    this.#rate = rate;
    const metrics = {
      rateAllotment: () => undefined,
      rateRecordRepaired: () => undefined,
      rateWaited: () => undefined,
      rateSharedAge: () => undefined,
    };
    const port = store.portFor({
      ...this.#within(),
      network: this.network,
      wrote: (before, after) => this.writes.push({ at: timeline.now, before, after }),
    });
    this.window = createSharedRateWindow({
      store: slip === 'revisions ahead' ? withRevisionsAhead(port) : port,
      clock: this,
      deadlines: DEADLINES,
      log,
      metrics,
      replicaId: id,
      replicas: { live: liveReplicas, clockHeard: () => undefined, unregistered: () => undefined },
      rules,
    });
    void this.window.run(this.#stopping.signal);
  }

  #within() {
    return { deliver: (act: () => void) => this.deliver(act) };
  }

  now = (): number => EPOCH + this.#timeline.now + this.#offset - (this.#isSlipping ? this.#slept : 0);
  /** Time since the machine started, also while it was suspended. */
  uptime = (): number => this.#elapsed() - (this.#isSlipping ? this.#slept : 0);
  monotonic = (): number => this.#elapsed() - this.#slept;
  readonly #elapsed = (): number => (this.#timeline.now + 5_000_000) * this.#rate;

  sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#timeline.after(ms / this.#rate, () => this.deliver(resolve));
    return promise;
  }

  /** Moves the wall clock alone. */
  jump(ms: number): void {
    this.#offset += ms;
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
    this.diedAt = this.#timeline.now;
    this.#deferred = [];
  }
}

/** Runs a scenario and returns its history. */
export async function simulate({
  seed,
  faults,
  rules,
  bursts,
  clocks = FAIR,
  slip,
  stops = [],
  ...scenario
}: Scenario): Promise<History> {
  const random = seeded(seed);
  const timeline = new Timeline();
  const store = new SimulatedStore(timeline, random, scenario.wayMs ?? 10);
  const [admitted, waitedSince, refused]: [number[], number[], number[]] = [[], [], []];
  const faultsSeen: Fault[] = [];
  let failed = 0;
  const replicas: Replica[] = [];
  const warnings: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void warnings.push(line) });

  // A replica that died stays on the registry for a while.
  const live = async (): Promise<readonly LiveReplica[]> =>
    replicas
      .filter(({ diedAt }) => diedAt === undefined || timeline.now - diedAt < REGISTERED_MS)
      .map(({ id }) => ({ replicaId: id }));
  const start = (name: string): Replica => {
    const offsetMs = clocks.offsetsMs?.[replicas.length] ?? (random() * 2 - 1) * clocks.apartMs;
    const rate = clocks.ratePpm > 0 ? 1 + ((random() * 2 - 1) * clocks.ratePpm) / 1e6 : 1;
    const replica = new Replica({
      id: name,
      timeline,
      store,
      clocks: { offsetMs, rate },
      rules,
      liveReplicas: live,
      slip,
      log,
    });
    replicas.push(replica);
    if (clocks.jumpMs > 0) jumps(replica);
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

  function jumps(replica: Replica): void {
    for (let at = timeline.now + random() * 40_000; at < LASTS_MS; at += random() * 80_000) {
      const ms = (random() * 2 - 1) * clocks.jumpMs;
      timeline.at(at, () => replica.jump(ms));
    }
  }

  function trouble(replica: Replica): void {
    for (let at = timeline.now + random() * 60_000; at < LASTS_MS; at += 20_000 + random() * 90_000) {
      const ms = random() < 0.5 ? random() * 3000 : random() * 90_000;
      timeline.at(at, () => FAULTS[Math.floor(random() * FAULTS.length)]?.(replica, ms));
    }
  }
  const note = (replica: Replica, ms: number, knowsNoAges = false): void =>
    void faultsSeen.push({ at: timeline.now, until: timeline.now + ms, replica: replica.id, knowsNoAges });
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
      timeline.after(ms, () => {
        const tells = ({ state, network }: Replica): boolean =>
          state === 'runs' && !network.cut && !network.isMute && network.troubled === 0;
        const isAlone = !replicas.some(tells);
        const next = start(`${replica.id}+`);
        if (isAlone) note(next, 0, true);
      });
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
    (replica, ms) => {
      note(replica, ms);
      replica.network.isMute = true;
      timeline.after(ms, () => store.unmute(replica.network));
    },
  ];

  const count = scenario.replicas ?? 1 + Math.floor(random() * 5);
  const begun = Array.from({ length: count }, (_, n) => start(`r${n}`));
  for (const { at, replica, requests } of bursts ?? []) {
    const one = begun[replica];
    if (one) timeline.at(at, () => ask(one, requests));
  }
  for (const { at, ms, replica, isSuspended, requests } of stops) {
    const one = begun[replica];
    timeline.at(at, () => one?.pause());
    timeline.at(at + ms, () => one?.resume(isSuspended ? ms : 0, () => ask(one, requests)));
  }
  while (timeline.now < LASTS_MS && timeline.next()) if (timeline.isAsync) await setImmediate();
  for (const replica of replicas) replica.crash();
  const writes = new Map(replicas.map((replica) => [replica.id, replica.writes]));
  return {
    admitted,
    waitedSince,
    refused,
    failed,
    faults: faultsSeen,
    writes,
    rateError: clocks.ratePpm / 1e6,
    warnings,
  };
}
