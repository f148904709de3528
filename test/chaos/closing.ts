import {
  appOf,
  createAccount,
  createApp,
  createKey,
  enroll,
  ownCredential,
  poll,
  type Owner,
} from './cluster/calls.ts';
import { Client } from './cluster/client.ts';
import type { World } from './cluster/world.ts';
import { isOk } from './judgement/history.ts';
import { CLOSING } from './judgement/validity.ts';
import { REPLICAS } from './workload/worker.ts';

/** At the end each replica creates an app, enrolls its daemon and answers its poll: otherwise the run is invalid. */
export async function closing(world: World): Promise<void> {
  const client = new Client(CLOSING, world, world.recorder);
  try {
    for (let replica = 0; replica < REPLICAS; replica += 1) {
      const owner = await ownerThrough(client, replica);
      const created = owner && (await client.send(replica, createApp(owner, replica)));
      if (!owner || !created || !isOk(created)) continue;
      const own = ownCredential();
      const app = appOf(created.body);
      await client.send(replica, enroll(owner, app, own));
      await client.send(replica, poll(owner, app.app, own));
    }
  } finally {
    client.close();
  }
}

async function ownerThrough(client: Client, replica: number): Promise<Owner | undefined> {
  const { told } = await client.send(replica, createAccount(CLOSING));
  if (told.account === undefined) return undefined;
  const { body } = await client.send(replica, createKey(told.account));
  return { account: told.account, marker: CLOSING, key: String(body['keyId']), apiKey: String(body['apiKey']) };
}
