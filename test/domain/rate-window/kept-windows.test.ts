import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createWindowKeeper, readKeptWindows } from '../../../src/domain/rate-window/kept-windows.ts';
import type { KeptWindow } from '../../../src/domain/rate-window/local-account.ts';
import type { WindowKeeper } from '../../../src/domain/rate-window/local-window.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { playCrashes, type CrashStep, type Slip } from '../../support/rate-window/crashes.ts';
import { runs } from '../../support/run/effort.ts';

const step: fc.Arbitrary<CrashStep> = fc.record({
  pauseMs: fc.oneof(
    fc.nat({ max: 50 }),
    fc.nat({ max: 20_000 }),
    fc.nat({ max: 130_000 }),
    fc.constantFrom(59_999, 60_000),
  ),
  account: fc.constantFrom('a', 'a', 'a', 'b'),
  requests: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 100, max: 650 })),
  writeMs: fc.oneof({ weight: 4, arbitrary: fc.nat({ max: 20 }) }, { weight: 1, arbitrary: fc.nat({ max: 70_000 }) }),
  trouble: fc.option(fc.constantFrom('refused', 'answer lost'), { nil: undefined, freq: 4 }),
  forget: fc.boolean(),
  end: fc.option(fc.constantFrom('before the write', 'after the write', 'when idle', 'stop'), { nil: undefined }),
  rebootTo: fc.option(fc.integer({ min: 5000, max: 20_000_000 }), { nil: undefined, freq: 2 }),
});
const steps = fc.array(step, { minLength: 2, maxLength: 10 });

describe('H13 on the embedded store', () => {
  test('never more than 600 in any 60 s, and no refusal beyond a crashed slice, wherever the process is killed', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (played) => {
        expect(await playCrashes(played)).toEqual([]);
      }),
      { numRuns: runs(60) },
    );
  });

  const changed =
    (change: (window: KeptWindow) => KeptWindow) =>
    (keeper: WindowKeeper): WindowKeeper => ({
      keep: (windows) =>
        keeper.keep(new Map([...windows].map(([account, window]) => [account, window && change(window)]))),
    });
  const SLIPS: readonly (readonly [string, Slip])[] = [
    [
      'units are spent before their slice is written',
      {
        keeper: (keeper) => ({
          async keep(windows) {
            void keeper.keep(windows).catch(() => undefined);
          },
        }),
      },
    ],
    ['a slice is not recorded', { keeper: changed((window) => ({ ...window, units: 0 })) }],
    [
      'a slice is recorded with a unit too few',
      { keeper: changed((window) => ({ ...window, units: window.units - 1 })) },
    ],
    ['the units of earlier slices are not recorded', { keeper: changed((window) => ({ ...window, spent: [] })) }],
    [
      'a slice counts from when it was taken',
      { keeper: changed((window) => ({ ...window, until: window.until - 60_000 })) },
    ],
    ['boots are not told apart', { boot: (boot) => ({ ...boot, id: 'always' }) }],
    ['ages are by the clock of the process', { boot: (boot) => ({ ...boot, origin: 0 }) }],
    ['all that was kept counts after any restart', { boot: (boot) => ({ ...boot, id: undefined }) }],
  ];
  const play = (pauseMs: number, requests: number, end?: CrashStep['end']): CrashStep => ({
    pauseMs,
    requests,
    end,
    account: 'a',
    writeMs: 0,
    forget: false,
  });
  /** Chance finds these late. */
  const SCRIPTS: [CrashStep[]][] = [
    [[play(0, 200, 'when idle'), play(0, 600)]],
    [[play(0, 30), play(50_000, 10, 'when idle'), play(11_000, 600)]],
    [[play(0, 600), play(50_000, 0, 'stop'), play(11_000, 600)]],
    [[{ ...play(0, 600, 'stop'), rebootTo: 20_000_000 }, play(0, 600)]],
  ];
  test.each(SLIPS)('is broken where %s, and the property notices it', async (_name, slip) => {
    const property = fc.asyncProperty(steps, async (played) => (await playCrashes(played, slip)).length === 0);
    const { failed } = await fc.check(property, { examples: SCRIPTS, numRuns: 400, seed: 13, endOnFailure: true });
    expect(failed).toBe(true);
  });
});

