import type { FakeClock } from './fake-clock.ts';
import { until } from './until.ts';

/** Each look lets time pass, so a pause between two makes nothing sooner. */
const LOOKS = { atOnce: 200, everyMs: 5 };

/**
 * Resolves once the condition holds, and lets time pass on the clock of a service before each further look. How much
 * passes depends on how fast the machine is: what is waited for must stay as it is, or be brought about again.
 */
export const untilPassing = (clock: FakeClock, holds: () => Promise<boolean>, stepMs = 1000): Promise<void> =>
  until(async () => {
    if (await holds()) return true;
    clock.advance(stepMs);
    return false;
  }, LOOKS);
