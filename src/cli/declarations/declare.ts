import type { Command } from 'commander';
import { EXIT } from '../terminal/exit-codes.ts';
import { addGlobals, takeOtherGlobals, type GlobalName, type GlobalOptions } from '../terminal/globals.ts';
import { invocation, type Invocation } from '../terminal/invocation.ts';
import type { Environment } from '../terminal/terminal.ts';

/* How commands are declared, and texts that stand in the help of several. */

/** The global options that a command takes; they stand behind its own, which are declared later. */
const TAKEN = new WeakMap<Command, readonly GlobalName[]>();

/** A command; as a method, which may expect of its arguments and options what the declaration makes of them. */
interface Declared {
  run(call: Invocation, ...given: readonly unknown[]): Promise<void> | void;
}

/**
 * Declares the commands of a noun.
 * @returns a function that adds one, for its own options to follow. Its code is loaded when it is called, and is handed
 * the call, the arguments and the options, in this order.
 */
export const commandsOf =
  (parent: Command, env: Environment) =>
  (
    nameAndArguments: string,
    description: string,
    globals: readonly GlobalName[],
    load: () => Promise<Declared['run']>,
  ): Command => {
    const command = parent.command(nameAndArguments).description(description);
    TAKEN.set(command, globals);
    return command.action(async (...given: readonly unknown[]) => {
      const run = await load();
      await run(invocation(env, command.opts<GlobalOptions>()), ...given);
    });
  };

/** Gives every command the global options that it takes, and hides those that it has no use for. */
export function giveGlobals(command: Command, path: string): void {
  for (const sub of command.commands) giveGlobals(sub, `${path} ${sub.name()}`);
  if (command.commands.length > 0) return;
  addGlobals(command, TAKEN.get(command) ?? []);
  takeOtherGlobals(command, path);
}

export const EXIT_CODES = `
Exit codes:
  ${EXIT.ok}  done
  ${EXIT.failed}  failed
  ${EXIT.usage}  wrong usage or configuration
  ${EXIT.bad}  done, and what was checked is not as it should be (audit verify, backup verify, doctor,
     rollout status)
  ${EXIT.notFound}  the service has nothing of that name
  ${EXIT.notAuthorised}  the service does not take the API key or the token`;

/** The option of what deletes things. */
export const IGNORE_MISSING = ['--ignore-missing', 'what is not there is no failure', false] as const;
