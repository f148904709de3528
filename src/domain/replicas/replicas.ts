import type { Log } from '../../log.ts';
import { isFull, PAGE_ENTRIES_MAX, StoreUnavailable, type Held, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { joinSealing, keyMissing, readActiveKey } from '../keys/active-key.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import { parseRecord, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { RECORD_CHANGES } from '../records/record-changes.ts';
import { FORMAT } from '../records/store-records.ts';
import type { AnnouncedTokens, ReplicaRecord } from '../records/replica-records.ts';
import { greatestSkewMs, judgeClocks, outvoted, type JudgedClocks } from './clock-skew.ts';
import { refuseNewerFormat } from './format.ts';
import { HeardClocks } from './heard-clocks.ts';
import type { replicaMetrics } from './metrics.ts';
import { ComparedTokens, type OperatorToken } from './operator-tokens.ts';

/** The registry of live replicas. Each has a record there with its keys, its version and its clock. */
export interface Replicas {
  /**
   * Announces this replica. It must be called before the replica serves.
   * @returns why it cannot serve, in words; undefined when it can
   * @throws StoreUnavailable; BadRecord; Busy as `joinSealing`
   */
  announce(): Promise<string | undefined>;
  /**
   * As `announce`, for a start: where the store is full, the replica goes on without a registration, as one does that
   * has lost its own, and every `round` tries again.
   */
  announceAtStart(): Promise<string | undefined>;
  /**
   * Announces this replica again, and compares its clock and its operator tokens with those of the others.
   * @throws StoreUnavailable, also where this replica is not on the registry afterwards; BadRecord; Busy
   */
  round(): Promise<void>;
  /** Reads every replica that is alive, or was so within the last 15 s. @throws StoreUnavailable; BadRecord */
  live(): Promise<readonly ReplicaRecord[]>;
  /**
   * Tells whether every live replica knows an additive change of records, by its name in
   * domain/records/record-changes.ts: then it may be written. It costs a read of the store; a frequent writer keeps a
   * `true` for as long as it runs.
   * @throws StoreUnavailable; BadRecord
   */
  everyReplicaKnows(change: string): Promise<boolean>;
  /**
   * Takes how far another replica's wall clock is ahead at least, in milliseconds (negative: behind), as it was learnt
   * by question and answer: far more exact than its announcements are. It holds for a minute.
   */
  clockHeard(replicaId: string, skewMs: number): void;
  /** The skew that `clockHeard` took within the last minute; undefined where it took none. */
  skewOf(replicaId: string): number | undefined;
  /**
   * Adds fields to every announcement of this replica, so that the leader learns within one pause what this replica has
   * observed. Every replica reads every announcement, so the fields must be bounded, and empty where nothing happens.
   * @param observed is called at each announcement
   */
  publish(observed: () => Partial<ReplicaRecord>): void;
  /** The current registration: another object after each gap; undefined while not registered. */
  registration(): Registration | undefined;
  /**
   * Says why this replica is not on the registry; undefined while it is. The others do not count it until then, so it
   * takes no leadership and no share of a rate.
   */
  unregistered(): StoreUnavailable | undefined;
  /**
   * Whether the clocks of the others contradict this replica's by more than 30 s (clock-skew.ts), as of the last round.
   */
  othersDisagree(): boolean;
  /** Whether this replica was the only live one in the last round; false before the first. */
  isAlone(): boolean;
  /** Removes this replica from the registry. Never throws. */
  release(): Promise<void>;
}

/** A place on the registry, until it is lost. */
export type Registration = Pick<Held, 'lost'>;

interface ReplicasDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ReturnType<typeof replicaMetrics>;
  readonly replicaId: string;
  readonly version: string;
  readonly keyRing: KeyRing;
  /** The tokens that open the operator API of this replica at present. */
  readonly operatorTokens: () => readonly OperatorToken[];
  /** `RECORD_CHANGES` by default; tests give others. */
  readonly knows?: readonly string[];
  /** Whether other processes may use the store; true by default. Where none can, the other records are of dead ones. */
  readonly isShared?: boolean;
}

