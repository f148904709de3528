import {
  appOf,
  createApp,
  enroll,
  ownCredential,
  poll,
  purgeOtel,
  readOtel,
  writeOtel,
  type Owner,
} from '../cluster/calls.ts';
import { isOk } from '../judgement/history.ts';
import { insist, newOwner, type Job, type Worker } from './worker.ts';

const PAUSE_MS = 200;
const PURGE_SHARE = 0.1;

/** The collector's address and header, set and purged, read by the owner and received by a daemon. */
export const configs: Job = async (worker) => {
  const owner = await newOwner(worker);
  const daemon = owner && (await enrolled(worker, owner));
  if (!owner || !daemon) return;
  for (let number = 1; !worker.signal.aborted; number += 1) {
    await worker.send(worker.random() < PURGE_SHARE ? purgeOtel(owner) : writeOtel(owner, number));
    await worker.send(poll(owner, daemon.app, daemon.own));
    await worker.send(readOtel(owner));
    await worker.pace(PAUSE_MS);
  }
};

/** An app whose daemon is enrolled; undefined when the work ended before. */
export async function enrolled(
  worker: Worker,
  owner: Owner,
): Promise<{ app: string; own: ReturnType<typeof ownCredential> } | undefined> {
  const created = await insist(worker, () => createApp(owner, 0));
  if (!created) return undefined;
  const app = appOf(created.body);
  const own = ownCredential();
  // The same daemon with the same code again: a lost answer burns nothing.
  const done = await insist(worker, () => enroll(owner, app, own));
  return done && isOk(done) ? { app: app.app, own } : undefined;
}
