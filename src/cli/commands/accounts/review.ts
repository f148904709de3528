import type { ReviewEntry } from '#client';
import { accountNamed } from '../../connection/accounts.ts';
import { operatorOf, requestOf } from '../../connection/clients.ts';
import type { Column } from '../../output/columns.ts';
import { printList, printOne } from '../../output/print.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { orMissing } from '../../terminal/missing.ts';
import { PAGE_MAX } from './accounts.ts';

/* `muster review`: the detections of an account's daemons, and what somebody decided on them. */

const GRAVE: ReadonlySet<string> = new Set(['high', 'critical']);

const COLUMNS: readonly Column<ReviewEntry>[] = [
  { head: 'ENTRY', field: 'entryId' },
  { head: 'APP', field: 'appId' },
  {
    head: 'SEVERITY',
    field: 'severity',
    tone: ({ severity }) => (GRAVE.has(severity) ? 'bad' : undefined),
  },
  { head: 'RULE', field: 'rule', kind: 'text' },
  { head: 'STATUS', field: 'status', tone: ({ status }) => (status === 'open' ? undefined : 'faint') },
  { head: 'RECEIVED', field: 'receivedAt', kind: 'time' },
  { head: 'NOTE', field: 'note', kind: 'text', minor: true },
];
const WHOLE: readonly Column<ReviewEntry>[] = [
  ...COLUMNS,
  { head: 'AT', field: 'at', kind: 'time' },
  { head: 'DECIDED', field: 'decidedAt', kind: 'time' },
  { head: 'EVIDENCE HASH', of: ({ evidence }) => evidence.hash },
  { head: 'EVIDENCE REDACTED', of: ({ evidence }) => evidence.redacted, kind: 'text' },
  { head: 'EVIDENCE FULL', of: ({ evidence }) => evidence.full, kind: 'text' },
];
const idOf = ({ entryId }: ReviewEntry): string => entryId;

interface OfAccount {
  readonly account: string;
}

export interface ListReviewOptions extends OfAccount {
  readonly status?: ReviewEntry['status'];
}

/** @throws CommandFault, ConfigError, MusterError */
export async function listReview(call: Invocation, { account, status }: ListReviewOptions): Promise<void> {
  const operator = operatorOf(call);
  const { accountId } = await accountNamed(operator, account, requestOf(call));
  const limit = Math.min(call.globals.limit ?? PAGE_MAX, PAGE_MAX);
  const items = operator.reviewQueue(accountId, { status, limit }, requestOf(call));
  await printList(call, { columns: COLUMNS, id: idOf, items, none: 'There is no such entry.' });
}

/** @throws CommandFault with exit code 4 where there is none; ConfigError, MusterError */
export async function showReview(call: Invocation, entryId: string, { account }: OfAccount): Promise<void> {
  const operator = operatorOf(call);
  const { accountId } = await accountNamed(operator, account, requestOf(call));
  for await (const item of operator.reviewQueue(accountId, { limit: PAGE_MAX }, requestOf(call))) {
    if (item.entryId === entryId) return await printOne(call, { columns: WHOLE, id: idOf, item });
  }
  throw new CommandFault(`${noEntry(accountId, entryId)}.`, EXIT.notFound);
}

const noEntry = (accountId: string, entryId: string): string =>
  `The review queue of ${accountId} has no entry ${entryId}`;

export interface DecideOptions extends OfAccount {
  /** Without it the stored note stays; an empty one removes it. */
  readonly note?: string;
}

/** @throws CommandFault, ConfigError, MusterError */
export const confirmReview = (call: Invocation, entryId: string, options: DecideOptions): Promise<void> =>
  decided(call, entryId, 'confirmed', options);

/** @throws CommandFault, ConfigError, MusterError */
export const dismissReview = (call: Invocation, entryId: string, options: DecideOptions): Promise<void> =>
  decided(call, entryId, 'dismissed', options);

async function decided(
  call: Invocation,
  entryId: string,
  status: 'confirmed' | 'dismissed',
  { account, note }: DecideOptions,
): Promise<void> {
  const operator = operatorOf(call);
  const { accountId } = await accountNamed(operator, account, requestOf(call));
  const decision = { status, ...(note !== undefined && { note }) };
  const deciding = operator.decideReview(accountId, entryId, decision, requestOf(call));
  const item = await orMissing(noEntry(accountId, entryId), deciding);
  call.say(`The entry ${entryId} of the account ${accountId} is ${status}.`);
  await printOne(call, { columns: WHOLE, id: idOf, item });
}
