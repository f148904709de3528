import { listApps } from '../cluster/calls.ts';
import { newOwner, REPLICAS, type Job } from './worker.ts';

const PAUSE_MS = 100;
/** The pace until the first refusal: a minute's share is soon spent, and the refusal can be judged. */
const SPRINT_PER_SECOND = 100;
/** So many requests at once after slow answers: it makes up for the time, so that it stays above its share. */
const BURST_MAX = 60;

/** An account that asks for more than its 600 a minute, through all replicas: `perSecond` requests all the time. */
export const hammer =
  (perSecond: number): Job =>
  async (worker) => {
    const { recorder, signal } = worker;
    const owner = await newOwner(worker);
    if (!owner) return;
    let due = 0;
    let before = recorder.now();
    for (let isRefused = false; !signal.aborted; await worker.pace(PAUSE_MS)) {
      const now = recorder.now();
      const rate = isRefused ? perSecond : Math.max(perSecond, SPRINT_PER_SECOND);
      due = Math.min(BURST_MAX, due + (rate * (now - before)) / 1000);
      before = now;
      const burst = Math.floor(due);
      due -= burst;
      const asked = Array.from({ length: burst }, (_, n) => worker.send(listApps(owner), n % REPLICAS));
      const replies = await Promise.all(asked);
      isRefused ||= replies.some(({ status }) => status === 429);
    }
  };
