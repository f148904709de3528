import { expect, test } from 'vitest';
import { enrolled } from '../../../src/domain/apps/app-state.ts';
import { StaleRead } from '../../../src/domain/mutation/stale-read.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { AccountRecord } from '../../../src/domain/records/account-records.ts';
import type { AppRecord } from '../../../src/domain/records/app-records.ts';
import { isAppOfAnother, mayChangeAs, type Owner } from '../../../src/domain/resource-bindings/adoption.ts';
import { ACCOUNT, bindingTo, operated, outcomes, owner, type Operated } from '../../support/kubernetes/bound-core.ts';
import { write } from '../../support/metering/metering.ts';
import { onEachBackend } from '../../support/store/backends.ts';

/* Custom resources come to stand for what is there: by a consent, or because a resource of their name had it before. */

const APP = 'p'.repeat(20);
const heir: Owner = { uid: 'uid-heir', namespace: 'team', name: 'scanner' };
const HERE = { namespaceUid: 'ns-1' };

const accountOf = async (it: Operated): Promise<AccountRecord> => {
  const account = await it.account();
  if (!account) throw new Error('the account is gone');
  return account.record;
};
const appOf = async (it: Operated): Promise<AppRecord> => {
  const app = await (await it.account())?.app(APP);
  if (!app) throw new Error('the app is gone');
  return app.record;
};

/** An app of the account whose daemon is enrolled. */
async function withApp(it: Operated): Promise<AppRecord> {
  await it.boundApps.create(await it.caller('uid-app', undefined, bindingTo(ACCOUNT)), APP, 'daemon');
  await it.bindings.save('uid-app', await it.bindings.get('uid-app'), undefined);
  const enrollment = { code: '', credential: 'hash', platform: 'linux', agentVersion: '1', at: 7 } as const;
  const app = enrolled(await appOf(it), { ...enrollment, connection: 'cloud' });
  await write(it.store, [put(KEYS.app(ACCOUNT, APP), app)]);
  return app;
}
const adopt = async (it: Operated, by: Owner): Promise<void> => {
  const after = bindingTo(ACCOUNT, { kind: 'FleetApp', name: by.name, appId: APP });
  await it.boundApps.adopt(await it.caller(by.uid, await it.bindings.get(by.uid), after), APP, { ...HERE, ...by });
};
const releaseApp = async (it: Operated, by: Owner): Promise<void> =>
  await it.boundApps.release(await it.caller(by.uid, await it.bindings.get(by.uid), undefined), APP, by);

const release = async (it: Operated, by: Owner, disable = false): Promise<void> => {
  const precondition = it.bindings.precondition(by.uid, await it.bindings.get(by.uid), undefined);
  await it.boundAccounts.release(it.origin(), ACCOUNT, by, disable, precondition);
};
const takeUp = async (it: Operated, by: Owner): Promise<void> => {
  const precondition = it.bindings.precondition(by.uid, undefined, bindingTo(ACCOUNT));
  await it.boundAccounts.adopt(it.origin(), ACCOUNT, by, precondition);
};
const actions = async (it: Operated): Promise<string[]> => {
  const { items } = await it.auditEntries.list(ACCOUNT, { limit: 100, after: undefined });
  return items.map(({ action }) => action);
};

