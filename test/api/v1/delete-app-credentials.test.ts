import { afterAll, beforeAll, expect, test } from 'vitest';
import { tokenHash } from '../../../src/domain/credentials/tokens.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { putAll } from '../../support/records/backups.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { deleteApp, enrollOwn, issueCode, ownCredential, type OwnCredential } from '../../support/service/daemon.ts';
import { createApp, poll, tenant, type Muster, type Tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyForRequests, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const ENROLLMENTS = 100;
const byHash = (one: OwnCredential, other: OwnCredential): number =>
  tokenHash(one.token) < tokenHash(other.token) ? -1 : 1;

onEachBackend('deleting an app with more past credentials than one commit takes', (backend) => {
  let store: FaultyStore;
  let muster: Muster;
  let owner: Tenant;
  beforeAll(async () => {
    muster = await backend.fresh({
      // It stands still: no loop of the service comes to a second round, whose commit might meet the troubles.
      clock: new FakeClock(),
      wrapStore: (inner) => (store = faultyForRequests(inner)),
      env: { MUSTER_DEVICE_RATE_PER_MINUTE: '1000' },
    });
    owner = await tenant(muster);
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  /** An app that was enrolled that often, with the first and the last of its credentials. */
  async function oftenEnrolled(): Promise<{ appId: string; oldest: OwnCredential; newest: OwnCredential }> {
    const app = await createApp(muster, owner.apiKey);
    const newest = ownCredential();
    const past = Array.from({ length: ENROLLMENTS - 1 }, () => ownCredential()).toSorted(byHash);
    // It is removed with the first group of them, and is not the one by which a group is recognized.
    const [first, oldest, ...rest] = past;
    if (!first || !oldest) throw new Error('there are none');
    expect((await enrollOwn(muster, app, oldest.hash)).status).toBe(200);
    // The records that the enrollments in between leave, all at once.
    const hashes = [first, ...rest].map(({ token }) => tokenHash(token));
    const located = { accountId: owner.accountId, appId: app.appId };
    await putAll(store, Object.fromEntries(hashes.map((hash) => [KEYS.credential(hash), located])));
    await putAll(store, Object.fromEntries(hashes.map((hash) => [KEYS.pastCredential(app.appId, hash), {}])));
    expect((await enrollOwn(muster, await issueCode(muster, owner.apiKey, app.appId), newest.hash)).status).toBe(200);
    expect(await leftOf(app.appId)).toBe(ENROLLMENTS - 1);
    return { appId: app.appId, oldest, newest };
  }
  const bind = async ({ hash }: OwnCredential): Promise<number> =>
    (await enrollOwn(muster, await createApp(muster, owner.apiKey), hash)).status;
  const leftOf = async (appId: string): Promise<number> => (await entriesOf(store, `past/${appId}/`)).length;

  test('nothing of it is left, and its hashes may be bound anew', async () => {
    const { appId, oldest } = await oftenEnrolled();
    expect((await deleteApp(muster, owner.apiKey, appId)).status).toBe(204);
    await expect.poll(() => leftOf(appId), { interval: 5 }).toBe(0);
    const located = (await entriesOf(store, 'cred/')).filter(({ value }) => value.includes(appId));
    expect(located).toEqual([]);
    expect(await bind(oldest)).toBe(200);
  });

  test('where the rest fails it is answered all the same, and what is left counts for nothing', async () => {
    const { appId, oldest, newest } = await oftenEnrolled();
    expect([await bind(oldest), await bind(newest)], 'while the app exists').toEqual([401, 401]);

    const logged = muster.logged.length;
    store.fates.push('passes', 'lost before commit');
    expect((await deleteApp(muster, owner.apiKey, appId)).status).toBe(204);
    const warned = (): boolean => muster.logged.slice(logged).some((line) => line.includes('are left over'));
    await expect.poll(warned, { interval: 5 }).toBe(true);
    expect(await leftOf(appId)).toBe(ENROLLMENTS - 1);

    for (const own of [oldest, newest]) {
      expect((await poll(muster, own.token)).status, 'it works for nobody').toBe(401);
      expect(await bind(own), 'the deleted app does not stand in the way').toBe(200);
      expect((await poll(muster, own.token)).status).toBe(200);
      expect(await bind(own), 'from now on it is the other app’s').toBe(401);
    }
    expect(await leftOf(appId)).toBe(ENROLLMENTS - 2);
  });

  test('a hash that another app binds while the rest is removed stays with that app', async () => {
    const { appId, oldest: own } = await oftenEnrolled();
    const other = await createApp(muster, owner.apiKey);
    const enrolled = Promise.withResolvers<number>();
    // The first commit deletes the app; before the second, which has read what it removes, the other app binds.
    store.intercept('commit', 'before', async () => {
      store.intercept('commit', 'before', async () => {
        enrolled.resolve((await enrollOwn(muster, other, own.hash)).status);
      });
    });
    expect((await deleteApp(muster, owner.apiKey, appId)).status).toBe(204);
    expect(await enrolled.promise).toBe(200);
    await expect.poll(() => leftOf(appId), { interval: 5 }).toBe(0);
    expect((await poll(muster, own.token)).status).toBe(200);
    expect(await bind(own)).toBe(401);
  });
});