/** A replica that is silent for this long, three announcements, is not live any more. */
const TTL_MS = 15_000;
/** The pause between two announcements of a replica. */
export const ANNOUNCE_EVERY_MS = 5000;
/** The pause after an announcement that failed: the replica leads nothing and charges nobody until one is taken. */
export const ANNOUNCE_AGAIN_MS = 1000;

/** Creates the registry as this replica uses it; see `Replicas`. */
export const createReplicas = (deps: ReplicasDeps): Replicas => new Registry(deps);

/** Names the reason for which the last announcement was not taken, and what follows. */
function absent(failure: unknown): StoreUnavailable {
  const reason = failure instanceof StoreUnavailable ? failure.reason : 'failed';
  const why = failure === undefined ? '' : `, since the store did not take its announcement (${reason})`;
  const mend = reason === 'full' ? ' (runbook: MusterStoreFull)' : '';
  const words = `this replica is not on the registry${why}: it leads nothing and holds no share of a rate${mend}`;
  return new StoreUnavailable(reason, words);
}

class Registry implements Replicas {
  readonly #deps: ReplicasDeps;
  readonly #startedAt: number;
  #held: Held | undefined;
  /** The error of the last announcement; undefined where that was taken. */
  #failure: unknown;
  /** The keys with which it joined; when they change, it joins again. */
  #joinedWith: readonly number[] | undefined;
  /** The reason that was logged last, so that each is logged once. */
  #missing: string | undefined;
  #clocks: JudgedClocks = new Map();
  /** When the last read of the others began, on the monotonic clock. */
  #readAt: number;
  #disagree = false;
  #others: number | undefined;
  readonly #tokens: ComparedTokens;
  #announcedTokens: AnnouncedTokens | undefined;
  readonly #heard: HeardClocks;
  readonly #observed: (() => Partial<ReplicaRecord>)[] = [];

  constructor(deps: ReplicasDeps) {
    this.#deps = deps;
    this.#tokens = new ComparedTokens(deps);
    this.#heard = new HeardClocks(deps.clock);
    this.#startedAt = deps.clock.now();
    this.#readAt = deps.clock.monotonic();
  }

