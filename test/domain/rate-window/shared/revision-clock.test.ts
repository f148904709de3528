import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RevisionClock } from '../../../../src/domain/rate-window/shared/revision-clock.ts';
import { LEASE_AHEAD_MS_MAX, WINDOW_RULES } from '../../../../src/domain/rate-window/shared/rules.ts';
import { createStandstillCheck } from '../../../../src/domain/rate-window/shared/standstill.ts';

/** A clock of revisions at an instant that the test sets. */
function clockAt(start: number) {
  let now = start;
  const revisions = new RevisionClock(() => now);
  const saw = (at: number, revision: number): void => {
    now = at;
    revisions.saw(revision);
  };
  return { revisions, saw, pass: (to: number) => void (now = to) };
}

describe('when a revision was first known', () => {
  test('is when it, or a later one, was seen; an unknown one is known now', () => {
    const { revisions, saw, pass } = clockAt(0);
    saw(1000, 10);
    saw(2000, 20);
    saw(3000, 15);
    pass(9000);
    expect([5, 10, 11, 20, 21].map((revision) => revisions.instantOf(revision))).toEqual([
      1000, 1000, 2000, 2000, 9000,
    ]);
  });

  test('within 50 ms the later instant holds for all: never the earlier one for a revision that was not there yet', () => {
    const { revisions, saw } = clockAt(0);
    saw(1000, 10);
    saw(1049, 11);
    expect([revisions.instantOf(10), revisions.instantOf(11)]).toEqual([1049, 1049]);
    saw(1050, 12);
    expect([revisions.instantOf(11), revisions.instantOf(12)]).toEqual([1049, 1050]);
  });

  test('is remembered until a lease of that revision counts no more, however busy the store is', () => {
    const { revisions, saw } = clockAt(0);
    const countsMs = LEASE_AHEAD_MS_MAX + WINDOW_RULES.endedCountsMs;
    for (let at = 0; at <= 10 * countsMs; at += 100) {
      saw(at, 1 + at / 100);
      for (const revision of [1, 200]) {
        const ageMs = at - revisions.instantOf(revision);
        const trueMs = at - (revision - 1) * 100;
        if (trueMs >= 0) expect(ageMs).toBeLessThanOrEqual(trueMs);
        if (trueMs >= countsMs) expect(ageMs).toBeGreaterThanOrEqual(countsMs);
      }
    }
  });

  test('is forgotten where the store was put back: it gives out its revisions again', () => {
    const { revisions, saw, pass } = clockAt(0);
    saw(1000, 5000);
    pass(70_000);
    expect(revisions.found(5000, 5000), 'a quiet store').toBe(false);
    expect(revisions.instantOf(1001)).toBe(1000);
    expect(revisions.found(1001, 5000)).toBe(true);
    expect([revisions.instantOf(1001), revisions.latest]).toEqual([70_000, 1001]);
  });

  test('a replica that was told by another one knows the ages of revisions that it missed', () => {
    const [old, young] = [clockAt(0), clockAt(0)];
    for (let n = 1; n <= 120; n += 1) old.saw(n * 1000, n * 10);
    young.saw(500_000, 1200);
    expect(young.revisions.instantOf(700)).toBe(500_000);
    young.saw(500_100, 1201);
    young.revisions.learn(old.revisions.table(), 1201);
    // The other one said 50 s at a commit that this one saw at 500,100.
    expect(young.revisions.instantOf(700)).toBe(450_100);
    expect(young.revisions.instantOf(1201)).toBe(500_100);
    young.saw(500_200, 1300);
    expect([young.revisions.instantOf(1300), young.revisions.instantOf(1190)]).toEqual([500_200, 499_100]);
  });

  test('no revision ever seems older than it is, whoever tells whom, and whenever who saw what', () => {
    const step = fc.record({
      replica: fc.nat(2),
      ms: fc.nat(400),
      commits: fc.nat(3),
      tells: fc.option(fc.nat(2), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        let now = 0;
        const replicas = [0, 7_000_000, 3].map((ahead) => ({
          ahead,
          revisions: new RevisionClock(() => now + ahead),
        }));
        const there: number[] = [0];
        for (const { replica, ms, commits, tells } of steps) {
          now += ms;
          for (let n = 0; n < commits; n += 1) there.push(now);
          const one = replicas[replica];
          const other = tells === undefined ? undefined : replicas[tells];
          const table = other?.revisions.table() ?? [];
          if (other) there.push(now);
          one?.revisions.saw(there.length - 1);
          one?.revisions.learn(table, there.length - 1);
        }
        for (const { ahead, revisions } of replicas) {
          for (let revision = 1; revision <= revisions.latest; revision += 1) {
            expect(revisions.instantOf(revision) - ahead).toBeGreaterThanOrEqual(there[revision] ?? 0);
          }
        }
      }),
    );
  });
});

describe('a machine that stood still', () => {
  function machine(knowsUptime: boolean) {
    const at = { wall: 1e12, monotonic: 5000, uptime: 90_000 };
    const clock = {
      now: () => at.wall,
      monotonic: () => at.monotonic,
      ...(knowsUptime && { uptime: () => at.uptime }),
    };
    const stoodStill = createStandstillCheck(clock);
    const pass = (wall: number, monotonic: number, uptime: number): boolean => {
      at.wall += wall;
      at.monotonic += monotonic;
      at.uptime += uptime;
      return stoodStill();
    };
    return pass;
  }

  test.each([
    [10_000, 10_000, 10_000, false, 'time passes'],
    [10_000, 0, 10_000, true, 'it was suspended'],
    [10_000, 9800, 10_000, true, 'for a moment'],
    [130_000, 10_000, 10_000, false, 'the wall clock was set on'],
    [-110_000, 10_000, 10_000, false, 'the wall clock was set back'],
    [-50_000, 10_000, 70_000, true, 'it was suspended, and its wall clock set back'],
  ])('wall %d, monotonic %d, uptime %d ms: %s (%s)', (wall, monotonic, uptime, expected) => {
    const pass = machine(true);
    expect(pass(wall, monotonic, uptime)).toBe(expected);
    expect(pass(1000, 1000, 1000), 'told once').toBe(false);
  });

  test('where the time since its start is unknown, a jump of the wall clock counts as one', () => {
    const pass = machine(false);
    expect([pass(1000, 1000, 0), pass(10_000, 1000, 0), pass(-10_000, 1000, 0), pass(1000, 1000, 0)]).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});
