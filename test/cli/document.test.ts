import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { muster } from '../../src/cli/program.ts';
import { EXIT } from '../../src/cli/terminal/exit.ts';

/* docs/CLI.md has the commands, arguments, options and exit codes of `muster --help`, and no other. */

const document = readFileSync(resolve(import.meta.dirname, '../../docs/CLI.md'), 'utf8');

/** Each command without subcommands, by its line in the document, with the flags of its options. */
function commandsOf(command: Command, above: readonly string[] = []): (readonly [string, readonly string[]])[] {
  const path = [...above, command.name()];
  if (command.commands.length > 0) return command.commands.flatMap((sub) => commandsOf(sub, path));
  const names = command.registeredArguments.map((argument) => `<${argument.name()}>`);
  return [[[...path, ...names].join(' '), command.options.map(({ flags }) => flags)]];
}

function commandsTold(): (readonly [string, readonly string[]])[] {
  return document
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const flags = [...section.matchAll(/^- `([^`]+)`: /gm)].map(([, flags = '']) => flags);
      return [/^`([^`]+)`/.exec(section)?.[1] ?? section, flags] as const;
    });
}

test('each command with its options, and no other', () => {
  const commands = commandsOf(muster({}));
  expect(commands.length).toBeGreaterThan(10);
  expect(commandsTold()).toEqual(commands.toSorted(([a], [b]) => order(a) - order(b)));
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
