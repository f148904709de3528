import { GATHER_MS } from '../failures/answer-rates.ts';
import { isFalse, type ConditionState } from './conditions.ts';
import type { Answer } from './kind.ts';
import type { Resource } from './resource.ts';

/* The words of a resource that is held back, since others change again and again what it describes. */

/** The reason of `Ready=False` while Muster holds back. */
export const WRITE_CONFLICT = 'WriteConflict';

type Described = Pick<Resource<unknown, unknown>, 'conditions'>;

const readyOf = ({ conditions }: Described) => conditions.find(({ type }) => type === 'Ready');

/** Whether the resource says of itself that it is held back. */
export const isContended = (resource: Described): boolean => readyOf(resource)?.reason === WRITE_CONFLICT;

/**
 * The condition `Ready` while a write waits; undefined for a header that is gathered: the wait is short, and what the
 * status says is true until it ends.
 * @param writersOf the other programs that wrote a Secret
 */
export function pausing(
  resource: Described,
  { cause, secret }: Answer,
  waitMs: number,
  writersOf: (secret: string) => readonly string[],
): ConditionState | undefined {
  if (cause === 'header' && waitMs <= GATHER_MS) return undefined;
  if (cause === 'spec') {
    return isFalse('Ready', 'Progressing', 'The spec changes faster than it is carried out: at most every 5 seconds.');
  }
  if (secret === undefined) return contended(resource, 'What this resource describes', '');
  return contended(resource, `The Secret ${secret}`, named(writersOf(secret)) || UNNAMED);
}

/** The API server notes what admission changes as written by whoever asked, which is Muster. */
const UNNAMED = ' (by no other field manager: it is deleted, or an admission policy or webhook changes it)';

const RATE = 'three times at once, then once a minute, and once in 10 minutes in the end';

/**
 * The words stay while the conflict lasts: a writer that changes its name would have a status written each time. They
 * speak of what was, since the other writer may have stopped while Muster waits for its next turn.
 */
function contended(resource: Described, what: string, writers: string): ConditionState {
  const lead = `${what} was changed by others again and again`;
  const told = isContended(resource) ? readyOf(resource)?.message : undefined;
  if (told?.startsWith(lead)) return isFalse('Ready', WRITE_CONFLICT, told);
  const message =
    `${lead}${writers}. Muster puts it right ${RATE}; where the other writer has stopped, the next time is the last. ` +
    'Otherwise stop that writer.';
  return isFalse('Ready', WRITE_CONFLICT, message);
}

/** The other programs in parentheses, before a full stop. */
export function named(writers: readonly string[]): string {
  return writers.length === 0 ? '' : ` (field managers: ${writers.map((writer) => `“${writer}”`).join(', ')})`;
}
