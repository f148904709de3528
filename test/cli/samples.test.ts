import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { muster } from '../../src/cli/program.ts';
import { API_NAMES, operationsOf, readDocument } from '../support/openapi/documents.ts';

/* The samples of the documents for the command line name commands and options that exist. */

const samples = API_NAMES.flatMap((name) =>
  operationsOf(readDocument(name)).flatMap(({ operation }) =>
    operation['x-codeSamples'].filter(({ label }) => label === 'muster').map(({ source }) => source),
  ),
);

/** The words of a line of the shell; a text in single quotes is one. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

/** What is wrong with a line, in words; undefined where nothing is. */
function faultOf(line: string): string | undefined {
  let command: Command = muster({});
  const [, ...words] = wordsOf(line);
  while (command.commands.length > 0) {
    const name = words.shift();
    const next = command.commands.find((one) => one.name() === name);
    if (!next) return `${line}: there is no ${name}`;
    command = next;
  }
  const options = new Set(command.options.flatMap(({ long, short }) => [long, short]));
  const unknown = words.find((word) => word.startsWith('-') && !options.has(word));
  if (unknown !== undefined) return `${line}: there is no ${unknown}`;
  const missing = command.options.find(({ mandatory, long }) => mandatory && !words.includes(long ?? ''));
  return missing && `${line}: it lacks ${missing.long}`;
}

test('every sample names a command and options of it', () => {
  expect(samples.length).toBeGreaterThan(25);
  expect(samples.flatMap((line) => faultOf(line) ?? [])).toEqual([]);
});

test.each([
  ['muster apps list', undefined],
  ['muster apps lst', 'muster apps lst: there is no lst'],
  ["muster apps create --name 'edge 1'", undefined],
  ['muster agent run --app a', 'muster agent run --app a: it lacks --credential-file'],
  ['muster apps create --nam edge', 'muster apps create --nam edge: there is no --nam'],
])('%s → %s', (line, fault) => {
  expect(faultOf(line)).toBe(fault);
});
