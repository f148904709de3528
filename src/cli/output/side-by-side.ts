import { MusterError } from '#client';
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
  const left = items.entries();
  const failed = new Map<number, Pick<Failure, 'why' | 'error'>>();
  const done = new Set<number>();
  let stopped: { readonly error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    // One iterator for all workers: each takes the next thing.
    for (let next = stopped ? undefined : left.next(); next?.done === false; next = stopped ? undefined : left.next()) {
      const [at, item] = next.value;
      try {
        await work(item);
        done.add(at);
      } catch (error) {
        failed.set(at, { why: wordsOf(error), error });
        if (!(error instanceof MusterError && ofOneAlone.includes(error.code))) stopped ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
  if (stopped && !(stopped.error instanceof MusterError || stopped.error instanceof CommandFault)) throw stopped.error;
  return items.flatMap((item, at) => (done.has(at) ? [] : [{ what: what(item), ...(failed.get(at) ?? NOT_TRIED) }]));
}
