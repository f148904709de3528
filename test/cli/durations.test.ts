import type { Command, Option } from 'commander';
import { expect, test } from 'vitest';
import { muster } from '../../src/cli/program.ts';
import { everyCommand, wordsOf } from '../support/cli/every-command.ts';
import { musterHere } from '../support/service/muster-command.ts';

/*
 * Every duration of the command line has its unit: `--stale 7` would be 7 seconds for one reader, and 7 days for
 * another.
 */

interface Taken {
  readonly command: Command;
  readonly option: Option;
}
const options: readonly Taken[] = everyCommand(muster({})).flatMap((command) =>
  command.options.map((option) => ({ command, option })),
);
const durations = options.filter(({ option }) => /<(?:duration|when)>/.test(option.flags));
const nameOf = ({ command, option }: Taken): string => [...wordsOf(command), option.long].join(' ');

test('no option takes a number of seconds, minutes or hours', () => {
  const counted = options.filter(({ option: { flags } }) => /seconds|minutes|hours|days/.test(flags));
  expect(counted.map((taken) => nameOf(taken))).toEqual([]);
});

test('every option that takes a duration is among those that are tried', () => {
  expect(new Set(durations.map(({ option }) => option.flags))).toEqual(
    new Set([
      '--timeout <duration>',
      '--stale <duration>',
      '--every <duration>',
      '--grace <duration>',
      '--duration <duration>',
      '--change-every <duration>',
      '--interval <duration>',
      '--since <when>',
      '--until <when>',
      '--expires <when>',
    ]),
  );
});

/** What became of a text: the value, or the words of the refusal. */
function outcomeOf({ option }: Taken, text: string): unknown {
  try {
    return option.parseArg?.(text, undefined);
  } catch (error) {
    return error instanceof Error ? error.message : error;
  }
}

const FORMS = /^It is a duration with its unit, such as 90s, 5m, 12h or 7d\b/;

test.each([
  ['7', 'a number without a unit'],
  ['0', 'nothing, without a unit'],
  ['1.5h', 'a fraction'],
  ['1h30m', 'two units'],
  ['5w', 'another unit'],
  ['5 m', 'a blank before the unit'],
  ['-5m', 'a negative one'],
  ['5M', 'a capital letter'],
  ['367d', 'more than a year'],
  ['', 'an empty text'],
])('no option takes %j, and each says which forms are allowed (%s)', (text) => {
  const others = durations.filter((taken) => !FORMS.test(String(outcomeOf(taken, text))));
  expect(others.map((taken) => nameOf(taken))).toEqual([]);
});

test('no option takes no time at all, but the grace of a secret that shall end at once', () => {
  const others = durations.filter((taken) => !FORMS.test(String(outcomeOf(taken, '0s'))));
  expect(others.map((taken) => nameOf(taken))).toEqual(['api-keys rotate --grace']);
});

test('every option takes 5m', () => {
  const seconds = durations.map((taken) => outcomeOf(taken, '5m'));
  expect(new Set(seconds.map((value) => JSON.stringify(value)))).toEqual(new Set(['300', '{"seconds":300}']));
});

test.each([
  [['apps', 'list', '--stale', '7'], /It is a duration with its unit, .* from 1s to 366d\. 7 has no unit\.\n/],
  [['apps', 'list', '--timeout', '5'], /from 1s to 1h\. 5 has no unit\.\n/],
  [['--timeout=5', 'apps', 'list'], /from 1s to 1h\. 5 has no unit\.\n/],
  [['audit', 'list', '--since', '7'], /It is a duration/],
  [['audit', 'list', '--until', '7'], /It is a duration/],
  [['kubernetes', 'teardown', '--timeout', '240'], /240 has no unit\.\n/],
  [['apps', 'watch', '--every', '1s'], /from 2s to 366d\.\n/],
])('muster %j ends with 2, and says what is allowed', async (args, words) => {
  expect(await musterHere(args)).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(words) as string });
});
