import type { RateLimits } from '#client';
import { operatorOf, requestOf } from '../connection/clients.ts';
import { throughOutages } from '../connection/through-outages.ts';
import type { Column } from '../output/columns.ts';
import { printList, refuseEndlessDocument } from '../output/print.ts';
import { CommandFault } from '../terminal/exit.ts';
import type { Invocation } from '../terminal/invocation.ts';
import { onInterruption } from '../terminal/signals.ts';

export interface LimitsOptions {
  /** So many accounts, 1 to 20. */
  readonly top: number;
  readonly watch: boolean;
  /** Seconds between two looks. */
  readonly every?: number;
}

type Limited = RateLimits['accounts'][number];
/** An account has a row for each key and operation that was refused, or one without. */
type Row = Limited & { readonly by?: Limited['refusedBy'][number] };

const COLUMNS: readonly Column<Row>[] = [
  { head: 'ACCOUNT', field: 'accountId' },
  { head: 'FILL', of: ({ fill }) => `${(fill * 100).toFixed(0)} %`, kind: 'number' },
  {
    head: 'REFUSED',
    field: 'refused',
    kind: 'number',
    tone: ({ refused }) => (refused > 0 ? 'bad' : undefined),
  },
  { head: 'LIMITED SINCE', field: 'limitedSince', kind: 'time' },
  { head: 'LIFTS AT', field: 'liftsAt', kind: 'time' },
  { head: 'KEY', name: 'keyId', of: ({ by }) => by?.keyId },
  { head: 'OPERATION', of: ({ by }) => by?.operation },
  { head: 'OF IT', of: ({ by }) => by?.refused, kind: 'number' },
];

const EVERY_SECONDS = 5;
/** Puts the cursor to the upper left, and clears what is below. */
const CLEAR = '\u001b[H\u001b[J';

/**
 * `muster limits`: the accounts that are limited, or near it, and by which key and operation; with `--watch` again and
 * again, until somebody stops the command.
 * @throws CommandFault, ConfigError, MusterError
 */
export async function limits(call: Invocation, { top, watch, every = EVERY_SECONDS }: LimitsOptions): Promise<void> {
  if (watch) refuseEndlessDocument(call, '--watch');
  using interruption = onInterruption(new CommandFault('interrupted'));
  const { signal } = interruption;
  const operator = operatorOf(call, { patient: watch });
  const read = () => operator.readRateLimits({ top }, { ...requestOf(call), signal });
  if (!watch) return await print(call, await read());
  if (call.globals.output !== 'table') return void (await printList(call, { ...SHAPE, items: itemsOfLooks() }));
  for await (const found of looks()) {
    if (call.terminal.stdout.isTTY) await call.terminal.stdout.write(CLEAR);
    await print(call, found);
  }

  async function* looks(): AsyncGenerator<RateLimits, void> {
    while (!signal.aborted) {
      const found = await throughOutages(read, { clock: call.clock, signal, say: call.say }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      if (!found) return;
      yield found;
      await call.clock.sleep(every * 1000, signal);
    }
  }
  /** One list over all looks: csv has its titles once. */
  async function* itemsOfLooks(): AsyncGenerator<Row, void> {
    for await (const found of looks()) yield* itemsOf(call, found);
  }
}

const SHAPE = { columns: COLUMNS, id: ({ accountId }: Row): string => accountId };

async function print(call: Invocation, found: RateLimits): Promise<void> {
  await printList<Row>(call, {
    ...SHAPE,
    items: itemsOf(call, found),
    document: (accounts) => ({ ...found, accounts }),
    none: 'No account is limited, and none has used a quarter of its requests.',
  });
}

function itemsOf({ globals: { output } }: Invocation, { accounts }: RateLimits): readonly Row[] {
  return output === 'table' || output === 'csv' ? accounts.flatMap(rowsOf) : accounts;
}

const rowsOf = (account: Limited): readonly Row[] =>
  account.refusedBy.length === 0 ? [account] : account.refusedBy.map((by) => ({ ...account, by }));
