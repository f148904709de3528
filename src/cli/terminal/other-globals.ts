import { InvalidArgumentError, type Command } from 'commander';
import { GLOBAL_NAMES, globalOptions, type GlobalName } from './globals.ts';

/*
 * Every command takes the global options that it has no use for as well, so that a script can give all commands the same.
 * A bound or a consent without a use changes nothing. An address and a form are refused in words: a restore that takes
 * `--context prod` for nothing works on another store than its line says.
 */

const REFUSED: Partial<Record<GlobalName, string>> = {
  url: 'asks no service.',
  context: 'asks no service.',
  output: 'has one form of stdout.',
};

/** Gives each command below the global options that it does not take by itself; no help and no completion shows them. */
export function takeOtherGlobals(command: Command, path: string): void {
  for (const sub of command.commands) takeOtherGlobals(sub, `${path} ${sub.name()}`);
  if (command.commands.length > 0) return;
  const taken = new Set(command.options.map(({ long }) => long));
  const options = globalOptions();
  for (const [at, name] of GLOBAL_NAMES.entries()) {
    const option = options[at];
    if (!option || taken.has(option.long)) continue;
    const reason = REFUSED[name];
    const { parseArg } = option;
    if (reason !== undefined) {
      option.default(undefined).argParser(() => {
        throw new InvalidArgumentError(`${path} ${reason}`);
      });
    } else if (name === 'limit') {
      // It is judged, and has no effect on what is no list.
      option.argParser((text) => void parseArg?.(text, undefined));
    }
    command.addOption(option.hideHelp());
  }
}
