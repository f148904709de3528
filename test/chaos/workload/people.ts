import type { RestrictedRole } from '../../../src/domain/records/user-records.ts';
import type { Store } from '../../../src/store/port.ts';
import { putUser, signedIn, type UserOptions } from '../../support/panel/panel-users.ts';
import {
  disablePerson,
  disablesUser,
  makeToken,
  readsAccount,
  readsUsers,
  revokeToken,
  takeRole,
  writesAccount,
  type Owner,
  type Person,
} from '../cluster/calls.ts';
import type { Asked } from '../cluster/client.ts';
import { isOk } from '../judgement/history.ts';
import { whole } from '../random.ts';
import { newOwner, REPLICAS, type Job, type Worker } from './worker.ts';

const PAUSE_MS = 200;
const AGAIN_MS = 100;
const ROUNDS_PER_ACCOUNT = 10;

/**
 * People of the panel, by sessions and by access tokens: each gets a way in, which is asked of all replicas, ended in
 * one of the ways there are, and asked again. They come straight into the store, as a sign-in would leave them.
 */
export const people =
  (store: Store): Job =>
  async (worker) => {
    // The last operator stays one: whoever is disabled below is not the last.
    await inStore(worker, () => signedIn(store, { operator: true }));
    while (!worker.signal.aborted) {
      // Each round makes some apps, and an account has room for so many.
      const owner = await newOwner(worker);
      if (!owner) return;
      for (let round = 0; round < ROUNDS_PER_ACCOUNT && !worker.signal.aborted; round += 1) {
        for (const end of ['revoke', 'disable', 'role'] as const) await tokenLife(worker, store, owner, end);
        for (const role of ['support', 'auditor'] as const) await roleLife(worker, store, role);
      }
    }
  };

/** Repeats a write of the suite's own while the store is broken. */
async function inStore<T>(worker: Worker, write: () => Promise<T>): Promise<T | undefined> {
  while (!worker.signal.aborted) {
    const written = await write().catch(() => undefined);
    if (written !== undefined) return written;
    await worker.pace(AGAIN_MS);
  }
  return undefined;
}

async function person(worker: Worker, store: Store, options: UserOptions): Promise<Person | undefined> {
  const browser = await inStore(worker, () => signedIn(store, options));
  return browser && { person: browser.userId, bearer: browser.sessionId, by: { session: browser.token } };
}

async function everywhere(worker: Worker, ...asked: readonly Asked[]): Promise<void> {
  const replicas = Array.from({ length: REPLICAS }, (_, replica) => replica);
  await Promise.all(asked.flatMap((one) => replicas.map((replica) => worker.send(one, replica))));
}

/** An operator, so that no record of the account changes beside the service. */
async function tokenLife(
  worker: Worker,
  store: Store,
  owner: Owner,
  end: 'revoke' | 'disable' | 'role',
): Promise<void> {
  const ann = await person(worker, store, { operator: true });
  const made = ann && (await worker.send(makeToken(ann, owner)));
  if (!made || !isOk(made)) return await worker.pace(PAUSE_MS);
  const [tokenId, token] = [String(made.body['tokenId']), String(made.body['token'])];
  const program: Person = { person: ann.person, bearer: tokenId, by: { token } };
  const both = [ann, program].flatMap((by) => [readsAccount(by, owner), writesAccount(by, owner)]);
  await everywhere(worker, ...both);
  const ending = { revoke: revokeToken(ann, tokenId), disable: disablePerson(ann), role: takeRole(ann) }[end];
  // Requests that are under way meanwhile must not be committed after the answer either.
  await Promise.all([worker.send(ending), everywhere(worker, writesAccount(program, owner))]);
  await everywhere(worker, ...both);
  await worker.pace(PAUSE_MS);
}

async function roleLife(worker: Worker, store: Store, role: RestrictedRole): Promise<void> {
  const eve = await person(worker, store, { record: { installationRole: role } });
  const other = eve && (await inStore(worker, () => putUser(store)));
  if (!eve || other === undefined) return;
  const asks = [readsUsers(eve), ...(role === 'support' ? [disablesUser(eve, other)] : [])];
  await everywhere(worker, ...asks);
  await worker.send(whole(worker.random, 2) === 0 ? takeRole(eve) : disablePerson(eve));
  await everywhere(worker, ...asks);
  await worker.pace(PAUSE_MS);
}
