import { expect, test } from 'vitest';
import {
  AnswerRates,
  NAMES_KEPT_MAX,
  type Cause,
} from '../../../../src/controller/kubernetes/failures/answer-rates.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/* The rates at which Muster writes in answer to others, by the hours of a writer that never stops. */

const MINUTE_MS = 60_000;
const SECOND_MS = 1000;

/** The seconds at which a writer that is there each second for so long is answered. */
function answersTo(cause: Cause, seconds: number, rates: AnswerRates, clock: FakeClock): readonly number[] {
  const of = rates.of('one');
  const answers: number[] = [];
  for (let second = 0; second < seconds; second += 1) {
    if (of.waitMs(cause, false) === 0) {
      of.answered(cause);
      answers.push(second);
    }
    clock.advance(SECOND_MS);
  }
  return answers;
}

function made(): { clock: FakeClock; rates: AnswerRates } {
  const clock = new FakeClock();
  return { clock, rates: new AnswerRates(clock) };
}

test('a writer that never stops is answered three times at once, ten times a minute apart, and then in ten', () => {
  const { clock, rates } = made();
  expect(answersTo('outside', 3600, rates, clock)).toEqual([
    0,
    1,
    2,
    ...Array.from({ length: 10 }, (_, n) => 62 + 60 * n),
    1202,
    1802,
    2402,
    3002,
  ]);
});

test('a writer that comes every half an hour is answered at once, for ever', () => {
  const { clock, rates } = made();
  const of = rates.of('one');
  for (let round = 0; round < 20; round += 1) {
    expect(of.waitMs('outside', false)).toBe(0);
    of.answered('outside');
    clock.advance(30 * MINUTE_MS);
  }
});

test('a failure counts for nothing: it has a back-off of its own', () => {
  const { rates } = made();
  for (let round = 0; round < 20; round += 1) expect(rates.of('one').waitMs('outside', false)).toBe(0);
});

test('a spec that changes all the time is carried out ten times at once, then every five seconds', () => {
  const { clock, rates } = made();
  expect(answersTo('spec', 30, rates, clock)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 19, 24, 29]);
  expect(rates.of('one').waitMs('outside', false), 'a change of the spec is none from outside').toBe(0);
});

test('headers are gathered for five seconds from the first change on, and answered like others', () => {
  const { clock, rates } = made();
  const of = rates.of('one');
  expect(answersTo('header', 60, rates, clock)).toEqual([5, 11, 17]);
  expect(of.waitMs('header', false)).toBe(17 * SECOND_MS);
});

test('a header that became what it was begins anew', () => {
  const { clock, rates } = made();
  const of = rates.of('one');
  of.waitMs('header', false);
  of.settled();
  clock.advance(MINUTE_MS);
  expect(of.waitMs('header', false)).toBe(5 * SECOND_MS);
});

test('the next leader goes on a minute apart where the resource says that it was held back', () => {
  const { clock, rates } = made();
  expect(rates.of('held').waitMs('outside', true)).toBe(MINUTE_MS);
  expect(rates.of('other').waitMs('outside', false)).toBe(0);
  clock.advance(MINUTE_MS);
  expect(rates.of('held').waitMs('outside', true)).toBe(0);
});

test('each resource has its own', () => {
  const { rates } = made();
  for (let round = 0; round < 3; round += 1) rates.of('one').answered('outside');
  expect(rates.of('one').waitMs('outside', false)).toBe(MINUTE_MS);
  expect(rates.of('other').waitMs('outside', false)).toBe(0);
});

test('a resource that is gone leaves its rate to the next one of its name, for as long as a rate is remembered', () => {
  const { clock, rates } = made();
  for (let round = 0; round < 3; round += 1) {
    expect(rates.of('one').waitMs('outside', false), `round ${round}`).toBe(0);
    rates.of('one').answered('outside');
    rates.forget('one');
  }
  expect(rates.of('one').waitMs('outside', false)).toBe(MINUTE_MS);
  expect(rates.size).toBe(1);
  rates.forget('one');
  clock.advance(30 * MINUTE_MS);
  expect(rates.of('one').waitMs('outside', false)).toBe(0);
});

test('the header of a resource that is gone is not gathered for the next one', () => {
  const { clock, rates } = made();
  rates.of('one').waitMs('header', false);
  rates.of('one').answered('spec');
  rates.of('one').waitMs('header', false);
  rates.forget('one');
  clock.advance(MINUTE_MS);
  expect(rates.of('one').waitMs('header', false)).toBe(5 * SECOND_MS);
});

test('the names of those that are gone are bounded', () => {
  const { rates } = made();
  for (let n = 0; n < NAMES_KEPT_MAX + 10; n += 1) {
    rates.of(`gone-${n}`).answered('outside');
    rates.forget(`gone-${n}`);
  }
  expect(rates.size).toBe(NAMES_KEPT_MAX);
  // Those that are there have their own place.
  rates.of('there').answered('outside');
  expect(rates.size).toBe(NAMES_KEPT_MAX + 1);
});

test('the name of one that is gone takes no place where nothing was written for it lately', () => {
  const { clock, rates } = made();
  rates.of('quiet').waitMs('outside', false);
  rates.forget('quiet');
  expect(rates.size).toBe(0);
  rates.of('long-ago').answered('outside');
  clock.advance(30 * MINUTE_MS);
  rates.forget('long-ago');
  expect(rates.size).toBe(0);
});