onEachBackend('an app', (backend) => {
  test('is adopted by the resource that was named, once, and its daemon notices nothing', async () => {
    await using it = await operated(backend);
    const before = await withApp(it);
    await expect(adopt(it, heir)).rejects.toMatchObject({ code: 'not_found' });
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: 'team/scanner' });
    await expect(adopt(it, { ...heir, namespace: 'other' })).rejects.toMatchObject({ code: 'not_found' });
    const tried = await outcomes([adopt(it, heir), adopt(it, { ...heir, uid: 'uid-heir-2' })]);
    // A resource that was deleted and created anew while its wish was carried out has the same name.
    expect(tried).toContain('done');
    expect(await appOf(it)).toMatchObject({ ...before, managedBy: { namespace: 'team', name: 'scanner' } });
    expect((await appOf(it)).adoptableBy).toBeUndefined();
    const stranger = { ...heir, uid: 'uid-3', name: 'other' };
    await expect(adopt(it, stranger)).rejects.toMatchObject({ code: 'not_found' });
    expect(await it.bindings.get(stranger.uid)).toBeUndefined();
    expect(await actions(it)).toEqual(expect.arrayContaining(['app.changed', 'app.adopted']));
  });

  test('is adopted with its binding, or not at all', async () => {
    await using it = await operated(backend);
    await withApp(it);
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: 'team/scanner' });
    const late = await it.caller(heir.uid, undefined, bindingTo(ACCOUNT, { appId: APP }));
    await it.bindings.save(heir.uid, undefined, bindingTo(ACCOUNT));
    await expect(it.boundApps.adopt(late, APP, { ...heir, ...HERE })).rejects.toThrow(StaleRead);
    expect(await appOf(it)).toMatchObject({ adoptableBy: 'team/scanner' });
  });

  test('remembers who released it, and goes back to a resource of that name alone', async () => {
    await using it = await operated(backend);
    await withApp(it);
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: 'team/scanner' });
    await adopt(it, heir);
    await releaseApp(it, heir);
    expect(await appOf(it)).toMatchObject({ releasedBy: heir, status: 'active' });
    await expect(adopt(it, { ...heir, uid: 'uid-2', name: 'other' })).rejects.toMatchObject({ code: 'not_found' });
    await adopt(it, { ...heir, uid: 'uid-2' });
    expect((await appOf(it)).managedBy?.uid).toBe('uid-2');
    // The former one is another's now, whatever it still wishes.
    await releaseApp(it, heir);
    expect((await appOf(it)).managedBy?.uid).toBe('uid-2');
  });

  test('is kept for the resource that an operator has named, though another of the former name comes first', async () => {
    await using it = await operated(backend);
    await withApp(it);
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: 'team/scanner' });
    await adopt(it, heir);
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: 'team/other' });
    await releaseApp(it, heir);
    await expect(adopt(it, { ...heir, uid: 'uid-2' })).rejects.toMatchObject({ code: 'not_found' });
    await adopt(it, { ...heir, uid: 'uid-3', name: 'other' });
  });

  test('does not come back to the resource from which it was taken, whatever becomes of the next one', async () => {
    await using it = await operated(backend);
    await it.boundApps.create(await it.caller('uid-app', undefined, bindingTo(ACCOUNT)), APP, 'daemon');
    const former = await it.bindings.get('uid-app');
    await it.bindings.save('uid-app', former, bindingTo(ACCOUNT, { appId: APP }));
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: 'team/scanner' });
    await adopt(it, heir);
    await releaseApp(it, heir);
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: null });
    expect(isAppOfAnother(await appOf(it), 'uid-app')).toBe(true);
    const { items } = await it.consents.list(ACCOUNT, { limit: 1, after: undefined });
    expect(items.map(({ managedBy }) => managedBy)).toEqual([undefined]);
    await expect(adopt(it, { ...heir, uid: 'uid-2' })).rejects.toMatchObject({ code: 'not_found' });
    const entries = (await actions(it)).length;
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: null });
    expect(await actions(it)).toHaveLength(entries);
  });

  test('is neither deleted nor revoked for a resource that it has just ceased to follow', async () => {
    await using it = await operated(backend);
    await it.boundApps.create(await it.caller('uid-app', undefined, bindingTo(ACCOUNT)), APP, 'daemon');
    const decided = await it.caller('uid-app', await it.bindings.get('uid-app'), undefined);
    if (!('precondition' in decided.authority)) throw new Error('the caller has no precondition');
    const { precondition } = decided.authority;
    const former = { ...decided, authority: { precondition, mayChange: mayChangeAs('uid-app') } };
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: 'team/scanner' });
    await adopt(it, heir);
    await expect(it.apps.remove(former, APP)).rejects.toThrow(StaleRead);
    await expect(it.apps.revoke(former, APP)).rejects.toThrow(StaleRead);
    expect(await appOf(it)).toMatchObject({ status: 'pending', managedBy: heir });
  });

  test('of another account, or none, is not found; a consent that changes nothing leaves no entry', async () => {
    await using it = await operated(backend);
    await withApp(it);
    const unknown = it.consents.change(it.origin(), ACCOUNT, 'q'.repeat(20), { adoptableBy: 'team/scanner' });
    await expect(unknown).rejects.toMatchObject({ code: 'not_found' });
    await expect(it.consents.list('z'.repeat(16), { limit: 1, after: undefined })).rejects.toMatchObject({
      code: 'not_found',
    });
    const before = (await actions(it)).length;
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: null });
    expect(await actions(it)).toHaveLength(before);
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: 'team/scanner' });
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: null });
    expect((await appOf(it)).adoptableBy).toBeUndefined();
  });

  test('is listed with the resource that stands for it, whether created for it or adopted', async () => {
    await using it = await operated(backend);
    await withApp(it);
    const listed = async (): Promise<unknown> =>
      (await it.consents.list(ACCOUNT, { limit: 10, after: undefined })).items.map(({ managedBy }) => managedBy);
    expect(await listed()).toEqual([undefined]);
    await it.bindings.save('uid-app', undefined, bindingTo(ACCOUNT, { name: 'made', appId: APP }));
    expect(await listed()).toEqual(['team/made']);
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: 'team/scanner' });
    await adopt(it, heir);
    expect(await listed()).toEqual(['team/scanner']);
  });
});

