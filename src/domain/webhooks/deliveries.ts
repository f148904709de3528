import { Slots } from '../../concurrency/slots.ts';
import type { Clock } from '../../time/clock.ts';
import type { StreamPlace } from '../audit/stream.ts';
import type { RandomSource } from '../credentials/random-ids.ts';
import { pauseAfter } from './retries.ts';

/*
 * The deliveries of one endpoint: each event at least once, and those of one app in the order of the store. An app whose
 * event is not taken is parked, and the others go on: what follows of it is read again from the log once the event is
 * taken. So nothing queues here; the audit is the queue.
 */

/** An event that the endpoint may want. */
export interface Delivered extends StreamPlace {
  /** The events of one lane are delivered in order: those of an app, or of an account without an app. */
  readonly lane: string;
  readonly isWanted: boolean;
}

/** A lane whose next event was not taken. */
export interface Parked {
  readonly lane: string;
  /** The event, or the last one before those that are still to be delivered. */
  readonly place: StreamPlace;
  /** Whether the event at this place was taken, or given up. */
  readonly isTaken: boolean;
  readonly attempts: number;
  /** When the next attempt is due, in milliseconds since 1970. */
  readonly dueAt: number;
}

/** How far an endpoint is: all events up to the place are taken, not wanted, or in a lane that is parked. */
export interface Progress {
  readonly place: StreamPlace;
  readonly parked: readonly Parked[];
}

/** How an attempt ended. */
export type Attempted = { readonly taken: true } | { readonly taken: false; readonly retryAfterMs?: number };

export interface DeliveriesDeps<E extends Delivered> {
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly random: Pick<RandomSource, 'bytes'>;
  /** Reads the next events after a place, or from it on, none where there are no more. @throws StoreUnavailable */
  readonly read: (
    from: StreamPlace,
    options: { readonly inclusive: boolean; readonly limit: number },
  ) => Promise<readonly E[]>;
  /** Aborts when there is more. */
  readonly wakes: () => AbortSignal;
  /** Makes one attempt; it does not throw. */
  readonly attempt: (event: E, number: number) => Promise<Attempted>;
  /** Is told of an event that was given up. */
  readonly failed: (event: E) => void;
  /** Keeps the progress. @throws StoreUnavailable */
  readonly save: (progress: Progress) => Promise<void>;
}

/** Attempts of an endpoint under way at once, each of another lane. */
const ATTEMPTS_AT_ONCE = 8;
/** Events that are read at once. */
const PAGE = 100;
/** Lanes that are parked at most; then the endpoint waits as a whole. */
export const PARKED_MAX = 1000;
/** Progress is kept this often. */
const SAVE_EVERY_MS = 1000;
/** Without a sign of new events they are looked for this often. */
const LOOK_EVERY_MS = 5000;

const isAfter = (one: StreamPlace, other: StreamPlace): boolean =>
  one.revision > other.revision || (one.revision === other.revision && one.key > other.key);
const placeOf = ({ revision, key }: StreamPlace): StreamPlace => ({ revision, key });

/** An event that was read, in the order of the store. */
interface Open<E> {
  readonly event: E;
  /** It is taken, not wanted, or its lane is parked. */
  isSettled: boolean;
}

/**
 * Delivers to one endpoint until the signal aborts.
 * @throws StoreUnavailable; what was not kept is then delivered again by the next call
 */
export async function deliver<E extends Delivered>(
  deps: DeliveriesDeps<E>,
  from: Progress,
  signal: AbortSignal,
): Promise<void> {
  await new Deliveries(deps, from, signal).run();
}

class Deliveries<E extends Delivered> {
  readonly #deps: DeliveriesDeps<E>;
  readonly #ending = new AbortController();
  readonly #over: AbortSignal;
  readonly #slots = new Slots(ATTEMPTS_AT_ONCE);
  readonly #parked: Map<string, Parked>;
  /** Lanes that are parked, and are being delivered at this moment. */
  readonly #recovering = new Set<string>();
  /** The events of each lane that were handed out, the oldest first. */
  readonly #lanes = new Map<string, Open<E>[]>();
  /** What was read and is not all settled, the oldest first. */
  #open: Open<E>[] = [];
  #place: StreamPlace;
  /** The last event that was read. */
  #read: StreamPlace;
  #isDirty = false;
  #changed = new AbortController();

