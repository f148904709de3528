import { until } from '../support/until.ts';

/** Resolves as the work does; simulated time goes on meanwhile, and never faster than real time does. */
export async function whileTimePasses<T>(work: PromiseLike<T>): Promise<T> {
  let isOver = false;
  const over = Promise.resolve(work).finally(() => (isOver = true));
  // Whoever waits hears of a failure below.
  over.catch(() => undefined);
  await until(() => isOver);
  return await over;
}
