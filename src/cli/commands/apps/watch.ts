import type { App, AppEvent } from '#client';
import { ownerOf } from '../../connection/clients.ts';
import type { Column } from '../../output/columns.ts';
import { printList, refuseEndlessDocument } from '../../output/print.ts';
import { CommandFault } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { printableName } from '../../output/printable-name.ts';
import { printable } from '../../terminal/printable.ts';
import { onInterruption } from '../../terminal/signals.ts';

/** The state that an app came to, and when it was noticed. */
type Noticed = AppEvent & { readonly at: string };

const appOf = ({ app }: Noticed): App => app;
const before = (event: Noticed): App | undefined => (event.type === 'changed' ? event.before : undefined);

const COLUMNS: readonly Column<Noticed>[] = [
  { head: 'AT', field: 'at', kind: 'time' },
  { head: 'EVENT', field: 'type' },
  { head: 'APP', name: 'appId', of: (event) => appOf(event).appId },
  { head: 'STATUS', of: (event) => appOf(event).status },
  { head: 'WAS', name: 'statusBefore', of: (event) => before(event)?.status },
  { head: 'NAME', of: (event) => appOf(event).name },
];

export interface WatchOptions {
  /** Seconds between two looks. */
  readonly every?: number;
}

/**
 * `muster apps watch`: a line for each event as it comes, until somebody stops the command or `--limit` is reached.
 * @throws ConfigError, MusterError; CommandFault with exit code 2 for `-o json` without `--limit`
 */
export async function watchApps(call: Invocation, { every }: WatchOptions): Promise<void> {
  // With --limit it has an end.
  if (call.globals.limit === undefined) refuseEndlessDocument(call, 'apps watch');
  using interruption = onInterruption(new CommandFault('interrupted'));
  const { signal } = interruption;
  const { requestId } = call.globals;
  const owner = ownerOf(call, { patient: true });
  const events = noticed(owner.watchApps({ signal, requestId, ...(every !== undefined && { everyMs: every * 1000 }) }));
  if (call.globals.output !== 'table') {
    return void (await printList(call, { columns: COLUMNS, id: (event) => appOf(event).appId, items: events }));
  }
  let count = 0;
  for await (const event of events) {
    await call.terminal.stdout.write(lineOf(event));
    count += 1;
    if (count === call.globals.limit) return;
  }

  async function* noticed(source: AsyncIterable<AppEvent>): AsyncGenerator<Noticed, void> {
    for await (const event of source) yield { at: new Date(call.clock.now()).toISOString(), ...event };
  }
}

/** A table that grows has no widths that are known at its end: ids are of one length, and the name comes last. */
function lineOf(event: Noticed): string {
  const { status, appId, name } = appOf(event);
  const was = before(event)?.status ?? status;
  const told = was === status ? status : `${was} → ${status}`;
  return `${event.at}  ${event.type.padEnd(7)}  ${printable(appId)}  ${printable(told)}  ${printableName(name)}\n`;
}
