import type { Command } from 'commander';

/** A command with all that are below it, itself first. */
export const everyCommand = (command: Command): readonly Command[] => [
  command,
  ...command.commands.flatMap((sub) => everyCommand(sub)),
];

/** The words that call a command, without `muster`. */
export function wordsOf(command: Command): readonly string[] {
  return command.parent ? [...wordsOf(command.parent), command.name()] : [];
}

/** What a command needs before its words are counted. */
const NEEDED: Readonly<Record<string, string>> = { '--count': '1', '--namespace': 'fleet', '--expires': '7d' };

/** Whether a command takes any number of words. */
export const takesAll = (command: Command): boolean => command.registeredArguments.some(({ variadic }) => variadic);

/** A call of a command with all that it needs, and with one word too many; `--all` is one beside ids. */
export function surplusCall(command: Command): readonly string[] {
  const given = command.registeredArguments.filter(({ variadic }) => !variadic);
  const needed = command.options.filter(({ mandatory }) => mandatory).flatMap(({ long }) => long ?? []);
  return [
    ...wordsOf(command),
    ...given.map(({ argChoices }) => argChoices?.[0] ?? 'x'),
    'surplus',
    ...(command.options.some(({ long }) => long === '--all') ? ['--all'] : []),
    ...needed.flatMap((long) => [long, NEEDED[long] ?? 'x']),
  ];
}
