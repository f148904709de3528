import {
  appOf,
  createApp,
  deleteApp,
  enroll,
  issueCode,
  listApps,
  ownCredential,
  poll,
  readApp,
  revokeApp,
  type App,
  type OwnCredential,
  type Owner,
} from '../cluster/calls.ts';
import { isOk } from '../judgement/history.ts';
import { whole } from '../random.ts';
import { newOwner, REPLICAS, type Job, type Worker } from './worker.ts';

const PAUSE_MS = 250;
const APPS_ALIVE_MAX = 300;

/** Leads apps from their creation to their end, each step through any replica, and asks all of them at the end. */
export const lives: Job = async (worker) => {
  const owner = await newOwner(worker);
  if (!owner) return;
  for (let number = 1; !worker.signal.aborted; number += 1) {
    const created = await worker.send(createApp(owner, number));
    if (isOk(created)) await life(worker, owner, appOf(created.body), number > APPS_ALIVE_MAX);
    await worker.pace(PAUSE_MS);
  }
};

async function life(worker: Worker, owner: Owner, app: App, mustEnd: boolean): Promise<void> {
  const { random } = worker;
  await worker.send(readApp(owner, app.app));
  let bound = await race(worker, owner, app);
  if (random() < 0.3) {
    const issued = await worker.send(issueCode(owner, app.app));
    const code = String(issued.body['enrollCode']);
    if (isOk(issued)) bound = [...(await race(worker, owner, { app: app.app, code })), ...bound];
    await everywhere(worker, owner, app, bound);
  }
  if (random() < 0.2) await worker.send(listApps(owner));
  const [end] = [mustEnd ? whole(random, 2) : whole(random, 3)];
  if (end === 0) await worker.send(deleteApp(owner, app.app));
  if (end === 1) await worker.send(revokeApp(owner, app.app));
  await everywhere(worker, owner, app, bound);
  await worker.send(readApp(owner, app.app));
}

/** Several daemons with the same code at once. Any of them may be the one, also one whose answer was lost. */
async function race(worker: Worker, owner: Owner, app: App): Promise<OwnCredential[]> {
  const daemons = Array.from({ length: 1 + whole(worker.random, 3) }, () => ownCredential());
  const first = whole(worker.random, REPLICAS);
  const replies = await Promise.all(
    daemons.map(async (own, index) => ({
      own,
      reply: await worker.send(enroll(owner, app, own), (first + index) % REPLICAS),
    })),
  );
  const unknown = replies.filter(({ reply }) => reply.status === 0 || reply.status === 502);
  for (const { own } of unknown) await worker.send(enroll(owner, app, own));
  const bound = replies.filter(({ reply }) => isOk(reply) || unknown.length > 0);
  return bound.map(({ own }) => own);
}

/** Asks every replica for the app that was just changed. */
async function everywhere(worker: Worker, owner: Owner, { app }: App, bound: readonly OwnCredential[]): Promise<void> {
  const asked = bound.flatMap((own) => Array.from({ length: REPLICAS }, (_, replica) => ({ own, replica })));
  await Promise.all(asked.map(({ own, replica }) => worker.send(poll(owner, app, own), replica)));
}
