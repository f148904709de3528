import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { muster } from '../../src/cli/program.ts';
import { EXIT } from '../../src/cli/terminal/exit.ts';
import { addGlobals, GLOBAL_NAMES } from '../../src/cli/terminal/globals.ts';

/* docs/CLI.md has the commands, arguments, options and exit codes of `muster --help`, and no other. */

const document = readFileSync(resolve(import.meta.dirname, '../../docs/CLI.md'), 'utf8');

/** What only the scripts of shells call. */
const HIDDEN: ReadonlySet<string> = new Set(['complete']);

type Described = readonly [command: string, flags: readonly string[], globals: readonly string[]];

/** Each command without subcommands, by its line in the document, with the flags of its options. */
function commandsOf(command: Command, above: readonly string[] = []): Described[] {
  const path = [...above, command.name()];
  const subs = command.commands.filter((sub) => !HIDDEN.has(sub.name()));
  if (subs.length > 0) return subs.flatMap((sub) => commandsOf(sub, path));
  const names = command.registeredArguments.map((argument) => `<${argument.name()}>`);
  const shown = command.options.filter(({ hidden }) => !hidden);
  const own = shown.filter(({ helpGroupHeading }) => helpGroupHeading === undefined);
  const globals = shown.filter((option) => !own.includes(option));
  const shortest = globals.map(({ short, long }) => short ?? long ?? '');
  return [[[...path, ...names].join(' '), own.map(({ flags }) => flags), shortest.toSorted()]];
}

function commandsTold(): Described[] {
  return document
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const flags = [...section.matchAll(/^- `([^`]+)`: /gm)].map(([, flags = '']) => flags);
      const [, line = ''] = /^Global options: (.+)\.$/m.exec(section) ?? [];
      const globals = [...line.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
      return [/^`([^`]+)`/.exec(section)?.[1] ?? section, flags, globals.toSorted()] as const;
    });
}

test('each command with its options, and no other', () => {
  const commands = commandsOf(muster({}));
  expect(commands.length).toBeGreaterThan(10);
  expect(commandsTold()).toEqual(commands.toSorted(([a], [b]) => order(a) - order(b)));
});

test('each global option, and no other', () => {
  const [, section = ''] = /^## Global options$([\s\S]*?)^## /m.exec(document) ?? [];
  const told = [...section.matchAll(/^- `([^`]+)`: /gm)].map(([, flags = '']) => flags);
  expect(told).toEqual(addGlobals(new Command(), GLOBAL_NAMES).options.map(({ flags }) => flags));
});

const order = (command: string): number => commandsTold().findIndex(([told]) => told === command);

test('each exit code, and no other', () => {
  const told = [...document.matchAll(/^\| (\d+) /gm)].map(([, code]) => Number(code));
  expect(told).toEqual(Object.values(EXIT));
});

test('the choices and defaults of options', () => {
  const leaves = (command: Command): Command[] =>
    command.commands.length > 0 ? command.commands.flatMap((sub) => leaves(sub)) : [command];
  for (const { options } of leaves(muster({}))) {
    for (const { flags, defaultValue, argChoices = [] } of options) {
      const lines = document.split('\n').filter((line) => line.startsWith(`- \`${flags}\`: `));
      for (const choice of argChoices) expect(lines.join('\n')).toContain(`\`${choice}\``);
      const isPlain =
        typeof defaultValue === 'number' || (typeof defaultValue === 'string' && !/^\d/.test(defaultValue));
      if (isPlain) expect(lines.join('\n')).toContain(String(defaultValue));
    }
  }
});
