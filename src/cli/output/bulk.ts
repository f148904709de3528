import { CommandFault } from '../terminal/exit.ts';
import type { Invocation } from '../terminal/invocation.ts';
import { renderTable } from './table.ts';

/** One thing of many that failed. */
export interface Failure {
  /** The id or the name of the thing. */
  readonly what: string;
  readonly why: string;
}

export interface BulkResult {
  /** The noun and what happened, as in `apps created`. */
  readonly what: string;
  readonly done: number;
  readonly failures: readonly Failure[];
}

/** A screenful; a list of a thousand would hide the rest. */
const ROWS_MAX = 20;

/**
 * Ends a command over many things: says how many are done, and which failed and why.
 * @throws CommandFault where one failed; the table is on stderr by then, also with `--quiet`
 */
export async function endBulk({ terminal, say, clock }: Invocation, result: BulkResult): Promise<void> {
  const { what, done, failures } = result;
  const all = done + failures.length;
  if (failures.length === 0) return say(`${done} ${what}.`);
  const { columns, colours } = terminal.stderr;
  const shape = [
    { head: 'FAILED', of: ({ what }: Failure) => what },
    { head: 'WHY', kind: 'text', of: ({ why }: Failure) => why },
  ] as const;
  await terminal.stderr.write(renderTable(shape, failures.slice(0, ROWS_MAX), { columns, colours, now: clock.now() }));
  const more = failures.length > ROWS_MAX ? `, ${failures.length - ROWS_MAX} of them not listed` : '';
  throw new CommandFault(`${done} of ${all} ${what}; ${failures.length} failed${more}.`);
}
