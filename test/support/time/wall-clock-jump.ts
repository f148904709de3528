import { vi } from 'vitest';

/**
 * Sets the wall clock (`Date`) on or back, as an administrator or a time server does. Timers and the monotonic clock
 * take no notice. Call it while timers are simulated.
 */
export function jumpWallClock(ms: number): void {
  const monotonic = performance.now();
  vi.setSystemTime(Date.now() + ms);
  if (performance.now() !== monotonic) throw new Error('the monotonic clock jumped with the wall clock');
}
