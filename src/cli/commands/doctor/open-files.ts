import {
  connectionBounds,
  fewerInWords,
  hasFew,
  listenersOf,
  OPEN_FILES_ENOUGH,
  openFilesMax,
} from '../../../service/bounds/connection-bounds.ts';
import type { Config } from '../../../config/config.ts';
import { addressOf } from '../../connection/address.ts';
import { toldBy } from '../../connection/told.ts';
import { wordsOf } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { CHECK_MS_MAX, finding, type Report } from './finding.ts';

/**
 * The service that is judged: one that responds, one that is to be started here, or one that is known to run elsewhere.
 */
interface JudgedService {
  readonly responds: boolean;
  readonly runs: boolean;
}

/** Checks how many connections the limit of open files leaves: that of the running service, or else of this shell. */
export async function checkOpenFiles(
  call: Invocation,
  config: Config,
  { responds, runs }: JudgedService,
  report: Report,
): Promise<void> {
  const files = finding('open files');
  const openMax = responds ? await ofService(call) : runs ? undefined : openFilesMax();
  if (openMax === undefined) return;
  const says = `the limit ${responds ? 'of the service' : 'here (ulimit -n)'} is ${openMax}`;
  try {
    const bounds = connectionBounds(listenersOf(config), openMax);
    const fewer = fewerInWords(bounds);
    if (fewer === undefined) report(files.ok(`${says}, enough for all connections`));
    else {
      const room = `${says}, which leaves fewer connections: ${fewer}`;
      report(hasFew(bounds) ? files.warn(`${room}; raise it, to ${OPEN_FILES_ENOUGH} for all`) : files.ok(room));
    }
  } catch (error) {
    report(files.fail(wordsOf(error)));
  }
}

async function ofService(call: Invocation): Promise<number | undefined> {
  const told = await toldBy(call, addressOf('ops', call), CHECK_MS_MAX).catch(() => undefined);
  return told?.openFilesMax;
}
