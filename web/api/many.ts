import { ApiError } from './client.ts';

/* Many requests for one wish of a person: a few at a time, at the pace that the service asks for. */

const AT_ONCE = 4;
const ATTEMPTS_MAX = 5;

/** What became of the items. */
export interface Outcome<Item, Result> {
  readonly done: readonly { readonly item: Item; readonly result: Result }[];
  readonly failed: readonly { readonly item: Item; readonly error: unknown }[];
}

/**
 * Runs the work for each item. One that is refused because there are too many requests is tried again after the time that
 * the service gives.
 * @param onProgress is called with the number of items that are through
 */
export async function forMany<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
  onProgress: (through: number) => void,
): Promise<Outcome<Item, Result>> {
  const done: { item: Item; result: Result }[] = [];
  const failed: { item: Item; error: unknown }[] = [];
  const left = items.values();
  const worker = async (): Promise<void> => {
    for (const item of left) {
      try {
        done.push({ item, result: await patiently(() => work(item)) });
      } catch (error) {
        failed.push({ item, error });
      }
      onProgress(done.length + failed.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { done, failed };
}

async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const seconds = error instanceof ApiError && error.status === 429 ? error.retryAfterSeconds : undefined;
      if (seconds === undefined || attempt === ATTEMPTS_MAX) throw error;
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    }
  }
}
