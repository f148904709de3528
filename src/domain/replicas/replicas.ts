import type { Log } from '../../log.ts';
import { PAGE_ENTRIES_MAX, type Held, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { joinSealing } from '../keys/active-key.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import { parseRecord, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { RECORD_CHANGES } from '../records/record-changes.ts';
import { FORMAT } from '../records/records.ts';
import { replicaSchema, type ReplicaRecord } from '../records/replica-records.ts';
import { greatestSkewMs, judgeClocks, outvoted, type JudgedClocks } from './clock-skew.ts';

/** The registry of live replicas: each holds a record that says what it knows and what its clock says. */
export interface Replicas {
  /**
   * Announces this replica, before it serves.
   * @returns why it cannot serve, in words; undefined when it can
   * @throws StoreUnavailable
   */
  announce(): Promise<string | undefined>;
  /** One round: announces again, and looks at the others. Throws StoreUnavailable. */
  round(): Promise<void>;
  /** Every replica that lives, or did within the last seconds. Throws StoreUnavailable. */
  live(): Promise<readonly ReplicaRecord[]>;
  /**
   * Whether every live replica knows an additive change of records, by its name in domain/records/record-changes.ts: then it may be
   * written. One read of the store; whoever writes often keeps a `true` for as long as it runs. Nothing asks today, as
   * there is no such change yet. Throws StoreUnavailable.
   */
  everyReplicaKnows(change: string): Promise<boolean>;
  /** Returns an object that stands for this stay on the registry: another one after each return, undefined while away. */
  registration(): object | undefined;
  /** Whether the clocks of the others contradict this one's by more than 30 s (clock-skew.ts). */
  othersDisagree(): boolean;
  /** Takes this replica off the registry. Never throws. */
  release(): Promise<void>;
}

export interface ReplicaMetrics {
  /** @param count of replicas on the registry at the last round */
  replicasLive(count: number): void;
  /** @param seconds by which the clock of another replica differs at least: the greatest such difference */
  clockSkew(seconds: number): void;
}

export interface ReplicasDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ReplicaMetrics;
  readonly replicaId: string;
  readonly version: string;
  readonly keyRing: KeyRing;
  /** `RECORD_CHANGES`, but for tests. */
  readonly knows?: readonly string[];
}

/** A replica that is silent for so long counts for nothing: three announcements. */
const TTL_MS = 15_000;
export const ANNOUNCE_EVERY_MS = 5000;

export const createReplicas = (deps: ReplicasDeps): Replicas => new Registry(deps);

/** Every replica that lives, or did within the last seconds. Throws StoreUnavailable. */
export async function readReplicas(store: Pick<Store, 'list'>): Promise<readonly Versioned<ReplicaRecord>[]> {
  const { entries } = await store.list({ prefix: KEYS.replicas, limit: PAGE_ENTRIES_MAX });
  return entries.map((entry) => parseRecord(replicaSchema, entry));
}

class Registry implements Replicas {
  readonly #deps: ReplicasDeps;
  readonly #startedAt: number;
  #held: Held | undefined;
  /** The keys with which it joined: with others it joins anew. */
  #joinedWith: readonly number[] | undefined;
  /** Told once. */
  #missing: string | undefined;
  #clocks: JudgedClocks = new Map();
  /** When the last look began, on the monotonic clock. */
  #lookedAt: number;
  #disagree = false;

  constructor(deps: ReplicasDeps) {
    this.#deps = deps;
    this.#startedAt = deps.clock.now();
    this.#lookedAt = deps.clock.monotonic();
  }

  async announce(): Promise<string | undefined> {
    const { numbers } = this.#deps.keyRing;
    const value = JSON.stringify(this.#record());
    if (this.#held && !this.#held.lost.aborted) {
      if ((await this.#held.rewrite(value)) === 'written') return await this.#join(numbers);
    }
    // Away for longer than a record lives, or new: a rotation may have passed by.
    this.#joinedWith = undefined;
    await this.#held?.release();
    this.#held = undefined;
    const held = await this.#deps.store.hold(KEYS.replica(this.#deps.replicaId), value, TTL_MS);
    // Its own record of before, whose answer was lost, until it expires.
    if (held === 'taken') return undefined;
    this.#held = held;
    return await this.#join(numbers);
  }

  /** A rotation that relied on what was announced before must look again: a key may have left the file since. */
  async #join(numbers: readonly number[]): Promise<string | undefined> {
    if (this.#joinedWith === numbers) return undefined;
    const missing = await joinSealing(this.#deps.store, this.#deps.keyRing);
    this.#joinedWith = missing === undefined ? numbers : undefined;
    return missing;
  }

  async round(): Promise<void> {
    const missing = await this.announce();
    if (missing !== undefined && missing !== this.#missing) {
      this.#deps.log.error({ why: missing }, 'this replica cannot serve');
    }
    this.#missing = missing;
    await this.#look();
  }

  async live(): Promise<readonly ReplicaRecord[]> {
    return (await readReplicas(this.#deps.store)).map(({ record }) => record);
  }

  async everyReplicaKnows(change: string): Promise<boolean> {
    return (await this.live()).every(({ knows }) => knows.includes(change));
  }

  async #look(): Promise<void> {
    const { store, clock, log, metrics, replicaId } = this.#deps;
    const [before, begun] = [this.#lookedAt, clock.monotonic()];
    const all = await readReplicas(store);
    const [now, to] = [clock.monotonic(), clock.now()];
    this.#lookedAt = begun;
    const others = all.filter(({ record }) => record.replicaId !== replicaId);
    const announced = others.map(({ record, revision }) => ({ ...record, revision }));
    this.#clocks = judgeClocks(this.#clocks, announced, { from: to - (now - before), to });
    metrics.replicasLive(all.length);
    metrics.clockSkew(greatestSkewMs(this.#clocks) / 1000);
    const disagree = outvoted(this.#clocks);
    if (disagree && !this.#disagree) {
      log.error({ clocks: Object.fromEntries(this.#clocks) }, 'the clocks of other replicas contradict this one');
    }
    this.#disagree = disagree;
  }

  registration(): object | undefined {
    return this.#held?.lost.aborted === false ? this.#held : undefined;
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
    return {
      replicaId,
      startedAt: this.#startedAt,
      version,
      keyNumbers: [...numbers],
      fingerprints: Object.fromEntries(numbers.map((number) => [number, keyRing.fingerprint(number) ?? ''])),
      clock: clock.now(),
      format: FORMAT,
      knows: [...knows],
    };
  }
}
