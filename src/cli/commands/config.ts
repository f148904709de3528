import { movedTo } from '../../config/client-variables.ts';
import { readConfig } from '../../config/config.ts';
import { describedVariables, type Described } from '../../config/described.ts';
import { nearestOf } from '../../config/unknown-variables.ts';
import type { Column } from '../output/columns.ts';
import { printList, printOne, refuseId } from '../output/print.ts';
import { CommandFault, EXIT } from '../terminal/exit.ts';
import type { Invocation } from '../terminal/invocation.ts';
import type { Environment } from '../terminal/terminal.ts';

/* `muster config`: the variables of the service. It starts nothing, and shows no secret. */

interface Checked {
  readonly store: 'sqlite' | 'etcd';
  /** Variables that look like Muster's, and have no effect. */
  readonly unknownVariables: readonly string[];
}

const CHECKED: readonly Column<Checked>[] = [
  { head: 'STORE', field: 'store' },
  { head: 'UNKNOWN VARIABLES', of: ({ unknownVariables }) => unknownVariables.join(' ') },
];

/** @throws ConfigError with every fault that would end `muster serve`; CommandFault */
export async function checkConfig(call: Invocation): Promise<void> {
  const { env, say } = call;
  refuseId(call.globals.output, { columns: CHECKED });
  const { store, unknownVariables } = readConfig({ ...env });
  for (const name of unknownVariables) say(`${name}: there is no such variable${movedTo(name)}; it has no effect`);
  say(`Every variable of Muster is valid; the store is ${store.kind}.`);
  await printOne<Checked>(call, { columns: CHECKED, item: { store: store.kind, unknownVariables } });
}

interface Value {
  readonly name: string;
  /** The value; null where there is none. It only tells that a secret or a wrong value is there. */
  readonly value: string | null;
  readonly from: 'environment' | 'default' | 'unset';
}

const VALUES: readonly Column<Value>[] = [
  { head: 'VARIABLE', field: 'name' },
  { head: 'VALUE', field: 'value', kind: 'text' },
  { head: 'FROM', field: 'from', tone: ({ from }) => (from === 'environment' ? 'good' : 'faint') },
];

export async function listConfig(call: Invocation): Promise<void> {
  const items = describedVariables().map((variable) => valueOf(variable, call.env));
  await printList(call, { columns: VALUES, id: ({ name }) => name, items });
}

/** A value that breaks its rule may be a secret that was pasted into the wrong variable. */
function valueOf({ name, default: value, schema }: Described, env: Environment): Value {
  const given = env[name] || undefined;
  if (given === undefined) return { name, value: value ?? null, from: value === undefined ? 'unset' : 'default' };
  if (schema.meta()?.secret) return { name, value: 'set', from: 'environment' };
  const isRight = schema.safeParse(given).success;
  return { name, value: isRight ? given : 'wrong: see `muster config check`', from: 'environment' };
}

type Told = Omit<Described, 'schema'>;
const TOLD: readonly Column<Told>[] = [
  { head: 'VARIABLE', field: 'name' },
  { head: 'SECTION', field: 'section' },
  { head: 'DEFAULT', field: 'default' },
  { head: 'UNSET', field: 'unset' },
  { head: 'MEANING', field: 'meaning' },
  { head: 'RULE', field: 'rule' },
];

/** @throws CommandFault with exit code 2 and the nearest name where there is no such variable */
export async function explainConfig(call: Invocation, name: string): Promise<void> {
  const found = describedVariables().find((variable) => variable.name === name);
  if (!found) {
    const nearest = nearestOf(name);
    const meant =
      nearest === undefined
        ? '`muster config list` has them all.'
        : nearest === name
          ? 'the command reads it: see docs/CLI.md.'
          : `is it ${nearest} that you mean?`;
    throw new CommandFault(`The service has no variable ${name}; ${meant}`, EXIT.usage);
  }
  const { schema: _schema, ...item } = found;
  await printOne(call, { columns: TOLD, id: ({ name }) => name, item });
}
