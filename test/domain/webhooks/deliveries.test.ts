import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StreamPlace } from '../../../src/domain/audit/stream.ts';
import { deliver, PARKED_MAX, type Delivered, type Progress } from '../../../src/domain/webhooks/deliveries.ts';
import { ATTEMPTS_MAX } from '../../../src/domain/webhooks/retries.ts';
import { runs } from '../../support/run/effort.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* The deliveries of one endpoint: at least once, in order for each app, whatever the receiver does. */

interface Event extends Delivered {
  readonly number: number;
}

const BEGIN: Progress = { place: { revision: 0, key: '' }, parked: [] };
const random = { bytes: (length: number): Buffer => Buffer.alloc(length) };

/** A log of events, a receiver, and the store of the progress. */
class World {
  readonly clock = new FakeClock();
  readonly log: Event[] = [];
  /** The events that the receiver took, in its order. */
  readonly taken: number[] = [];
  readonly attempts = new Map<number, number[]>();
  readonly failed: number[] = [];
  saved: Progress = BEGIN;
  saves = 0;
  /** Whether the receiver takes an event at an attempt. */
  takes: (event: Event, attempt: number) => boolean = () => true;
  retryAfterMs: number | undefined;
  delayMs = 0;
  #wakes = new AbortController();

  add(lane: string, isWanted = true): Event {
    const number = this.log.length + 1;
    const event = {
      number,
      lane,
      isWanted,
      revision: number,
      key: `${lane}/${String(number).padStart(5, '0')}`,
    };
    this.log.push(event);
    this.log.sort((a, b) => a.revision - b.revision || (a.key < b.key ? -1 : 1));
    const woken = this.#wakes;
    this.#wakes = new AbortController();
    woken.abort();
    return event;
  }

  /** Delivers until the test aborts it. */
  run(signal: AbortSignal): Promise<void> {
    const read = async (from: StreamPlace, { inclusive, limit }: { inclusive: boolean; limit: number }) => {
      await nextTurn();
      const later = this.log.filter(
        ({ revision, key }) =>
          revision > from.revision ||
          (revision === from.revision && (key > from.key || (inclusive && key === from.key))),
      );
      return later.slice(0, limit);
    };
    const attempt = async (event: Event, attemptNumber: number) => {
      if (this.delayMs > 0) await this.clock.sleep(this.delayMs, signal);
      await nextTurn();
      this.attempts.set(event.number, [...(this.attempts.get(event.number) ?? []), attemptNumber]);
      if (!this.takes(event, attemptNumber)) {
        return { taken: false, ...(this.retryAfterMs !== undefined && { retryAfterMs: this.retryAfterMs }) } as const;
      }
      this.taken.push(event.number);
      return { taken: true } as const;
    };
    return deliver(
      {
        clock: this.clock,
        random,
        read,
        wakes: () => this.#wakes.signal,
        attempt,
        failed: ({ number }) => void this.failed.push(number),
        save: async (progress) => {
          await nextTurn();
          this.saved = progress;
          this.saves += 1;
        },
      },
      this.saved,
      signal,
    );
  }

  /** Runs for so long, in steps. */
  async runFor(ms: number, stepMs = 1000): Promise<void> {
    const ending = new AbortController();
    const running = this.run(ending.signal);
    for (let passed = 0; passed < ms; passed += stepMs) {
      for (let turn = 0; turn < 12; turn += 1) await nextTurn();
      this.clock.advance(stepMs);
    }
    for (let turn = 0; turn < 30; turn += 1) await nextTurn();
    ending.abort();
    await running;
  }
}

