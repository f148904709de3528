import { ApiError } from './client.ts';

/* Many requests for one wish of a person: a few at a time, at the pace that the service asks for. */

const AT_ONCE = 4;
const ATTEMPTS_MAX = 5;

/** What became of the items. */
interface Outcome<Item, Result> {
  readonly done: readonly { readonly item: Item; readonly result: Result }[];
  readonly failed: readonly { readonly item: Item; readonly error: unknown }[];
  /** Those that were not begun, because the signal came before. */
  readonly untried: readonly Item[];
}

/**
 * Runs the work for each item. One that is refused because there are too many requests is tried again after the time
 * that the service gives.
 * @param onProgress is called with the number of items that are through
 * @param signal stops it: what is under way comes to its end, and nothing more is begun
 */
export async function forMany<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
  onProgress: (through: number) => void,
  signal?: AbortSignal,
): Promise<Outcome<Item, Result>> {
  const done: { item: Item; result: Result }[] = [];
  const failed: { item: Item; error: unknown }[] = [];
  const untried: Item[] = [];
  const left = items.values();
  const worker = async (): Promise<void> => {
    for (const item of left) {
      if (signal?.aborted === true) {
        untried.push(item);
        continue;
      }
      try {
        done.push({ item, result: await patiently(() => work(item), signal) });
      } catch (error) {
        failed.push({ item, error });
      }
      onProgress(done.length + failed.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { done, failed, untried };
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
export const isRefused = (error: unknown): boolean => error instanceof ApiError && error.status === 400;
