import { appOf, createApp, deleteApp, listApps, type Owner } from '../cluster/calls.ts';
import { isOk } from '../judgement/history.ts';
import { REPLICAS, type Job } from './worker.ts';

const AT_ONCE = 9;
const DELETED = 4;
const PAUSE_MS = 2500;

/** An account that is nearly full, and creates through all replicas at once for its last places. */
export const capped =
  (owner: Owner): Job =>
  async (worker) => {
    for (let number = 1; !worker.signal.aborted; number += AT_ONCE) {
      const asked = Array.from({ length: AT_ONCE }, (_, n) => worker.send(createApp(owner, number + n), n % REPLICAS));
      const created = (await Promise.all(asked)).filter(isOk);
      await worker.send(listApps(owner));
      const gone = created.slice(0, DELETED).map(({ body }) => worker.send(deleteApp(owner, appOf(body).app)));
      await Promise.all(gone);
      await worker.pace(PAUSE_MS);
    }
  };
