import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLog, SAMPLING, type Log } from '../src/log.ts';
import { runs } from './support/run/effort.ts';
import { FakeClock } from './support/time/fake-clock.ts';
import { simulatedTimers } from './support/time/simulated-timers.ts';

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly of?: string;
  readonly by?: string;
  readonly leftOut?: number;
  readonly n?: number;
}

const LEFT_OUT = 'further lines of this cause were left out';

function observed(clock: { monotonic(): number } = SAMPLING.clock): { readonly log: Log; readonly lines: Line[] } {
  const lines: Line[] = [];
  const log = createLog(
    'debug',
    { write: (line) => void lines.push(JSON.parse(line) as Line) },
    { sampling: { ...SAMPLING, clock } },
  );
  return { log, lines };
}

const repeat = (times: number, write: (n: number) => void): void => {
  for (let n = 1; n <= times; n += 1) write(n);
};

test('ten lines of a cause in a second are written, and those after them counted in one line', async () => {
  using timers = simulatedTimers();
  const { log, lines } = observed();
  repeat(1000, (n) => log.info({ n }, 'not enrolled'));
  expect(lines.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  await timers.advance(999);
  expect(lines).toHaveLength(10);
  await timers.advance(1);
  expect(lines.slice(10)).toMatchObject([{ level: 'info', msg: LEFT_OUT, of: 'not enrolled', by: '', leftOut: 990 }]);
  repeat(10, (n) => log.info({ n }, 'not enrolled'));
  await timers.advance(5000);
  expect(lines).toHaveLength(21);
});

test('a flood that goes on has eleven lines a second', async () => {
  using timers = simulatedTimers();
  const { log, lines } = observed();
  for (let ms = 0; ms < 4_000; ms += 10) {
    repeat(6, () => log.warn({}, 'slow or failed'));
    await timers.advance(10);
  }
  expect(lines).toHaveLength(4 * 11);
  const leftOut = lines.reduce((sum, line) => sum + (line.leftOut ?? 0), 0);
  expect(leftOut + 4 * 10).toBe(2_400);
});

test('causes do not hide each other: message, reason and loop tell them apart', async () => {
  using timers = simulatedTimers();
  const { log, lines } = observed();
  repeat(50, () => log.info({ reason: 'unknown_app' }, 'not enrolled'));
  log.info({ reason: 'used_code' }, 'not enrolled');
  log.warn({ loop: 'sweeper' }, 'round failed, will retry');
  log.error('without fields');
  expect(lines.slice(10).map(({ msg }) => msg)).toEqual(['not enrolled', 'round failed, will retry', 'without fields']);
  await timers.advance(1000);
  expect(lines.slice(13)).toMatchObject([{ of: 'not enrolled', by: 'unknown_app', leftOut: 40 }]);
});

test('junk does not hide secrets that are tried on a key that exists', () => {
  const { log, lines } = observed();
  const tried = (why: string): void =>
    log.info({ reason: 'invalid_key', credential: 'api_key', why }, 'not authenticated');
  repeat(50, () => tried('malformed'));
  tried('wrong_secret');
  expect(lines.map((line) => (line as { readonly why?: string }).why).slice(9)).toEqual(['malformed', 'wrong_secret']);
});

test('neither a flood of changes nor one of faults hides another change or fault', () => {
  const { log, lines } = observed();
  repeat(50, () => log.info({ action: 'app.create' }, 'changed'));
  log.info({ action: 'account.disable' }, 'changed');
  repeat(50, () => log.error({ err: new Error('one'), route: '/v1/apps' }, 'unexpected fault'));
  log.error({ err: new Error('other'), route: '/v1/otel-config' }, 'unexpected fault');
  expect(lines).toHaveLength(2 * 11);
});

test('the routes of slow requests are one cause', () => {
  const { log, lines } = observed();
  repeat(50, (n) => log.info({ route: `/v1/${n}` }, 'slow or failed'));
  expect(lines).toHaveLength(10);
});

test.each([
  ['audit sealed', 'src/controller/audit.ts'],
  ['audit cut', 'src/domain/audit/old-audit.ts'],
  ['a night is metered', 'src/controller/metering.ts'],
  ['a night that is recorded already was counted differently now; the record stays', 'src/domain/metering/ledger.ts'],
])('%s: each is a witness, and is written', (message, writer) => {
  const { log, lines } = observed();
  repeat(100, () => log.info({}, message));
  expect(lines).toHaveLength(100);
  expect(readFileSync(join(import.meta.dirname, '..', writer), 'utf8'), 'its message').toContain(`'${message}'`);
});

test('a count is told by the next line of its cause, where the timer comes too late', () => {
  const clock = new FakeClock();
  const { log, lines } = observed(clock);
  repeat(12, (n) => log.info({ n }, 'changed'));
  clock.advance(1000);
  log.info({ n: 13 }, 'changed');
  expect(lines.slice(10)).toMatchObject([{ leftOut: 2 }, { n: 13 }]);
});

test('however many causes there are, memory and lines are bounded, and every line is written or counted', async () => {
  using timers = simulatedTimers();
  const { log, lines } = observed();
  repeat(5_000, (n) => log.info({}, `message ${n}`));
  expect(lines.length).toBeLessThan(600);
  await timers.advance(1000);
  const written = lines.filter(({ leftOut }) => leftOut === undefined).length;
  const leftOut = lines.reduce((sum, line) => sum + (line.leftOut ?? 0), 0);
  expect(written + leftOut).toBe(5_000);
});

test('any times and causes: no line is lost uncounted, and no second of a cause has more than ten', async () => {
  const steps = fc.array(fc.record({ afterMs: fc.nat(400), of: fc.constantFrom('a', 'b'), times: fc.nat(15) }), {
    maxLength: 40,
  });
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      using timers = simulatedTimers();
      const { log, lines } = observed();
      for (const { afterMs, of, times } of all) {
        repeat(times, () => log.info({}, of));
        await timers.advance(afterMs);
      }
      await timers.advance(1000);
      for (const of of ['a', 'b']) {
        const asked = all.reduce((sum, step) => sum + (step.of === of ? step.times : 0), 0);
        const counted = lines.reduce((sum, line) => sum + (line.of === of ? (line.leftOut ?? 0) : 0), 0);
        expect(lines.filter(({ msg }) => msg === of).length + counted).toBe(asked);
      }
      const spentMs = all.reduce((sum, { afterMs }) => sum + afterMs, 0);
      expect(lines.length).toBeLessThanOrEqual(2 * 11 * (Math.floor(spentMs / 1000) + 1));
    }),
    { numRuns: runs(50) },
  );
});
