import {
  createApp,
  createKey,
  disableAccount,
  listApps,
  narrowKey,
  revokeKey,
  rotateKey,
  type Owner,
} from '../cluster/calls.ts';
import type { Asked } from '../cluster/client.ts';
import { isOk } from '../judgement/history.ts';
import { insist, newOwner, REPLICAS, type Job, type Worker } from './worker.ts';

const PAUSE_MS = 300;
/** A request whose outcome is unknown may be carried out late: after some rounds another account begins anew. */
const ROUNDS = 10;

/** Makes, narrows, rotates and revokes API keys, and disables and enables accounts; after each it asks all replicas. */
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
  await worker.send(narrowKey(other));
  await Promise.all([everywhere(worker, other), everywhere(worker, other, (owner) => createApp(owner, 0))]);
  const next = await rotated(worker, other);
  await Promise.all([everywhere(worker, other), everywhere(worker, next, (owner) => createApp(owner, 0))]);
  await worker.send(revokeKey(other));
  await Promise.all([everywhere(worker, other), everywhere(worker, next)]);
}

/** The owner with the next secret of the key, or with the same one where no answer has told it. */
async function rotated(worker: Worker, owner: Owner): Promise<Owner> {
  const reply = await worker.send(rotateKey(owner));
  return isOk(reply) ? { ...owner, secret: `${owner.key}+1`, apiKey: String(reply.body['apiKey']) } : owner;
}

async function disabling(worker: Worker, owner: Owner): Promise<void> {
  await worker.send(disableAccount(owner, true));
  await everywhere(worker, owner);
  await insist(worker, () => disableAccount(owner, false));
  await everywhere(worker, owner);
}

async function everywhere(worker: Worker, owner: Owner, asks: (owner: Owner) => Asked = listApps): Promise<void> {
  await Promise.all(Array.from({ length: REPLICAS }, (_, replica) => worker.send(asks(owner), replica)));
}
