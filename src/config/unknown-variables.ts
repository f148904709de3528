import { CLIENT_VARIABLES, successorOf } from './client-variables.ts';
import { VARIABLES } from './environment.ts';

const KNOWN: readonly string[] = [...VARIABLES, ...CLIENT_VARIABLES];

/** A name within so many letters of a known one is a slip of the pen. */
const SLIP_LETTERS_MAX = 2;

/**
 * Kubernetes sets these in every pod, for each Service of the namespace whose name begins with `muster`. `…_PORT` alone
 * is told by its value: somebody may have meant it.
 */
const SERVICE_LINK =
  /^MUSTER_(?:[A-Z0-9_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/;
const PORT_LINK = /^(?:tcp|udp|sctp):\/\//;

const isServiceLink = (name: string, value: string): boolean =>
  SERVICE_LINK.test(name) || (name.endsWith('_PORT') && PORT_LINK.test(value));

interface UnknownVariable {
  readonly name: string;
  /** The known variable that is meant, most likely. */
  readonly nearest: string | undefined;
}

/** The variables that are set, begin with `MUSTER_` and mean nothing, by name. */
export function unknownVariables(env: NodeJS.ProcessEnv): readonly UnknownVariable[] {
  return Object.entries(env)
    .filter(([name, value = '']) => name.startsWith('MUSTER_') && value !== '' && !isServiceLink(name, value))
    .map(([name]) => name)
    .filter((name) => !KNOWN.includes(name))
    .toSorted()
    .map((name) => ({ name, nearest: slipOf(name) }));
}

/** The known variable that is meant by a name, most likely; the name itself where it is known. */
export const nearestOf = (name: string): string | undefined => successorOf(name) ?? slipOf(name);

function slipOf(name: string): string | undefined {
  const near = KNOWN.map((known) => ({ known, letters: lettersApart(name, known) }))
    .filter(({ letters }) => letters <= SLIP_LETTERS_MAX)
    .toSorted((one, other) => one.letters - other.letters);
  return near[0]?.known;
}

/**
 * How many letters have to be put, left out, changed or swapped with their neighbour to make the one of the other:
 * Damerau–Levenshtein in the form of optimal string alignment.
 */
function lettersApart(one: string, other: string): number {
  let [beforeLast, last]: [number[], number[]] = [[], Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const [left = 0, above = 0, corner = 0] = [row[j - 1], last[j], last[j - 1]];
      const changed = corner + (one[i - 1] === other[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      const swapped = isSwap ? (beforeLast[j - 2] ?? 0) + 1 : changed;
      row.push(Math.min(left + 1, above + 1, changed, swapped));
    }
    [beforeLast, last] = [last, row];
  }
  return last[other.length] ?? 0;
}
