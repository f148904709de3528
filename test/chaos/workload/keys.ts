import { createKey, disableAccount, listApps, revokeKey, type Owner } from '../cluster/calls.ts';
import { isOk } from '../judgement/history.ts';
import { insist, newOwner, REPLICAS, type Job, type Worker } from './worker.ts';

const PAUSE_MS = 300;
/** A request whose outcome is unknown may be carried out late: after some rounds another account begins anew. */
const ROUNDS = 10;

/** Creates and revokes API keys, and disables and enables accounts; after each it asks every replica. */
export const keys: Job = async (worker) => {
  while (!worker.signal.aborted) {
    const owner = await newOwner(worker);
    if (owner) await rounds(worker, owner);
  }
};

async function rounds(worker: Worker, owner: Owner): Promise<void> {
  for (let round = 0; round < ROUNDS && !worker.signal.aborted; round += 1) {
    await keyLife(worker, owner);
    await worker.pace(PAUSE_MS);
    await disabling(worker, owner);
    await worker.pace(PAUSE_MS);
  }
}

async function keyLife(worker: Worker, owner: Owner): Promise<void> {
  const created = await worker.send(createKey(owner.account));
  if (!isOk(created)) return;
  const other = { ...owner, key: String(created.body['keyId']), apiKey: String(created.body['apiKey']) };
  await everywhere(worker, other);
  await worker.send(revokeKey(other));
  await everywhere(worker, other);
}

async function disabling(worker: Worker, owner: Owner): Promise<void> {
  await worker.send(disableAccount(owner, true));
  await everywhere(worker, owner);
  await insist(worker, () => disableAccount(owner, false));
  await everywhere(worker, owner);
}

async function everywhere(worker: Worker, owner: Owner): Promise<void> {
  await Promise.all(Array.from({ length: REPLICAS }, (_, replica) => worker.send(listApps(owner), replica)));
}
