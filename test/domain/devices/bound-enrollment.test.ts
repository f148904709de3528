import { expect, test } from 'vitest';
import { newApp, withCode } from '../../../src/domain/apps/app-state.ts';
import { parseRecord, put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { AppRecord } from '../../../src/domain/records/app-records.ts';
import { mayChangeAs } from '../../../src/domain/resource-bindings/adoption.ts';
import { ACCOUNT, bindingTo, operated, outcomes, owner, type Operated } from '../../support/kubernetes/bound-core.ts';
import { write } from '../../support/metering/metering.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { rawPut } from '../../support/store/raw-key.ts';

/* The operator enrolls the app of a custom resource with a credential that it has put into a Secret. */

const APP = 'p'.repeat(20);
const UID = 'uid-app';
const FILE = { digest: 'd', settings: 's' };
const before = bindingTo(ACCOUNT, { kind: 'FleetApp', appId: APP });

const appOf = async (it: Operated, appId = APP): Promise<AppRecord> => {
  const app = await (await it.account())?.app(appId);
  if (!app) throw new Error('the app is gone');
  return app.record;
};
const afterwards = (hash: string) => ({ ...before, credential: { hash, file: FILE } });
/** Enrolls the app as it is, or as it was when this was decided. */
async function enroll(it: Operated, hash: string, decided?: AppRecord): Promise<void> {
  const caller = await it.caller(UID, await it.bindings.get(UID), afterwards(hash));
  await it.enrollBound(caller, APP, { hash, before: decided ?? (await appOf(it)) });
}
const revoke = async (it: Operated): Promise<void> =>
  await it.apps.revoke(await it.caller(UID, await it.bindings.get(UID), before), APP);
const actions = async (it: Operated): Promise<string[]> => {
  const { items } = await it.auditEntries.list(ACCOUNT, { limit: 100, after: undefined });
  return items.map(({ action }) => action);
};

onEachBackend('an enrollment for a custom resource', (backend) => {
  async function withApp(): Promise<Operated> {
    const it = await operated(backend);
    await it.boundApps.create(await it.caller(UID, undefined, before), APP, 'collector');
    return it;
  }

  test('makes the app active with the binding that names the credential, in one commit', async () => {
    await using it = await withApp();
    await enroll(it, 'hash');
    const app = await appOf(it);
    expect(app).toMatchObject({ status: 'active', credential: 'hash', connection: 'cloud', codes: [] });
    expect(app.enrolled).not.toHaveProperty('provisional');
    expect(app.spent).toEqual([{ hash: app.enrolled?.code, why: 'used' }]);
    expect((await it.bindings.get(UID))?.record).toMatchObject({ credential: { hash: 'hash' } });
    const bound = await it.store.get(KEYS.credential('hash'));
    expect(bound && parseRecord(KEYS.credential, bound).record).toEqual({ accountId: ACCOUNT, appId: APP });
    const { items } = await it.auditEntries.list(ACCOUNT, { limit: 100, after: undefined });
    expect(items.filter(({ action }) => action === 'app.enrolled')).toMatchObject([
      {
        action: 'app.enrolled',
        actor: 'kubernetes:team/FleetAccount/acme',
        appId: APP,
        detail: { from: 'pending', connection: 'cloud', swapped: false, proved: true },
      },
    ]);
  });

  test('counts from then on: the night knows what the app was before', async () => {
    await using it = await withApp();
    await enroll(it, 'hash');
    const { entries } = await it.store.list({ prefix: KEYS.statusChange.under(), limit: 10 });
    const changes = entries.filter(({ key }) => key.endsWith(APP));
    expect(changes.map((entry) => parseRecord(KEYS.statusChange, entry).record)).toMatchObject([
      { before: 'pending', after: 'active' },
    ]);
    // Another credential is no change of the status (A4).
    const { statusAt } = await appOf(it);
    await enroll(it, 'hash-2');
    expect((await appOf(it)).statusAt).toBe(statusAt);
  });

  test('ends the credential before it, the acknowledgement of the machine before, and all codes', async () => {
    await using it = await withApp();
    await enroll(it, 'hash');
    const known = { ...(await appOf(it)), platform: 'linux', agentVersion: '0.149.0' };
    await write(it.store, [
      put(KEYS.app(ACCOUNT, APP), withCode(known, { hash: 'open', issuedAt: it.core.clock.now() })),
      rawPut(KEYS.ack(ACCOUNT, APP), {}),
    ]);
    await enroll(it, 'hash-2');
    const app = await appOf(it);
    // The machine is most likely the same.
    expect(app).toMatchObject({ credential: 'hash-2', codes: [], platform: 'linux', agentVersion: '0.149.0' });
    expect(app.spent).toContainEqual({ hash: 'open', why: 'voided' });
    expect(await it.store.get(KEYS.ack(ACCOUNT, APP))).toBeUndefined();
    expect(await it.store.get(KEYS.pastCredential(APP, 'hash'))).toBeDefined();
    // A credential that the app has lost never comes back to it.
    await expect(enroll(it, 'hash')).rejects.toMatchObject({ code: 'conflict' });
  });

  test('brings a revoked app back where that was decided, and never one that was revoked since', async () => {
    await using it = await withApp();
    const pending = await appOf(it);
    await revoke(it);
    await expect(enroll(it, 'hash', pending)).rejects.toMatchObject({ name: 'StaleRead' });
    expect(await appOf(it)).toMatchObject({ status: 'revoked' });
    expect((await it.bindings.get(UID))?.record).not.toHaveProperty('credential');
    await enroll(it, 'hash');
    expect(await appOf(it)).toMatchObject({ status: 'active', credential: 'hash' });
  });

  test('takes no app over from a daemon that enrolled since', async () => {
    await using it = await withApp();
    await enroll(it, 'hash');
    const decided = await appOf(it);
    const { enrolled } = decided;
    if (!enrolled) throw new Error('it is enrolled');
    const ofDaemon = { ...decided, credential: 'daemon', enrolled: { ...enrolled, credential: 'daemon' } };
    await write(it.store, [put(KEYS.app(ACCOUNT, APP), ofDaemon)]);
    await expect(enroll(it, 'hash-2', decided)).rejects.toMatchObject({ name: 'StaleRead' });
    expect(await appOf(it)).toMatchObject({ credential: 'daemon' });
  });

  test('happens once, however many carry it out', async () => {
    await using it = await withApp();
    const [seen, decided] = [await it.bindings.get(UID), await appOf(it)];
    const callers = await Promise.all(['a', 'b', 'c'].map((hash) => it.caller(UID, seen, afterwards(hash))));
    const tried = callers.map((caller, n) =>
      it.enrollBound(caller, APP, { hash: ['a', 'b', 'c'][n] ?? '', before: decided }),
    );
    expect((await outcomes(tried)).toSorted()).toEqual(['StaleRead', 'StaleRead', 'done']);
    const { credential } = await appOf(it);
    expect((await it.bindings.get(UID))?.record.credential?.hash).toBe(credential);
    expect((await actions(it)).filter((action) => action === 'app.enrolled')).toHaveLength(1);
    const { entries } = await it.store.list({ prefix: 'cred/', limit: 10 });
    expect(entries.map(({ key }) => key)).toEqual([KEYS.credential(credential ?? '')]);
  });

  test('is refused in a disabled account, and the binding stays as it was', async () => {
    await using it = await withApp();
    await it.accounts.change(it.origin(), ACCOUNT, { disabled: true });
    await expect(enroll(it, 'hash')).rejects.toMatchObject({ code: 'account_disabled' });
    expect((await it.bindings.get(UID))?.record).not.toHaveProperty('credential');
    expect(await it.store.get(KEYS.credential('hash'))).toBeUndefined();
  });

  test('is refused where another app has proved the credential, and takes it from one that has not', async () => {
    await using it = await withApp();
    const other = 'q'.repeat(20);
    const code = { hash: 'h', issuedAt: 0 };
    const thief: AppRecord = { ...newApp('other', 9, 0, code), status: 'active', credential: 'hash' };
    const bound = { accountId: ACCOUNT, appId: other };
    await write(it.store, [put(KEYS.app(ACCOUNT, other), thief), put(KEYS.credential('hash'), bound)]);
    await expect(enroll(it, 'hash')).rejects.toMatchObject({ code: 'conflict' });
    await write(it.store, [put(KEYS.credential('hash'), { ...bound, provisional: true })]);
    await enroll(it, 'hash');
    expect(await appOf(it)).toMatchObject({ status: 'active', credential: 'hash' });
    expect((await appOf(it, other)).credential).toBeUndefined();
    expect(await actions(it)).toContain('credential.yielded');
  });

  test('leaves an app alone that follows another resource by now', async () => {
    await using it = await withApp();
    await write(it.store, [
      put(KEYS.app(ACCOUNT, APP), { ...(await appOf(it)), managedBy: { ...owner, uid: 'heir' } }),
    ]);
    const caller = await it.caller(UID, await it.bindings.get(UID), afterwards('hash'));
    if (!('precondition' in caller.authority)) throw new Error('the caller is a resource');
    const own = { ...caller, authority: { ...caller.authority, mayChange: mayChangeAs(UID) } };
    const decided = await appOf(it);
    await expect(it.enrollBound(own, APP, { hash: 'hash', before: decided })).rejects.toMatchObject({
      name: 'StaleRead',
    });
    expect((await appOf(it)).status).toBe('pending');
  });
});