describe('the deliveries of an endpoint', () => {
  test('are each event once, in the order of the log, where the receiver takes all', async () => {
    const world = new World();
    for (let n = 0; n < 250; n += 1) world.add(`app-${n % 7}`, n % 5 !== 0);
    await world.runFor(20_000);
    const wanted = world.log.filter(({ isWanted }) => isWanted);
    expect(world.taken.toSorted((a, b) => a - b)).toEqual(wanted.map(({ number }) => number).toSorted((a, b) => a - b));
    expect(world.saved).toEqual({ place: { revision: 250, key: world.log.at(-1)?.key }, parked: [] });
  });

  test('go on for other apps while one event is not taken, and then in order for its app', async () => {
    const world = new World();
    const [first, beside, second] = [world.add('slow'), world.add('quick'), world.add('slow')];
    let isDown = true;
    world.takes = ({ number }) => number !== first.number || !isDown;
    await world.runFor(4000);
    expect(world.taken).toEqual([beside.number]);
    expect(world.saved.parked).toMatchObject([{ lane: 'slow', attempts: 1, isTaken: false }]);
    isDown = false;
    await world.runFor(60_000);
    expect(world.taken).toEqual([beside.number, first.number, second.number]);
    expect(world.saved.parked).toEqual([]);
  });

  test('are tried nine times over 28 hours, and then the event is given up and the app goes on', async () => {
    const world = new World();
    const [bad, next] = [world.add('a'), world.add('a')];
    world.takes = ({ number }) => number !== bad.number;
    const times: number[] = [];
    const takes = world.takes;
    world.takes = (event, attempt) => {
      if (event.number === bad.number) times.push(world.clock.now());
      return takes(event, attempt);
    };
    await world.runFor(30 * 3_600_000, 5000);
    expect(world.attempts.get(bad.number)).toEqual(Array.from({ length: ATTEMPTS_MAX }, (_, n) => n + 1));
    const pauses = times.slice(1).map((at, index) => Math.round((at - (times[index] ?? 0)) / 5000) * 5);
    expect(pauses).toEqual([5, 30, 300, 1800, 7200, 18_000, 36_000, 36_000]);
    expect([world.failed, world.taken]).toEqual([[bad.number], [next.number]]);
  }, 60_000);

  test('obey a longer pause that the receiver asks for, and no longer one than ten hours', async () => {
    const world = new World();
    const event = world.add('a');
    world.takes = (_event, attempt) => attempt > 2;
    world.retryAfterMs = 120_000;
    await world.runFor(100_000);
    expect(world.attempts.get(event.number)).toEqual([1]);
    world.retryAfterMs = 86_400_000;
    await world.runFor(60_000);
    expect(world.attempts.get(event.number)).toEqual([1, 2]);
    await world.runFor(36_100_000, 60_000);
    expect(world.taken).toEqual([event.number]);
  });

  test('stop as a whole where too many apps are parked, and go on with all of them', async () => {
    const world = new World();
    for (let n = 0; n < PARKED_MAX + 200; n += 1) world.add(`app-${n}`);
    let isDown = true;
    world.takes = () => !isDown;
    await world.runFor(3000, 100);
    expect(world.saved.parked.length).toBeLessThanOrEqual(PARKED_MAX + 100);
    expect(world.attempts.size).toBeLessThan(PARKED_MAX + 200);
    isDown = false;
    await world.runFor(120_000);
    expect(new Set(world.taken).size).toBe(PARKED_MAX + 200);
    expect(world.saved.parked).toEqual([]);
  }, 60_000);

  test('keep the order of each app and lose nothing, whatever fails and whenever they are ended', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.boolean()), { minLength: 1, maxLength: 40 }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 30 }),
        fc.array(fc.integer({ min: 500, max: 40_000 }), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 0, max: 1500 }),
        async (events, fates, terms, delayMs) => {
          const world = new World();
          world.delayMs = delayMs;
          let fate = 0;
          world.takes = () => {
            fate += 1;
            return fates[fate % fates.length] === true;
          };
          for (const [index, term] of terms.entries()) {
            for (const [at, [lane, isWanted]] of events.entries()) {
              if (at % terms.length === index) world.add(`app-${lane}`, isWanted || lane === 0);
            }
            await world.runFor(term, 700);
          }
          world.takes = () => true;
          await world.runFor(40 * 3_600_000, 600_000);
          await world.runFor(10_000);
          const wanted = world.log.filter(({ isWanted }) => isWanted);
          const got = new Set([...world.taken, ...world.failed]);
          expect(wanted.filter(({ number }) => !got.has(number))).toEqual([]);
          expect(world.saved.parked).toEqual([]);
          // The first time that each event is taken.
          for (const lane of new Set(wanted.map((event) => event.lane))) {
            const inOrder = wanted.filter((event) => event.lane === lane).map(({ number }) => number);
            const firsts = [...new Set(world.taken)].filter((number) => inOrder.includes(number));
            expect(firsts).toEqual(inOrder.filter((number) => firsts.includes(number)));
          }
        },
      ),
      { numRuns: runs(20) },
    );
  }, 240_000);
});