describe('what is on the disk at a start', () => {
  const clock = { monotonic: () => 1000 };
  const boot = { id: 'this', origin: 5_000_000 };
  const now = 5_001_000;
  const full = Array.from({ length: 600 }, () => 1000);

  async function readFrom(
    store: Store,
    value: string,
  ): Promise<{ read: readonly number[] | undefined; errors: number }> {
    let errors = 0;
    const key = KEYS.rateWindow('a');
    await store.commit({ expect: [expectAbsent(key)], write: [{ put: key, value }], quiet: true });
    const log = { error: () => void (errors += 1) };
    return { read: (await readKeptWindows({ store, clock, boot, log })).get('a'), errors };
  }

  test.each<readonly [string, object, readonly number[]]>([
    ['units of this boot have their ages', { boot: 'this', spent: [now - 100, 40, 60] }, [900, 940, 1000]],
    ['a unit that is a minute old counts no more', { boot: 'this', spent: [now - 60_000, 1] }, [-58_999]],
    ['a slice counts now', { boot: 'this', spent: [now], slice: { units: 2, until: now + 9000 } }, [1000, 1000, 1000]],
    ['an ended one from its end', { boot: 'this', spent: [], slice: { units: 2, until: now - 9000 } }, [-8000, -8000]],
    ['one that is long over does not', { boot: 'this', spent: [], slice: { units: 2, until: now - 60_000 } }, []],
    [
      'another boot: all count now',
      { boot: 'other', spent: [1, 1], slice: { units: 1, until: 3 } },
      [1000, 1000, 1000],
    ],
    ['a boot that nobody knows is another one', { spent: [now - 100] }, [1000]],
    ['a time that is to come is of another clock', { boot: 'this', spent: [now + 5000] }, [1000]],
    ['more than 600 are as 600', { boot: 'this', spent: [now], slice: { units: 100_000, until: now } }, full],
    ['nothing was kept', { spent: [] }, []],
  ])('%s', async (_sentence, record, instants) => {
    await using store = await openSqliteStore(':memory:');
    expect(await readFrom(store, JSON.stringify(record))).toEqual({ read: instants, errors: 0 });
  });

  test.each(['', '{}', 'null', '{"instants":[],"spent":[-1]}', '{"instants":[],"slice":{"units":"1","until":1}}'])(
    'what cannot be read counts as a full window, and is an error in the log: %s',
    async (value) => {
      await using store = await openSqliteStore(':memory:');
      expect(await readFrom(store, value)).toEqual({ read: full, errors: 1 });
    },
  );

  test('a unit of the last millisecond does not stand behind those of its slice, and is read again', async () => {
    await using store = await openSqliteStore(':memory:');
    const late = { clock: { monotonic: () => 1000.6 }, boot: { id: 'this', origin: 5_000_000.3 } };
    const key = KEYS.rateWindow('a');
    const value = JSON.stringify({
      instants: [],
      boot: 'this',
      spent: [5_001_001],
      slice: { units: 2, until: 5_060_000 },
    });
    await store.commit({ expect: [expectAbsent(key)], write: [{ put: key, value }], quiet: true });
    let errors = 0;
    const deps = { store, ...late, log: { error: () => void (errors += 1) } };
    const spent = (await readKeptWindows(deps)).get('a') ?? [];
    expect(spent).toEqual(spent.toSorted((one, other) => one - other));
    await createWindowKeeper({ store, boot: late.boot }).keep(new Map([['a', { spent, units: 0, until: 0 }]]));
    expect([(await readKeptWindows(deps)).get('a')?.length, errors]).toEqual([3, 0]);
  });

  test('a record can be read by builds from before 0.1.0: they find the field that they require', async () => {
    await using store = await openSqliteStore(':memory:');
    await createWindowKeeper({ store, boot }).keep(new Map([['a', { spent: [1.5, 2], units: 3, until: 4 }]]));
    expect(JSON.parse((await store.get(KEYS.rateWindow('a')))?.value ?? '')).toEqual({
      instants: [],
      boot: 'this',
      spent: [5_000_002, 0],
      slice: { units: 3, until: 5_000_004 },
    });
  });
});
