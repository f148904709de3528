import process from 'node:process';
import { VERSION } from '../../version.ts';
import { addressOf, trustAuthority } from '../connection/address.ts';
import { toldBy, type Told } from '../connection/told.ts';
import { unreachable } from '../connection/unreachable.ts';
import type { Column } from '../output/columns.ts';
import { printOne } from '../output/print.ts';
import { CommandFault } from '../terminal/exit.ts';
import type { Invocation } from '../terminal/invocation.ts';

interface Versions {
  readonly command: string;
  readonly node: string;
  readonly service?: { readonly url: string; readonly version: string; readonly node: string };
}

const COLUMNS: readonly Column<Versions>[] = [
  { head: 'COMMAND', field: 'command' },
  { head: 'NODE', field: 'node' },
];
const RUNNING: readonly Column<Versions>[] = [
  ...COLUMNS,
  { head: 'SERVICE', of: ({ service }) => service?.version },
  { head: 'SERVICE NODE', of: ({ service }) => service?.node },
  { head: 'SERVICE URL', of: ({ service }) => service?.url },
];

const PROBE_MS = 5000;

/** @param running the running service is asked, too. @throws CommandFault, ConfigError */
export async function version(call: Invocation, { running }: { readonly running: boolean }): Promise<void> {
  const own = { command: VERSION, node: process.versions.node };
  const item = running ? { ...own, service: await serviceOf(call) } : own;
  await printOne<Versions>(call, { columns: running ? RUNNING : COLUMNS, id: ({ command }) => command, item });
}

/** It is told by `/metrics`. */
async function serviceOf(call: Invocation): Promise<NonNullable<Versions['service']>> {
  const address = addressOf('ops', call);
  trustAuthority(address);
  const { url, from } = address;
  const { timeoutMs = PROBE_MS } = call.globals;
  let told: Told | undefined;
  try {
    told = await toldBy(call, address, timeoutMs);
  } catch (error) {
    if (error instanceof CommandFault) throw error;
    throw new CommandFault(unreachable(address, error));
  }
  if (told) return { url, version: told.version, node: told.node };
  throw new CommandFault(`${url} does not answer as Muster's ops listener does: check the address (from ${from}).`);
}
