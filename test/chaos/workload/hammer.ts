import { listApps } from '../calls.ts';
import { newOwner, REPLICAS, type Job } from './worker.ts';

const PAUSE_MS = 100;
/** Until it is refused for the first time: a minute's share is spent soon, and what refused it can be judged. */
const SPRINT_PER_SECOND = 100;

/** An account that asks for more than its 600 a minute, through all replicas: `perSecond` requests all the time. */
export const hammer =
  (perSecond: number): Job =>
  async (worker) => {
    const owner = await newOwner(worker);
    if (!owner) return;
    let due = 0;
    for (let isRefused = false; !worker.signal.aborted; await worker.pace(PAUSE_MS)) {
      due += ((isRefused ? perSecond : Math.max(perSecond, SPRINT_PER_SECOND)) * PAUSE_MS) / 1000;
      const burst = Math.floor(due);
      due -= burst;
      const asked = Array.from({ length: burst }, (_, n) => worker.send(listApps(owner), n % REPLICAS));
      const replies = await Promise.all(asked);
      isRefused ||= replies.some(({ status }) => status === 429);
    }
  };
