import { CLIENT, type ClientVariable } from '../../config/client-variables.ts';
import { CommandFault, EXIT } from '../terminal/exit.ts';
import type { Globals } from '../terminal/globals.ts';
import type { Environment } from '../terminal/terminal.ts';
import { readContexts, type Context, type Contexts } from './context-file.ts';

/** The facts that an address and a secret are chosen by; an Invocation has them. */
export interface Asked {
  readonly env: Environment;
  readonly globals: Globals;
  /** The place that a variable's value is from, where the caller has set it and no user. */
  readonly sources?: Readonly<Partial<Record<ClientVariable, string>>>;
}

export interface ChosenContext {
  readonly name: string;
  readonly context: Context;
  /** The option `--context` named it, so that it comes before every variable. */
  readonly byOption: boolean;
}

/**
 * The context that a command uses: that of `--context`, else of its variable, else the current one.
 * @throws CommandFault with exit code 2 and the names that exist where there is none of the name; ConfigError
 */
export function chosenContext({ env, globals }: Asked): ChosenContext | undefined {
  const contexts = readContexts(env);
  const byOption = globals.context !== undefined;
  const name = globals.context ?? given(env, CLIENT.context) ?? contexts.current;
  if (name === undefined) return undefined;
  return { name, byOption, context: contextOf(contexts, name) };
}

/** @throws CommandFault with exit code 2 and the names that exist */
export function contextOf({ named }: Contexts, name: string): Context {
  const context = named.get(name);
  if (context) return context;
  const names = [...named.keys()].toSorted().join(', ');
  const there = names === '' ? 'there is none; `muster context add` makes one' : `there are: ${names}`;
  throw new CommandFault(`No context has the name ${name}; ${there}.`, EXIT.usage);
}

/** The value of a variable; an empty one is none. */
export const given = (env: Environment, name: string): string | undefined => env[name] || undefined;
