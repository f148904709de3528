import { systemClock, type Clock } from '../../time/clock.ts';
import type { ClientVariable } from '../../config/client-variables.ts';
import { printable } from './printable.ts';
import { globalsOf, type GlobalOptions, type Globals } from './globals.ts';
import { processTerminal, type Environment, type Terminal } from './terminal.ts';

/** One call of `muster`: its options, its surroundings and its terminal. Every command is handed one. */
export interface Invocation {
  readonly env: Environment;
  readonly globals: Globals;
  /** The place that a client variable's value is from, where a command has set it and no user. */
  readonly sources?: Readonly<Partial<Record<ClientVariable, string>>>;
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** Writes words to stderr, a line each; `--quiet` leaves them out. Whatever a terminal would obey is escaped. */
  readonly say: (text: string) => void;
}

/** @param options as commander hands them to an action */
export function invocation(
  env: Environment,
  options: GlobalOptions,
  { terminal = processTerminal(env), clock = systemClock }: { terminal?: Terminal; clock?: Clock } = {},
): Invocation {
  const globals = globalsOf(options);
  return {
    env,
    globals,
    terminal,
    clock,
    say: (text) => {
      if (!globals.quiet) void terminal.stderr.write(`${text.split('\n').map(printable).join('\n')}\n`);
    },
  };
}
