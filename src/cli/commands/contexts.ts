import { resolve } from 'node:path';
import { CLIENT } from '../../config/client-variables.ts';
import { contextOf, given } from '../connection/chosen-context.ts';
import { readContexts, writeContexts, type Context } from '../connection/context-file.ts';
import { printList, printOne } from '../output/print.ts';
import type { Column } from '../output/columns.ts';
import { CommandFault, EXIT } from '../terminal/exit.ts';
import type { Invocation } from '../terminal/invocation.ts';

/* `muster context`: named services. What a command uses of them is decided in the connection room. */

export interface NewContext {
  readonly url?: string;
  readonly opsUrl?: string;
  readonly deviceUrl?: string;
  readonly apiKeyFile?: string;
  readonly operatorTokenFile?: string;
  readonly caFile?: string;
}

/** @throws CommandFault with exit code 2 where the name is taken, or no address is given; ConfigError */
export async function addContext({ env, say }: Invocation, name: string, given: NewContext): Promise<void> {
  const { url, opsUrl, deviceUrl, apiKeyFile, operatorTokenFile, caFile } = given;
  if (url === undefined && opsUrl === undefined && deviceUrl === undefined) {
    throw new CommandFault('A context has an address: give --url, --ops-url or both.', EXIT.usage);
  }
  const { current, named } = readContexts(env);
  if (named.has(name)) {
    throw new CommandFault(`A context has the name ${name} already: remove it first, or choose another.`, EXIT.usage);
  }
  const context: Context = {
    ...(url !== undefined && { url }),
    ...(opsUrl !== undefined && { opsUrl }),
    ...(deviceUrl !== undefined && { deviceUrl }),
    ...(apiKeyFile !== undefined && { apiKeyFile: resolve(apiKeyFile) }),
    ...(operatorTokenFile !== undefined && { operatorTokenFile: resolve(operatorTokenFile) }),
    ...(caFile !== undefined && { caFile: resolve(caFile) }),
  };
  await writeContexts(env, { current, named: new Map(named).set(name, context) });
  say(`The context ${name} is there. \`muster context use ${name}\` makes it the current one.`);
}

/** @throws CommandFault with exit code 2 for an unknown name; ConfigError */
export async function useContext({ env, say }: Invocation, name: string): Promise<void> {
  const contexts = readContexts(env);
  contextOf(contexts, name);
  await writeContexts(env, { ...contexts, current: name });
  const outranks = given(env, CLIENT.context);
  if (outranks === undefined || outranks === name) say(`${name} is the current context.`);
  else say(`${name} is the current context, but ${CLIENT.context} names ${outranks}, which comes first.`);
}

/** @throws CommandFault with exit code 2 for an unknown name; ConfigError */
export async function removeContext({ env, say }: Invocation, name: string): Promise<void> {
  const contexts = readContexts(env);
  contextOf(contexts, name);
  const named = new Map(contexts.named);
  named.delete(name);
  const wasCurrent = contexts.current === name;
  await writeContexts(env, { named, current: wasCurrent ? undefined : contexts.current });
  say(wasCurrent ? `${name} is removed; no context is the current one.` : `${name} is removed.`);
}

interface Listed extends Context {
  readonly name: string;
  readonly current: boolean;
}

const COLUMNS: readonly Column<Listed>[] = [
  { head: 'CURRENT', field: 'current', tone: ({ current }) => (current ? 'good' : 'faint') },
  { head: 'NAME', field: 'name' },
  { head: 'URL', field: 'url', kind: 'text' },
  { head: 'OPS URL', field: 'opsUrl', kind: 'text' },
  { head: 'DEVICE URL', field: 'deviceUrl', kind: 'text', minor: true },
  { head: 'API KEY FILE', field: 'apiKeyFile', kind: 'text', minor: true },
  { head: 'OPERATOR TOKEN FILE', field: 'operatorTokenFile', kind: 'text', minor: true },
  { head: 'CA FILE', field: 'caFile', kind: 'text', minor: true },
];

/** @throws ConfigError */
export async function listContexts(call: Invocation): Promise<void> {
  const { current, named } = readContexts(call.env);
  const chosen = given(call.env, CLIENT.context) ?? current;
  const items = [...named].map(([name, context]) => ({ name, current: name === chosen, ...context }));
  await printList(call, {
    columns: COLUMNS,
    id: ({ name }) => name,
    items,
    none: 'There is no context; `muster context add` makes one.',
  });
}

/** @throws CommandFault with exit code 4 where none is current; ConfigError */
export async function currentContext(call: Invocation): Promise<void> {
  const contexts = readContexts(call.env);
  const name = given(call.env, CLIENT.context) ?? contexts.current;
  if (name === undefined) {
    throw new CommandFault('No context is the current one; `muster context use` makes one so.', EXIT.notFound);
  }
  const item = { name, current: true, ...contextOf(contexts, name) };
  await printOne(call, { columns: COLUMNS, id: ({ name }) => name, item });
}
