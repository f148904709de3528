import { expect, test } from 'vitest';
import { muster } from '../../src/cli/program.ts';
import { everyCommand, surplusCall, wordsOf } from '../support/cli/every-command.ts';
import { musterHere } from '../support/service/muster-command.ts';

/*
 * A script gives every command the same options; one that would be told another thing than it does refuses them in
 * words.
 */

const leaves = everyCommand(muster({})).filter(
  (command) => command.commands.length === 0 && command.name() !== 'complete',
);
const TOO_MUCH = /too many arguments|\bsurplus\b|Give either the ids of apps, or --all/;
/** Runs each command with a word too many. @returns the calls that were refused with other words than these */
async function refusedOtherwise(
  callsOf: (call: readonly string[]) => readonly (readonly string[])[],
  wordsFor: (leaf: (typeof leaves)[number]) => RegExp = () => TOO_MUCH,
): Promise<string[]> {
  const others: string[] = [];
  for (const leaf of leaves) {
    for (const args of callsOf(surplusCall(leaf))) {
      const { code, stderr } = await musterHere(args);
      if (code !== 2 || !wordsFor(leaf).test(stderr)) others.push(`muster ${args.join(' ')}: ${stderr}`);
    }
  }
  return others;
}

test.each([
  ['--quiet', []],
  ['--yes', []],
  ['--limit', ['5']],
  ['--request-id', ['a-1']],
  ['--timeout', ['5s']],
])('every command takes %s, before and behind its name', async (option, value) => {
  const words = [option, ...value];
  const both = (call: readonly string[]) => [
    [...words, ...call],
    [...call, ...words],
  ];
  expect(await refusedOtherwise(both)).toEqual([]);
});

test.each([
  ['--limit', '0'],
  ['--request-id', '/'],
  ['--timeout', '5'],
])('a command without a use for %s refuses a wrong value of it all the same: %s', async (option, value) => {
  const { code, stderr } = await musterHere(['config', 'explain', 'MUSTER_STORE', option, value]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`'${value}' is invalid`)]);
});

const OF_DEVICES = 'asks the device listener: --device-url names it';

test.each([
  ['--url', 'http://h:1', 'asks no service'],
  ['--context', 'prod', 'asks no service'],
  ['--output', 'json', 'has one form of stdout'],
])('%s is taken where it has an effect, and refused in words elsewhere', async (option, value, reason) => {
  const own = /-o, --output <format>.*is yaml|must be http/;
  const calls = (call: readonly string[]) => [[option, value, ...call]];
  const isShown = (leaf: (typeof leaves)[number]): boolean =>
    leaf.options.some(({ long, hidden }) => long === option && !hidden);
  const isOfDevices = (leaf: (typeof leaves)[number]): boolean =>
    option === '--url' && leaf.options.some(({ long }) => long === '--device-url');
  const wordsFor = (leaf: (typeof leaves)[number]): RegExp =>
    isShown(leaf)
      ? new RegExp(`${TOO_MUCH.source}|${own.source}`)
      : new RegExp(`muster ${wordsOf(leaf).join(' ')} ${isOfDevices(leaf) ? OF_DEVICES : reason}\\.`);
  expect(await refusedOtherwise(calls, wordsFor)).toEqual([]);
});

test.each([
  [['restore', 'x', '--context', 'prod'], /muster restore asks no service\./],
  [['serve', '--url', 'http://h:1'], /muster serve asks no service\./],
  [['agent', 'run', '--url', 'http://h:1'], /muster agent run asks the device listener: --device-url names it\./],
  [['init-store', '-o', 'json'], /muster init-store has one form of stdout\./],
])('muster %j: nothing is done elsewhere than the line says', async (args, words) => {
  expect(await musterHere(args)).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(words) as string });
});
