import { appOf, createApp, issueCode } from '../cluster/calls.ts';
import { insist, newOwner, REPLICAS, type Job } from './worker.ts';

const PAUSE_MS = 400;

/**
 * Codes of the same apps, one after the other, through all replicas at once. Of all mutations it is the one that is as
 * welcome twice as once: what is carried out again after a lost answer shows here, where others would find all done.
 */
export const codes: Job = async (worker) => {
  const owner = await newOwner(worker);
  if (!owner) return;
  const apps: string[] = [];
  for (let number = 0; number < REPLICAS; number += 1) {
    const created = await insist(worker, () => createApp(owner, number));
    if (created) apps.push(appOf(created.body).app);
  }
  for (let round = 0; !worker.signal.aborted; round += 1) {
    await Promise.all(apps.map((app, n) => worker.send(issueCode(owner, app), (round + n) % REPLICAS)));
    await worker.pace(PAUSE_MS);
  }
};
