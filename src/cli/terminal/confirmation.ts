import { CommandFault, EXIT } from './exit.ts';
import { printable } from './printable.ts';
import type { Terminal } from './terminal.ts';

interface Question {
  /** The action, as a sentence without its end: `Delete 3 apps`. */
  readonly what: string;
  /** How many things it concerns; with 0 nothing is asked. */
  readonly count: number;
  /** The person has said so already, with `--yes`. */
  readonly yes: boolean;
}

/** From here on the person types the number: a `y` is typed too fast for so many. */
const TYPED_FROM = 20;

/**
 * Goes on only where a person has agreed.
 * @throws CommandFault with exit code 2 where nobody can be asked, and 1 where the answer is no
 */
export async function confirmed({ what, count, yes }: Question, { ask }: Pick<Terminal, 'ask'>): Promise<void> {
  if (yes || count === 0) return;
  const does = printable(what);
  if (!ask) throw new CommandFault(`${does}? Nobody is there to be asked: say so with --yes.`, EXIT.usage);
  const isMany = count >= TYPED_FROM;
  const answer = (await ask(isMany ? `${does}? Type ${count} to go on: ` : `${does}? [y/N] `)).trim().toLowerCase();
  if (isMany ? answer === String(count) : answer === 'y' || answer === 'yes') return;
  throw new CommandFault('Nothing was done.');
}
