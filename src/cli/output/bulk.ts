import { MusterError } from '#client';
import { CommandFault, EXIT, exitCodeOf, requireWholeStdout } from '../terminal/exit.ts';
import type { Invocation } from '../terminal/invocation.ts';
import type { Screen } from '../terminal/terminal.ts';
import type { Column } from './columns.ts';
import { renderTable } from './table.ts';

/** One thing of many that failed. */
export interface Failure {
  /** The id or the name of the thing. */
  readonly what: string;
  readonly why: string;
  /** Undefined where it was not tried. */
  readonly error?: unknown;
}

interface BulkResult {
  /** The noun and what happened, as in `apps created`. */
  readonly what: string;
  readonly done: number;
  readonly failures: readonly Failure[];
}

/** A screenful; a list of a thousand would hide the rest. */
const ROWS_MAX = 20;

const FAILED: readonly Column<Failure>[] = [
  { head: 'FAILED', of: ({ what }) => what },
  { head: 'WHY', kind: 'text', field: 'why' },
];

const isUnauthorised = ({ error }: Pick<Failure, 'error'>): boolean => exitCodeOf(error) === EXIT.notAuthorised;

/** Whether the service did not take the key, and has carried nothing out. */
export const isRefusedAsAWhole = (failures: readonly Failure[]): boolean =>
  failures.some(isUnauthorised) &&
  failures.every(
    ({ error }) =>
      error === undefined || (error instanceof MusterError && isUnauthorised({ error }) && !error.mayBeDone),
  );

/**
 * Ends a command over many things: prints those that are done, says how many they are, and which failed and why.
 * @param print writes to stdout; where nobody reads that to its end, which failed is told all the same
 * @throws CommandFault where one failed, with exit code 5 where the service did not take the key; the table is on
 * stderr by then, also with `--quiet`
 */
export async function endBulk(
  { terminal, say, clock }: Invocation,
  { what, done, failures }: BulkResult,
  print: () => Promise<unknown>,
): Promise<void> {
  if (failures.length === 0) {
    say(`${done} ${what}.`);
    return void (await print());
  }
  const table = ({ columns, colours }: Pick<Screen, 'columns' | 'colours'>): string =>
    renderTable(FAILED, failures.slice(0, ROWS_MAX), { columns, colours, now: clock.now() });
  const more = failures.length > ROWS_MAX ? `, ${failures.length - ROWS_MAX} of them not listed` : '';
  const words = `${done} of ${done + failures.length} ${what}; ${failures.length} failed${more}.`;
  requireWholeStdout(`${words}\n${table({ columns: terminal.stderr.columns, colours: false }).trimEnd()}`);
  await print();
  await terminal.stderr.write(table(terminal.stderr));
  throw new CommandFault(words, failures.some(isUnauthorised) ? EXIT.notAuthorised : EXIT.failed);
}