  async announce(): Promise<string | undefined> {
    try {
      const missing = await this.#announce();
      this.#failure = undefined;
      return missing;
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  async #announce(): Promise<string | undefined> {
    const active = await readActiveKey(this.#deps.store);
    // The ring is read after the store has answered, in one turn with this replica's record: a change of the key file
    // that comes meanwhile must not be announced without a join.
    const { numbers, newest } = this.#deps.keyRing;
    this.#announcedTokens = this.#tokens.announced(active?.record.number ?? newest);
    const value = JSON.stringify(this.#record());
    if (this.#held && !this.#held.lost.aborted) {
      if ((await this.#held.rewrite(value)) === 'written') return await this.#join(numbers);
    }
    // It is new, or was away for longer than its record lives: a rotation may have happened meanwhile.
    this.#joinedWith = undefined;
    await this.release();
    this.#held = undefined;
    const held = await this.#deps.store.hold(KEYS.replica(this.#deps.replicaId), value, TTL_MS);
    // The key is taken by its own earlier record, whose answer was lost, until that expires: `round` tries again soon.
    if (held === 'taken') return undefined;
    // A replica that has not joined is not registered, and a format that was raised while it was away is not its own.
    const joined = refuseNewerFormat(this.#deps.store).then(() => this.#join(numbers));
    const missing = await joined.catch(async (error: unknown) => {
      await held.release();
      throw error;
    });
    this.#held = held;
    return missing;
  }

  async announceAtStart(): Promise<string | undefined> {
    const { store, keyRing, log } = this.#deps;
    try {
      return await this.announce();
    } catch (error) {
      if (!isFull(error)) throw error;
      log.error({ err: error }, absent(error).message);
      return keyMissing((await readActiveKey(store))?.record, keyRing);
    }
  }

  /** Makes a rotation that relied on the announcement before check again: a key may have left the file since. */
  async #join(numbers: readonly number[]): Promise<string | undefined> {
    if (this.#joinedWith === numbers) return undefined;
    const missing = await joinSealing(this.#deps.store, this.#deps.keyRing);
    this.#joinedWith = missing === undefined ? numbers : undefined;
    return missing;
  }

  async round(): Promise<void> {
    try {
      const missing = await this.announce();
      if (missing !== undefined && missing !== this.#missing) {
        this.#deps.log.error({ why: missing }, 'this replica cannot serve');
      }
      this.#missing = missing;
    } finally {
      // A store that is full takes no announcement, and shows those of the others.
      await this.#compareWithOthers();
    }
    const unregistered = this.unregistered();
    if (unregistered) throw unregistered;
  }

  async live(): Promise<readonly ReplicaRecord[]> {
    return (await this.#readLive()).map(({ record }) => record);
  }

  async #readLive(): Promise<readonly Versioned<ReplicaRecord>[]> {
    const { store, replicaId, isShared = true } = this.#deps;
    const { entries } = await store.list({ prefix: KEYS.replica.under(), limit: PAGE_ENTRIES_MAX });
    const all = entries.map((entry) => parseRecord(KEYS.replica, entry));
    return isShared ? all : all.filter(({ record }) => record.replicaId === replicaId);
  }

  async everyReplicaKnows(change: string): Promise<boolean> {
    return (await this.live()).every(({ knows }) => knows.includes(change));
  }

  isAlone(): boolean {
    return this.#others === 0;
  }

  async #compareWithOthers(): Promise<void> {
    const { clock, log, metrics, replicaId } = this.#deps;
    const [before, begun] = [this.#readAt, clock.monotonic()];
    const all = await this.#readLive();
    const [now, to] = [clock.monotonic(), clock.now()];
    this.#readAt = begun;
    const others = all.filter(({ record }) => record.replicaId !== replicaId);
    this.#others = others.length;
    const records = others.map(({ record }) => record);
    this.#tokens.compare(this.#announcedTokens, records);
    const announced = others.map(({ record, revision }) => ({ ...record, revision }));
    // A store that is full keeps the leases of those that run, and takes no newer announcement of them.
    const since = isFull(this.#failure) ? Number.NEGATIVE_INFINITY : undefined;
    this.#clocks = judgeClocks(this.#clocks, announced, { from: to - (now - before), to }, since);
    metrics.replicasLive(all.length);
    metrics.clockSkew(Math.max(greatestSkewMs(this.#clocks), this.#heard.greatestSkewMs()) / 1000);
    const disagree = outvoted(this.#clocks);
    if (disagree && !this.#disagree) {
      log.error({ clocks: Object.fromEntries(this.#clocks) }, 'the clocks of other replicas contradict this one');
    }
    this.#disagree = disagree;
  }

  clockHeard(replicaId: string, skewMs: number): void {
    this.#heard.heard(replicaId, skewMs);
  }

  skewOf(replicaId: string): number | undefined {
    return this.#heard.skewOf(replicaId);
  }

  publish(observed: () => Partial<ReplicaRecord>): void {
    this.#observed.push(observed);
  }

  registration(): Registration | undefined {
    return this.#held?.lost.aborted === false ? this.#held : undefined;
  }

  unregistered(): StoreUnavailable | undefined {
    return this.registration() === undefined ? absent(this.#failure) : undefined;
  }

  othersDisagree(): boolean {
    return this.#disagree;
  }

  async release(): Promise<void> {
    await this.#held?.release();
  }

  #record(): ReplicaRecord {
    const { replicaId, version, keyRing, clock, knows = RECORD_CHANGES } = this.#deps;
    const { numbers } = keyRing;
    const observed: Partial<ReplicaRecord> = {};
    for (const read of this.#observed) Object.assign(observed, read());
    return {
      ...observed,
      replicaId,
      startedAt: this.#startedAt,
      version,
      keyNumbers: [...numbers],
      fingerprints: Object.fromEntries(numbers.map((number) => [number, keyRing.fingerprint(number) ?? ''])),
      clock: clock.now(),
      format: FORMAT,
      knows: [...knows],
      ...(this.#announcedTokens && { operatorTokens: this.#announcedTokens }),
    };
  }
}
