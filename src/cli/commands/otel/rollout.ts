import {
  MusterError,
  type CallOptions,
  type ListRolloutsQuery,
  type OperatorClient,
  type Rollout,
  type Rollouts,
} from '#client';
import { accountNamed } from '../../connection/accounts.ts';
import { operatorOf, requestOf } from '../../connection/clients.ts';
import type { Column } from '../../output/columns.ts';
import { printList, printOne } from '../../output/print.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { onInterruption } from '../../terminal/signals.ts';

/* `muster rollout …`: how far the configuration of an account has come among its daemons, and where it has not. */

export interface RolloutOptions {
  /** An id or a name; without it the only account that there is. */
  readonly account?: string;
  readonly wait?: boolean;
  /** Seconds. */
  readonly timeout?: number;
}

type Listed = Rollouts['accounts'][number];

const tone = (count: number) => (count > 0 ? 'bad' : 'faint');
const COLUMNS: readonly Column<Listed>[] = [
  { head: 'ACCOUNT', field: 'accountId' },
  { head: 'REVISION', field: 'revision', kind: 'number' },
  { head: 'DEVICES', field: 'devices', kind: 'number' },
  { head: 'APPLIED', field: 'applied', kind: 'number' },
  { head: 'FAILED', field: 'failed', kind: 'number', tone: ({ failed }) => tone(failed) },
  { head: 'PENDING', field: 'pending', kind: 'number' },
  { head: 'STALE', field: 'stale', kind: 'number', tone: ({ stale }) => tone(stale) },
];

const TIMEOUT_SECONDS = 300;
const LOOK_EVERY_MS = 2000;

/**
 * With `wait` it looks until no device is pending. Those that have been silent for long are not waited for.
 * @throws CommandFault with exit code 3 where a device could not apply it, with or without `wait`, and 1 where the time
 *   is up; MusterError
 */
export async function rolloutStatus(call: Invocation, options: RolloutOptions): Promise<void> {
  const { account, wait = false, timeout = TIMEOUT_SECONDS } = options;
  // The time is that of the wait, and not that of each request.
  const { timeoutMs: _wait, ...globals } = call.globals;
  const { requestId } = globals;
  const operator = operatorOf({ ...call, globals }, { patient: wait });
  const { accountId } =
    account === undefined
      ? await onlyOne(operator, { requestId })
      : await accountNamed(operator, account, { requestId });
  const read = (timeoutMs?: number) => operator.readRollout(accountId, { requestId, signal: interrupted, timeoutMs });
  using interruption = onInterruption(new CommandFault('interrupted'));
  const interrupted = interruption.signal;
  const rollout = wait ? await settled(call, read, timeout * 1000, interrupted) : await read();
  await printOne(call, { columns: COLUMNS, item: { accountId, ...rollout } });
  for (const { appId, error, at, emptied } of rollout.failures) {
    const instead = emptied ? '; it runs the empty configuration' : '';
    call.say(`${appId} failed at ${at}: ${error || 'no reason given'}${instead}`);
  }
  for (const { appId, error, at } of rollout.unhealthy)
    call.say(`${appId} is unhealthy since ${at}: ${error || 'no reason given'}`);
  if (wait && rollout.pending > 0)
    throw new CommandFault(`${rollout.pending} devices are still pending after ${timeout} s.`);
  if (rollout.failed > 0) throw new CommandFault(`${rollout.failed} devices could not apply it.`, EXIT.bad);
  if (wait && rollout.stale > 0)
    call.say(`${rollout.stale} devices have been silent for long, and were not waited for.`);
}

export interface RolloutListOptions {
  readonly by: ListRolloutsQuery['by'];
  /** So many accounts, 1 to 20. */
  readonly top: number;
}

/**
 * `muster rollout list`: the accounts with the most daemons that failed, are pending or silent, as the leader counted
 * them last.
 * @throws CommandFault, ConfigError, MusterError
 */
export async function rolloutList(call: Invocation, { by, top }: RolloutListOptions): Promise<void> {
  const found = await operatorOf(call).listRollouts({ by, top }, requestOf(call));
  await printList(call, {
    columns: COLUMNS,
    id: ({ accountId }: Listed): string => accountId,
    items: found.accounts,
    document: (accounts) => ({ ...found, accounts }),
    none: found.countedAt === null ? 'No leader has counted the rollouts yet.' : 'No account has such daemons.',
  });
}

/**
 * Looks until no device is pending, or the time is up. An outage within it is waited out; after one that outlasts it,
 * what was seen before is the last that is known.
 */
async function settled(
  { clock, say }: Invocation,
  read: (timeoutMs: number) => Promise<Rollout>,
  forMs: number,
  signal: AbortSignal,
): Promise<Rollout> {
  const end = clock.monotonic() + forMs;
  let seen: Rollout | undefined;
  for (let told = ''; ;) {
    const rollout = await read(Math.max(LOOK_EVERY_MS, end - clock.monotonic())).catch((error: unknown) => {
      // A Retry-After beyond the end ends a call at once, long before: then nobody has waited for that long.
      const isEarly = clock.monotonic() < end - LOOK_EVERY_MS;
      if (!seen || isEarly || !(error instanceof MusterError) || error.code !== 'timeout') throw error;
      say(`The last look failed, and these are the counts of the one before: ${error.message}`);
      return seen;
    });
    if (rollout === seen) return rollout;
    seen = rollout;
    const { applied, devices, revision, pending } = rollout;
    if (pending === 0 || clock.monotonic() >= end) return rollout;
    const words = `${applied} of ${devices} devices have applied revision ${revision}, ${pending} are pending.`;
    if (words !== told) say((told = words));
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
}

async function onlyOne(operator: OperatorClient, options: CallOptions): Promise<{ readonly accountId: string }> {
  const { accounts } = await operator.listAccounts({ limit: 2 }, options);
  const [account] = accounts;
  if (!account) throw new CommandFault('There is no account.', EXIT.notFound);
  if (accounts.length === 1) return account;
  throw new CommandFault('There are several accounts: say which with --account.', EXIT.usage);
}
