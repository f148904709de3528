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