  constructor(deps: DeliveriesDeps<E>, { place, parked }: Progress, signal: AbortSignal) {
    this.#deps = deps;
    [this.#place, this.#read] = [place, place];
    this.#parked = new Map(parked.map((one) => [one.lane, one]));
    this.#over = AbortSignal.any([signal, this.#ending.signal]);
  }

  async run(): Promise<void> {
    const faults: unknown[] = [];
    const fail = (error: unknown): void => {
      faults.push(error);
      this.#ending.abort();
    };
    await Promise.all([this.#readOn().catch(fail), this.#recoverDue(fail), this.#keep().catch(fail)]);
    if (faults.length > 0) throw faults[0];
  }

  /** Hands out events as they come. */
  async #readOn(): Promise<void> {
    const { clock, read, wakes } = this.#deps;
    while (!this.#over.aborted) {
      const [changed, woken] = [this.#changed.signal, wakes()];
      const isFull = this.#parked.size >= PARKED_MAX || this.#open.length >= PAGE;
      const events = isFull ? [] : await read(this.#read, { inclusive: false, limit: PAGE });
      for (const event of events) this.#handOut(event);
      this.#settle();
      if (events.length > 0) continue;
      await clock.sleep(LOOK_EVERY_MS, AbortSignal.any([this.#over, changed, ...(isFull ? [] : [woken])]));
    }
  }

  #handOut(event: E): void {
    this.#read = placeOf(event);
    const { lane, isWanted } = event;
    const open = { event, isSettled: !isWanted || this.#parked.has(lane) };
    this.#open.push(open);
    if (open.isSettled) return;
    const waiting = this.#lanes.get(lane);
    if (waiting) waiting.push(open);
    else {
      this.#lanes.set(lane, [open]);
      void this.#work(lane);
    }
  }

  /** Delivers what was handed out of a lane, until one is not taken: the lane is parked, and read again from there. */
  async #work(lane: string): Promise<void> {
    const waiting = this.#lanes.get(lane) ?? [];
    for (const open of waiting) {
      const outcome = await this.#attempt(open.event, 1);
      if (outcome === undefined) return;
      open.isSettled = true;
      if (!outcome.taken) {
        this.#park(open.event, 1, outcome);
        for (const other of waiting) other.isSettled = true;
      }
      this.#settle();
      if (!outcome.taken) break;
    }
    this.#lanes.delete(lane);
  }

  /** @returns undefined where the delivery was over before: nothing is known of this attempt */
  async #attempt(event: E, number: number): Promise<Attempted | undefined> {
    const outcome = await this.#slots.run(async () =>
      this.#over.aborted ? undefined : await this.#deps.attempt(event, number),
    );
    return outcome;
  }

  #park(event: E, attempts: number, { retryAfterMs }: Extract<Attempted, { taken: false }>): void {
    const { clock, random, failed } = this.#deps;
    const pause = pauseAfter(attempts, retryAfterMs, random);
    const { lane } = event;
    const place = placeOf(event);
    // After the last attempt the event is given up, and the lane goes on with the next one.
    if (pause === undefined) failed(event);
    const dueAt = clock.now() + (pause ?? 0);
    this.#parked.set(lane, {
      lane,
      place,
      isTaken: pause === undefined,
      attempts: pause === undefined ? 0 : attempts,
      dueAt,
    });
    this.#change();
  }

  /** Begins with each lane that is parked as it is due. */
  async #recoverDue(fail: (error: unknown) => void): Promise<void> {
    const { clock } = this.#deps;
    const underWay = new Set<Promise<void>>();
    while (!this.#over.aborted) {
      const changed = this.#changed.signal;
      let pause = LOOK_EVERY_MS;
      for (const { lane, dueAt } of this.#parked.values()) {
        if (this.#recovering.has(lane)) continue;
        if (dueAt > clock.now()) pause = Math.min(pause, dueAt - clock.now());
        else {
          this.#recovering.add(lane);
          const recovery: Promise<void> = this.#recover(lane)
            .catch(fail)
            .finally(() => {
              this.#recovering.delete(lane);
              underWay.delete(recovery);
              this.#change();
            });
          underWay.add(recovery);
        }
      }
      await clock.sleep(pause, AbortSignal.any([this.#over, changed]));
    }
    await Promise.all(underWay);
  }

  /** Delivers the events of a lane from where it was parked, until all that were read are taken, or one is not. */
  async #recover(lane: string): Promise<void> {
    const parked = this.#parked.get(lane);
    let [from, inclusive, attempts] = [parked?.place, parked?.isTaken === false, parked?.attempts ?? 0];
    while (from && !this.#over.aborted) {
      const events: readonly E[] = await this.#deps.read(from, { inclusive, limit: PAGE });
      for (const event of events) {
        if (isAfter(event, this.#read)) break;
        if (event.lane !== lane || !event.isWanted) continue;
        const outcome = await this.#attempt(event, attempts + 1);
        if (outcome === undefined) return;
        if (!outcome.taken) return this.#park(event, attempts + 1, outcome);
        attempts = 0;
        this.#parked.set(lane, { lane, place: placeOf(event), isTaken: true, attempts, dueAt: 0 });
        this.#change();
      }
      const last = events.at(-1);
      // What comes after it is handed out: nothing runs between this look and the end of the lane's being parked.
      if (!last || !isAfter(this.#read, last)) {
        this.#parked.delete(lane);
        return this.#change();
      }
      [from, inclusive] = [placeOf(last), false];
    }
  }

  /** Moves the place to the last event before which all are settled. */
  #settle(): void {
    const first = this.#open.findIndex(({ isSettled }) => !isSettled);
    const settled = first < 0 ? this.#open : this.#open.slice(0, first);
    const last = settled.at(-1);
    if (!last) return;
    this.#open = this.#open.slice(settled.length);
    this.#place = placeOf(last.event);
    this.#change();
  }

  #change(): void {
    this.#isDirty = true;
    const changed = this.#changed;
    this.#changed = new AbortController();
    changed.abort();
  }

  /** Keeps the progress from time to time, and at the end. */
  async #keep(): Promise<void> {
    const { clock, save } = this.#deps;
    while (!this.#over.aborted) {
      await clock.sleep(SAVE_EVERY_MS, this.#over);
      if (!this.#isDirty) continue;
      this.#isDirty = false;
      await save({ place: this.#place, parked: [...this.#parked.values()] });
    }
  }
}
