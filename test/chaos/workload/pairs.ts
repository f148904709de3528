import {
  appOf,
  changeAccount,
  createApp,
  disableAccount,
  enroll,
  ownCredential,
  type Owner,
} from '../cluster/calls.ts';
import type { Asked } from '../cluster/client.ts';
import { isOk } from '../judgement/history.ts';
import { whole } from '../random.ts';
import { insist, newOwner, REPLICAS, type Job, type Worker } from './worker.ts';

const PAUSE_MS = 200;
/** As in `keys`: a request whose outcome is unknown may be carried out late. */
const ROUNDS = 20;

/** Two changes of one account at once, through two replicas: each is to be there, and none after a disabling. */
export const pairs: Job = async (worker) => {
  while (!worker.signal.aborted) {
    const owner = await newOwner(worker);
    if (owner) await rounds(worker, owner);
  }
};

async function rounds(worker: Worker, owner: Owner): Promise<void> {
  for (let round = 0; round < ROUNDS && !worker.signal.aborted; round += 1) {
    await pairOfFields(worker, owner, round);
    await enrollmentBesideDisabling(worker, owner, round);
    await worker.pace(PAUSE_MS);
  }
}

async function pairOfFields(worker: Worker, owner: Owner, round: number): Promise<void> {
  const changes = [
    disableAccount(owner, true),
    changeAccount(owner, 'name', `${owner.marker} ${round}`),
    changeAccount(owner, 'adoptableBy', `team/heir-${round}`),
    changeAccount(owner, 'entitlement', round % 2 === 0 ? 'standard' : 'enterprise'),
  ];
  const [one] = changes.splice(whole(worker.random, changes.length), 1);
  const [other] = changes.splice(whole(worker.random, changes.length), 1);
  if (one && other) await atOnce(worker, one, other);
  if ([one, other].some((asked) => asked?.kind === 'account.disable')) {
    await insist(worker, () => disableAccount(owner, false));
  }
}

async function enrollmentBesideDisabling(worker: Worker, owner: Owner, round: number): Promise<void> {
  const created = await worker.send(createApp(owner, round));
  if (!isOk(created)) return;
  await atOnce(worker, disableAccount(owner, true), enroll(owner, appOf(created.body), ownCredential()));
  await insist(worker, () => disableAccount(owner, false));
}

async function atOnce(worker: Worker, one: Asked, other: Asked): Promise<void> {
  const replica = whole(worker.random, REPLICAS);
  await Promise.all([worker.send(one, replica), worker.send(other, (replica + 1) % REPLICAS)]);
}
