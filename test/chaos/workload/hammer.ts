import { listApps } from '../calls.ts';
import { newOwner, REPLICAS, type Job } from './worker.ts';

const PAUSE_MS = 100;

/** An account that asks for more than its 600 a minute, through all replicas: `perSecond` requests all the time. */
export const hammer =
  (perSecond: number): Job =>
  async (worker) => {
    const owner = await newOwner(worker);
    if (!owner) return;
    let due = 0;
    while (!worker.signal.aborted) {
      due += (perSecond * PAUSE_MS) / 1000;
      const burst = Math.floor(due);
      due -= burst;
      await Promise.all(Array.from({ length: burst }, (_, n) => worker.send(listApps(owner), n % REPLICAS)));
      await worker.pace(PAUSE_MS);
    }
  };
