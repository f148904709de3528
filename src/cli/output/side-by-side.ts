import { MusterError } from '#client';
import { inParallel } from '../../concurrency/in-parallel.ts';
import { CommandFault, wordsOf } from '../terminal/exit.ts';
import type { Failure } from './bulk.ts';

interface SideBySide<Item> {
  readonly items: readonly Item[];
  /** The id or the name of a thing, for the table of failures. */
  readonly what: (item: Item) => string;
  readonly work: (item: Item) => Promise<void>;
  /** The codes of refusals that concern one thing alone. After any other error no further thing is begun. */
  readonly ofOneAlone: readonly string[];
}

/** Requests in flight: the client's pace is the bound in the long run, and this the bound of a burst. */
const AT_ONCE = 16;
const NOT_TRIED = { why: 'not tried, after what failed before it' };

/**
 * Does the work on many things, some at a time.
 * @returns what failed, in the order of the things; those that were not begun are among them
 * @throws what is neither the service's refusal nor meant for people, once nothing is under way any more
 */
export async function sideBySide<Item>({ items, what, work, ofOneAlone }: SideBySide<Item>): Promise<Failure[]> {
  const failed = new Map<number, Pick<Failure, 'why' | 'error'>>();
  const done = new Set<number>();
  let stopped: { readonly error: unknown } | undefined;
  await inParallel(items.entries(), { atOnce: AT_ONCE }, async ([at, item]) => {
    if (stopped) return;
    try {
      await work(item);
      done.add(at);
    } catch (error) {
      failed.set(at, { why: wordsOf(error), error });
      if (!(error instanceof MusterError && ofOneAlone.includes(error.code))) stopped ??= { error };
    }
  });
  if (stopped && !(stopped.error instanceof MusterError || stopped.error instanceof CommandFault)) throw stopped.error;
  return items.flatMap((item, at) => (done.has(at) ? [] : [{ what: what(item), ...(failed.get(at) ?? NOT_TRIED) }]));
}
