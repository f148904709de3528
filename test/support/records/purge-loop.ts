import type { Term } from '../../../src/controller/leader.ts';
import type { Reconciler } from '../../../src/controller/loop.ts';
import { purgeReconciler, type PurgeDeps } from '../../../src/controller/purge.ts';
import { createCompactionSchedule } from '../../../src/domain/history/compaction.ts';
import { createRevisionPins } from '../../../src/domain/history/revision-pins.ts';
import { parseKeyRing } from '../../../src/domain/keys/key-ring.ts';
import type { Clock } from '../../../src/time/clock.ts';
import { KEY_FILE_TEXT } from '../service/muster.ts';

interface PurgeLoopDeps extends Pick<PurgeDeps, 'store' | 'metrics' | 'compacts'> {
  readonly clock: Clock;
}

/** The purge loop of one term, with the services that the composition root makes for it. */
export function purgeLoop({ clock, ...deps }: PurgeLoopDeps, term: Term): Reconciler {
  const schedule = createCompactionSchedule(deps.store, clock, term.fence);
  const pins = createRevisionPins(deps.store, clock);
  return purgeReconciler({ ...deps, clock, keyRing: parseKeyRing(KEY_FILE_TEXT), schedule, pins }, term);
}