onEachBackend('an account whose resource was deleted', (backend) => {
  const released: Owner = { ...owner, ...HERE };
  const anew: Owner = { ...released, uid: 'uid-anew' };

  test('is that of the resource of this name that comes next in the same namespace', async () => {
    await using it = await operated(backend);
    await release(it, released, true);
    expect((await accountOf(it)).releasedBy).toMatchObject(released);
    expect(await it.boundAccounts.formerOf(anew)).toBe(ACCOUNT);
    await takeUp(it, anew);
    expect(await accountOf(it)).toMatchObject({ managedBy: anew, disabled: true });
    expect((await accountOf(it)).releasedBy).toBeUndefined();
    expect(await it.boundAccounts.formerOf({ ...anew, uid: 'uid-third' })).toBe(ACCOUNT);
  });

  test.each([
    [{ ...anew, namespaceUid: 'ns-2' }, 'in a namespace that has its name anew'],
    [{ ...anew, namespace: 'other' }, 'in another namespace'],
    [{ ...anew, name: 'other' }, 'of another name'],
    [{ uid: 'uid-anew', namespace: 'team', name: 'acme' }, 'in a namespace that cannot be read'],
  ])('is not that of a resource %o (%s)', async (stranger, _where) => {
    await using it = await operated(backend);
    await release(it, released);
    expect(await it.boundAccounts.formerOf(stranger)).toBeUndefined();
    await expect(takeUp(it, stranger)).rejects.toMatchObject({ code: 'not_found' });
    await takeUp(it, anew);
  });

  test('is nobody’s where the namespace could not be read', async () => {
    await using it = await operated(backend);
    await release(it, owner);
    expect(await it.boundAccounts.formerOf(anew)).toBeUndefined();
    await it.accounts.change(it.origin(), ACCOUNT, { adoptableBy: 'team/acme' });
    await takeUp(it, anew);
  });

  test.each([['team/heir'], [null]])('is not taken up once an operator has said %s', async (adoptableBy) => {
    await using it = await operated(backend);
    await release(it, released);
    await it.accounts.change(it.origin(), ACCOUNT, { adoptableBy });
    expect(await it.boundAccounts.formerOf(anew)).toBeUndefined();
    await expect(takeUp(it, anew)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('is kept for the resource that an operator had named before, whose consent stays', async () => {
    await using it = await operated(backend);
    await it.accounts.change(it.origin(), ACCOUNT, { adoptableBy: 'other/heir' });
    await release(it, released);
    expect(await it.boundAccounts.formerOf(anew)).toBeUndefined();
    await expect(takeUp(it, anew)).rejects.toMatchObject({ code: 'not_found' });
    expect(await accountOf(it)).toMatchObject({ adoptableBy: 'other/heir' });
    await takeUp(it, { uid: 'uid-heir', namespace: 'other', name: 'heir', namespaceUid: 'ns-other' });
  });

  test('of several, the one that was followed last is found', async () => {
    await using it = await operated(backend);
    await release(it, released);
    const { releasedBy = expect.unreachable('the account remembers it') } = await accountOf(it);
    const second = { name: 'second', entitlement: 'standard', disabled: false, createdAt: 0 } as const;
    await write(it.store, [
      put(KEYS.account('0'.repeat(16)), { ...second, releasedBy: { ...releasedBy, at: 0 } }),
      put(KEYS.account('9'.repeat(16)), { ...second, releasedBy: { ...releasedBy, at: 10 ** 15 } }),
    ]);
    expect(await it.boundAccounts.formerOf(anew)).toBe('9'.repeat(16));
  });
});

onEachBackend('what a resource stood for that went by force', (backend) => {
  test('an account is left, follows nobody, and is that of the next resource of this name', async () => {
    await using it = await operated(backend);
    const forced: Owner = { ...owner, ...HERE };
    await release(it, owner);
    await it.accounts.change(it.origin(), ACCOUNT, { adoptableBy: 'team/acme' });
    await takeUp(it, { ...forced, uid: 'uid-forced' });
    const binding = await it.bindings.get('uid-forced');
    if (!binding) throw new Error('there is no binding');
    await it.gone.forget(it.origin(), it.bindings, { uid: 'uid-forced', ...binding });
    expect(await it.bindings.get('uid-forced')).toBeUndefined();
    expect((await accountOf(it)).managedBy).toBeUndefined();
    expect(await it.boundAccounts.formerOf({ ...forced, uid: 'uid-next' })).toBe(ACCOUNT);
    expect(await actions(it)).toContain('resource.forgotten');
  });

  test('an app is left, and an adopted one goes back to a resource of this name', async () => {
    await using it = await operated(backend);
    const before = await withApp(it);
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: 'team/scanner' });
    await adopt(it, heir);
    const binding = await it.bindings.get(heir.uid);
    if (!binding) throw new Error('there is no binding');
    await it.gone.forget(it.origin(), it.bindings, { uid: heir.uid, ...binding });
    expect(await appOf(it)).toEqual({ ...before, releasedBy: heir });
    await adopt(it, { ...heir, uid: 'uid-next' });
  });

  test('is forgotten as it was seen alone', async () => {
    await using it = await operated(backend);
    const seen = await it.bindings.get(owner.uid);
    if (!seen) throw new Error('there is no binding');
    await it.bindings.save(owner.uid, seen, bindingTo(ACCOUNT, { generation: 9 }));
    const late = it.gone.forget(it.origin(), it.bindings, { uid: owner.uid, ...seen });
    await expect(late).rejects.toThrow(StaleRead);
    expect(await accountOf(it)).toMatchObject({ managedBy: owner });
  });
});
