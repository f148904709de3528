import { FILES_EVERY_MS } from '../../../src/service/files/watched-file.ts';
import type { FakeClock } from '../time/fake-clock.ts';
import { until } from '../time/until.ts';
import { metric } from '../service/daemon.ts';
import type { Muster } from '../service/muster.ts';

/** The number of looks at the files of the configuration that have ended; the service sleeps between two looks. */
const looksOf = (muster: Muster): Promise<number> =>
  metric(muster, 'muster_loop_duration_seconds_count{loop="files",result="ok"}');

/** Waits for the look with which the service begins. */
export const firstLook = (muster: Muster): Promise<void> => until(async () => (await looksOf(muster)) > 0);

/**
 * Looks at the files once more. The clock stands still until that look has ended: a pause that began after the clock
 * was moved would last as long again.
 */
export async function lookAtFiles(muster: Muster, clock: FakeClock, ms = FILES_EVERY_MS): Promise<void> {
  await firstLook(muster);
  const before = await looksOf(muster);
  clock.advance(ms);
  await until(async () => (await looksOf(muster)) > before);
}
