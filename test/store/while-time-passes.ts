import { until } from '../support/until.ts';

/** Resolves as the work does; simulated time goes on meanwhile, and never faster than real time does. */
export async function whileTimePasses<T>(work: Promise<T>): Promise<T> {
  let isOver = false;
  const over = work.finally(() => (isOver = true));
  // Whoever waits hears of a failure below.
  over.catch(() => undefined);
  await until(() => isOver);
  return await over;
}
