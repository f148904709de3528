import { ApiError, newIdempotencyKey } from './client.ts';

/* One wish of a person for many items: batches, one after the other, at the pace that the service asks for. */

const ATTEMPTS_MAX = 5;
/** The most items of one request; the service takes no more (P15). */
const BATCH_MAX = 100;

/** Items that go in one request. The key makes it the same request however often it is sent. */
export interface Batch<Item> {
  readonly items: readonly Item[];
  readonly key: string;
}

/** The items in batches that the service takes. */
export const batchesOf = <Item>(items: readonly Item[]): readonly Batch<Item>[] =>
  Array.from({ length: Math.ceil(items.length / BATCH_MAX) }, (_, index) => ({
    items: items.slice(index * BATCH_MAX, (index + 1) * BATCH_MAX),
    key: newIdempotencyKey(),
  }));

/** The service has refused this item, and has not changed it. */
export class ItemRefused extends Error {
  override readonly name = 'ItemRefused';
  /** Tells the refusal apart, such as `not_found`. */
  readonly code: string;

  constructor({ code, message }: { readonly code: string; readonly message: string }) {
    super(message);
    this.code = code;
  }
}

/** Refusals that stay however often the item is sent: it is gone, or the account is full. */
const FINAL: ReadonlySet<string> = new Set(['not_found', 'limit_reached']);

export const isFinal = (error: unknown): boolean => error instanceof ItemRefused && FINAL.has(error.code);

/** The batches without these items; those that keep all of theirs go again as they were. */
export const without = <Item>(batches: readonly Batch<Item>[], gone: ReadonlySet<Item>): readonly Batch<Item>[] =>
  batches
    .map(({ items, key }) => ({ items: items.filter((item) => !gone.has(item)), key }))
    .filter(({ items }) => items.length > 0);

/** What became of the items. */
interface Outcome<Item, Result> {
  readonly done: readonly { readonly item: Item; readonly result: Result }[];
  readonly failed: readonly { readonly item: Item; readonly error: unknown }[];
  /** The batches of the next attempt: those without an answer as they were, and what was refused or not begun. */
  readonly left: readonly Batch<Item>[];
}

/**
 * Runs the batches. One that is refused because there are too many requests is tried again after the time that the
 * service gives.
 * @param work sends a batch, and returns the result or the refusal of each of its items in their order
 * @param onProgress is called with the number of items that are through
 * @param signal stops it: what is under way comes to its end, and nothing more is begun
 */
export async function inBatches<Item, Result>(
  batches: readonly Batch<Item>[],
  work: (batch: Batch<Item>) => Promise<readonly (Result | ItemRefused)[]>,
  onProgress: (through: number) => void,
  signal?: AbortSignal,
): Promise<Outcome<Item, Result>> {
  const done: { item: Item; result: Result }[] = [];
  const failed: { item: Item; error: unknown }[] = [];
  const left: Batch<Item>[] = [];
  for (const batch of batches) {
    if (signal?.aborted === true) {
      left.push(batch);
      continue;
    }
    try {
      const results = await patiently(() => work(batch), signal);
      const refused: Item[] = [];
      for (const [index, item] of batch.items.entries()) {
        const result = results[index];
        if (result instanceof ItemRefused) {
          failed.push({ item, error: result });
          refused.push(item);
        } else if (result !== undefined) done.push({ item, result });
      }
      left.push(...batchesOf(refused));
    } catch (error) {
      for (const item of batch.items) failed.push({ item, error });
      left.push(batch);
    }
    onProgress(done.length + failed.length);
  }
  return { done, failed, left };
}

/**
 * Runs the work, and again after the time that the service gives where it is refused because there are too many
 * requests.
 * @param onWait is called with the seconds before each wait; one that it does not want ends the work with the refusal
 */
export async function patiently<Result>(
  work: () => Promise<Result>,
  signal?: AbortSignal,
  onWait: (seconds: number) => boolean = () => true,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const seconds = error instanceof ApiError && error.status === 429 ? error.retryAfterSeconds : undefined;
      if (seconds === undefined || attempt === ATTEMPTS_MAX || !onWait(seconds)) throw error;
      await paused(seconds * 1000, signal);
      if (signal?.aborted === true) throw error;
    }
  }
}

/** Waits for the time, or for the signal where that comes first. */
function paused(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
    if (signal?.aborted === true) end();
  });
}

/**
 * Whether the service judged a request and refused it: nothing was made, so that another one may have other content. Of
 * every other failure of a create the next attempt must be the same request with the same key.
 */
export const isRefused = (error: unknown): boolean =>
  error instanceof ItemRefused || (error instanceof ApiError && error.status === 400);
