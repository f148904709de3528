import type { AuditEntry, AuditPage, ListAuditQuery, OperatorClient } from '#client';
import { hasAskedFor } from '../../../domain/audit/index/terms.ts';
import { OPERATOR_AUDIT } from '../../../domain/records/audit-records.ts';
import { dateTime } from '../../../time/date-time.ts';
import { accountNamed } from '../../connection/accounts.ts';
import { operatorOf, requestOf } from '../../connection/clients.ts';
import type { Column } from '../../output/columns.ts';
import { printList, refuseEndlessDocument } from '../../output/print.ts';
import { padTo, widthOf } from '../../output/width.ts';
import { CommandFault } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { momentBefore, type Moment } from '../../terminal/moment.ts';
import { printable } from '../../terminal/printable.ts';
import { onInterruption } from '../../terminal/signals.ts';
import { allPages, followed } from './follow.ts';

const detailsOf = ({ detail }: AuditEntry): readonly string[] =>
  Object.entries(detail).map(([name, value]) => `${name}=${String(value)}`);

/** The names that the ids of a line do not tell. */
const namesOf = ({ actor, actorName, targetName }: AuditEntry): readonly string[] => [
  ...(actorName === undefined || actor.endsWith(actorName) ? [] : [`actorName=${actorName}`]),
  ...(targetName === undefined ? [] : [`targetName=${targetName}`]),
];

const COLUMNS: readonly Column<AuditEntry>[] = [
  { head: 'AT', field: 'at', kind: 'time' },
  { head: 'ACTOR', field: 'actor' },
  { head: 'ACTOR NAME', field: 'actorName', kind: 'text' },
  { head: 'ACTION', field: 'action' },
  { head: 'APP', field: 'appId' },
  { head: 'TARGET', field: 'target' },
  { head: 'TARGET NAME', field: 'targetName', kind: 'text' },
  { head: 'REQUEST', field: 'requestId' },
  { head: 'DETAIL', of: (entry) => detailsOf(entry).join(' ') },
];

export interface ListAuditOptions {
  /** Its id or its name; without it, or with `operator`, the audit of the service. */
  readonly account?: string;
  readonly since?: Moment;
  readonly until?: Moment;
  readonly action?: string;
  readonly actor?: string;
  readonly app?: string;
  readonly newest?: boolean;
  readonly follow: boolean;
}

/**
 * `muster audit list`: the entries of an audit, written as they come since there may be many.
 * @throws CommandFault, ConfigError, MusterError
 */
export async function listAudit(call: Invocation, options: ListAuditOptions): Promise<void> {
  const { account = OPERATOR_AUDIT, since, until, action, actor, app, newest = false, follow } = options;
  if (follow) refuseEndlessDocument(call, '--follow');
  using interruption = onInterruption(new CommandFault('interrupted'));
  const { signal } = interruption;
  const operator = operatorOf(call, { patient: follow });
  const read = await readerOf(operator, account, { ...requestOf(call), signal });
  const now = call.clock.now();
  const asked: Filters = {
    ...(action !== undefined && { action }),
    ...(actor !== undefined && { actor }),
    ...(app !== undefined && { app }),
    ...(since && { since: dateTime(momentBefore(since, now)) }),
    ...(until && { until: dateTime(momentBefore(until, now)) }),
  };
  const order = newest ? ({ order: 'desc' } as const) : {};
  // All of an audit is read to follow it: so no entry that is committed late is missed.
  const entries = follow
    ? followed(read, { clock: call.clock, signal, say: call.say })
    : allPages(async (page) => {
        const found = await read({ ...asked, ...order, ...page });
        if (newest && found.order !== 'desc') throw new CommandFault(OLDEST_FIRST);
        return found;
      }, call.globals.limit);
  // A service of an earlier version gives every entry, whatever it is asked for.
  const items = chosen(entries, (entry) => isAskedFor(entry, asked));
  if (call.globals.output === 'table') {
    if ((await printLines(call, items)) === 0 && !follow) call.say('No entry fits.');
  } else await printList(call, { columns: COLUMNS, items });
}

/** An earlier version of the service reads over the order that it is asked for. */
const OLDEST_FIRST =
  'The service gives the oldest entry first: its version is older than --newest. Leave it out, or upgrade the service.';

type Filters = Omit<ListAuditQuery, 'limit' | 'after' | 'order'>;
type ReadAudit = (page: ListAuditQuery) => Promise<AuditPage>;

async function readerOf(
  operator: OperatorClient,
  account: string,
  options: { readonly requestId: string | undefined; readonly signal: AbortSignal },
): Promise<ReadAudit> {
  if (account === OPERATOR_AUDIT) {
    return async (page): Promise<AuditPage> => await operator.listServiceAudit(page, options);
  }
  const { accountId } = await accountNamed(operator, account, options);
  return async (page): Promise<AuditPage> => await operator.listAudit(accountId, page, options);
}

/** Tells of an entry what the service goes by. */
function isAskedFor(entry: AuditEntry, { action, actor, app, since, until }: Filters): boolean {
  const at = Date.parse(entry.at);
  if ((since !== undefined && at < Date.parse(since)) || (until !== undefined && at >= Date.parse(until))) return false;
  return hasAskedFor(entry, { actor, action, appId: app });
}

async function* chosen(
  entries: AsyncIterable<AuditEntry>,
  isChosen: (entry: AuditEntry) => boolean,
): AsyncGenerator<AuditEntry, void> {
  for await (const entry of entries) if (isChosen(entry)) yield entry;
}

/**
 * An audit may be longer than memory, and its instants are what people compare: no table, and nothing relative.
 * @returns how many were printed
 */
async function printLines({ globals, terminal }: Invocation, entries: AsyncIterable<AuditEntry>): Promise<number> {
  const { columns } = terminal.stdout;
  let count = 0;
  for await (const entry of entries) {
    await terminal.stdout.write(`${linesOf(entry, columns).join('\n')}\n`);
    count += 1;
    if (count === globals.limit) break;
  }
  return count;
}

/** The columns of an instant to the second, of `device:` and an id, of the longest action, and of the id of an app. */
const ALIGNED = [20, 27, 18, 20];
const GAP = '  ';
const INDENT = '    ';

/**
 * An entry as one line, in columns where these fit into the terminal, or else without them. One that is wider goes on
 * below: its ids, which also stand in the detail, are what people search for, and nothing is cut.
 */
function linesOf(entry: AuditEntry, columns = Number.POSITIVE_INFINITY): readonly string[] {
  const { at, actor, action, appId } = entry;
  const head = [at.replace(/\.\d+Z$/, 'Z'), actor, action].map(printable);
  const details = [...detailsOf(entry), ...namesOf(entry)].map(printable);
  const cells = [...head, printable(appId ?? '-'), details.join(' ')];
  for (const widths of [ALIGNED, []]) {
    const line = cells.map((cell, at) => padTo(cell, widths[at] ?? 0, 'left')).join(GAP);
    if (widthOf(line.trimEnd()) <= columns) return [line.trimEnd()];
  }
  const rest = appId === undefined ? details : [printable(appId), ...details];
  return [head.join(GAP), ...filled(rest, columns - INDENT.length).map((line) => `${INDENT}${line}`)];
}

/** Puts as many words into each line as fit; one that is wider has a line of its own. */
function filled(words: readonly string[], columns: number): readonly string[] {
  const lines: string[] = [];
  for (const word of words) {
    const longer = lines.length > 0 ? `${lines.at(-1)}${GAP}${word}` : '';
    if (longer !== '' && widthOf(longer) <= columns) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
