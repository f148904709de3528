import { MusterError } from '#client';
import type { Clock } from '../../time/clock.ts';

/** A command that goes on until somebody stops it asks again so long after the time of a call was up. */
const PAUSE_MS = 2000;

export interface Waiting {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
}

/**
 * Reads by a patient client, and waits an outage out, whatever it takes. It says so each time that a call's time is up:
 * while attempts hang, none of the client's own waits is long enough to be told.
 * @throws MusterError where it is none, such as `invalid_token`, and once the signal has aborted
 */
export async function throughOutages<Answer>(
  read: () => Promise<Answer>,
  { clock, signal, say }: Waiting,
): Promise<Answer> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (signal.aborted || !(error instanceof MusterError) || error.code !== 'timeout') throw error;
      say(`${error.message} Trying again in ${PAUSE_MS / 1000} s.`);
    }
    await clock.sleep(PAUSE_MS, signal);
  }
}
