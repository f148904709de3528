import type { Clock } from '../time/clock.ts';
import type { Log } from '../log.ts';
import { StoreUnavailable, type Store } from '../store/port.ts';

export interface PatienceDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the process is asked to end. */
  readonly signal?: AbortSignal | undefined;
}

/** What is started together with its etcd is there first. Whoever restarts it after that has a back-off of its own. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 1000;

/**
 * Opens the store of a service that starts; one that does not answer yet is waited for, half a minute at most.
 * @throws StoreUnavailable when it was in vain, or is of another kind; whatever else `open` throws, at once
 */
export async function patientlyOpened(open: () => Promise<Store>, deps: PatienceDeps): Promise<Store> {
  const { clock, log, signal } = deps;
  const end = clock.monotonic() + PATIENCE_MS;
  for (let tries = 1; ; tries += 1) {
    try {
      return await open();
    } catch (error) {
      if (!isSilent(error) || signal?.aborted === true || clock.monotonic() + PAUSE_MS > end) throw error;
      if (tries === 1) log.warn({ err: error, patienceMs: PATIENCE_MS }, 'the store does not answer yet, will wait');
      await clock.sleep(PAUSE_MS, signal);
    }
  }
}

const isSilent = (error: unknown): boolean =>
  error instanceof StoreUnavailable && (error.reason === 'unreachable' || error.reason === 'timeout');
