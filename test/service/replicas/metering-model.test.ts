import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { daysBefore } from '../../../src/domain/status-history/day-record.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import type { Store } from '../../../src/store/port.ts';
import { endOfDay } from '../../../src/time/utc-days.ts';
import { auditedNights } from '../../support/metering/audited-ledger.ts';
import { countsOf, HOUR_MS, ledgerOf } from '../../support/metering/metering.ts';
import { faultyMetering, RandomFleet, type Faults, type Member } from '../../support/metering/random-fleet.ts';
import { anyStep, type Step } from '../../support/metering/random-steps.ts';
import { runs } from '../../support/run/effort.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { Muster, type MusterOptions } from '../../support/service/muster.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* Days of whole services with their troubles, drawn from a seed: at the end the ledger is what the audit tells. */

const NOON = Date.UTC(2028, 1, 27, 12);
/** Another one may be asked for. */
const SEED = Number(process.env['NIGHTS_SEED'] ?? 4);

/** Starts services on one place for records; each keeps its clock over its restarts. */
function opener(place: MusterOptions): (number: number, awayMs: number) => Promise<Member> {
  const clocks: FakeClock[] = [];
  return async (number, awayMs) => {
    const clock = (clocks[number] ??= new FakeClock(NOON));
    clock.advance(awayMs);
    const faults: Faults = { controllerDown: false, stall: undefined };
    let store: FaultyStore | undefined;
    const wrapStore = (opened: Store): Store => (store = faultyStore(faultyMetering(opened, faults)));
    const muster = await Muster.start({ ...place, clock, wrapStore });
    if (!store) throw new Error('the store was not wrapped');
    return { muster, store, clock, faults };
  };
}

async function runSteps(size: number, place: MusterOptions, steps: readonly Step[]): Promise<void> {
  await using fleet = await RandomFleet.start(size, NOON, opener(place));
  for (const step of steps) await fleet.take(step);
  const last = await fleet.settle();
  const { store } = fleet.member(0);
  expect(await countsOf(store)).toEqual(await auditedNights(store, last));
  const before = await ledgerOf(store);
  for (const { day, computedAt, late } of before.values()) {
    expect({ day, late }).toEqual({ day, late: computedAt > endOfDay(day) + HOUR_MS });
  }
  // Once more the last three nights: what they are rebuilt from is kept so long.
  await rewind(store, daysBefore(last, 3));
  await fleet.settle();
  for (const [key, record] of before) expect((await ledgerOf(store)).get(key)).toEqual(record);
  const differing = fleet.members
    .flatMap(({ muster }) => muster.logged)
    .filter((line) => line.includes('another result'));
  expect(differing).toEqual([]);
}

async function rewind(store: Store, through: string): Promise<void> {
  const revision = (await store.get(KEYS.metered()))?.revision ?? 0;
  await store.commit({ expect: [expectRevision(KEYS.metered(), revision)], write: [put(KEYS.metered(), { through })] });
}

test('the ledger of a service agrees with its audit over days of random events', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 20, maxLength: 60 }), async (steps) => {
      const dataDir = scratchDirectory('muster-nights');
      try {
        await runSteps(1, { dataDir }, steps);
      } finally {
        rmSync(dataDir, { recursive: true, force: true });
      }
    }),
    { numRuns: runs(6), endOnFailure: true, seed: SEED },
  );
});

const url = inject('etcd');
test.skipIf(url === undefined)('the ledger of two replicas with different clocks agrees with their audit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 25, maxLength: 40 }), async (steps) => {
      await runSteps(2, { store: `etcd:${url}`, env: { MUSTER_ETCD_PREFIX: `/${randomUUID()}/` } }, steps);
    }),
    { numRuns: runs(2), endOnFailure: true, seed: SEED },
  );
});
