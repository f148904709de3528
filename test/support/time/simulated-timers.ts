import { vi } from 'vitest';

export interface SimulatedTimers extends Disposable {
  /** Moves both clocks on by `ms`, and runs what is due by then in its order. */
  advance(ms: number): Promise<void>;
}

/**
 * From here to the end of the block, `setTimeout`, `setInterval`, `Date` and `performance.now` of this process stand
 * still until the test advances them; sockets, files, workers and `Clock.sleep` of the system's clock go on. A test
 * first waits for the event after which the time counts (a call that has reached the store), and then advances.
 */
export function simulatedTimers(): SimulatedTimers {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  });
  return {
    advance: async (ms) => {
      await vi.advanceTimersByTimeAsync(ms);
    },
    [Symbol.dispose]: () => void vi.useRealTimers(),
  };
}
