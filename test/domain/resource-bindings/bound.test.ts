import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { StaleRead } from '../../../src/domain/mutation/stale-read.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { AppStatus } from '../../../src/domain/records/app-records.ts';
import { createBindings, type Binding } from '../../../src/domain/resource-bindings/bindings.ts';
import type { Owner } from '../../../src/domain/resource-bindings/adoption.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { write } from '../../support/metering/metering.ts';
import {
  ACCOUNT,
  bindingTo,
  operated,
  OTHER,
  outcomes,
  owner,
  wish,
  type Operated,
} from '../../support/kubernetes/bound-core.ts';
import { onEachBackend } from '../../support/store/backends.ts';

/* Accounts, keys and apps of custom resources are made in one commit with their binding, by the leader alone. */

const register = async (it: Operated, keyId: string, uid = 'uid-key'): Promise<void> => {
  const before = await it.bindings.get(uid);
  const precondition = it.bindings.precondition(uid, before, bindingTo(ACCOUNT, { pending: { keyId, hash: 'hash' } }));
  await it.keys.register(it.origin(), ACCOUNT, { keyId, hash: 'hash', name: 'ci' }, precondition);
};

onEachBackend('what a custom resource stands for', (backend) => {
  test('an account is there with its binding, or not at all', async () => {
    await using it = await operated(backend);
    expect((await it.account())?.record).toMatchObject({ name: 'acme', managedBy: owner });
    expect((await it.bindings.get(owner.uid))?.record.accountId).toBe(ACCOUNT);
    // The same wish by who did not see that it was carried out.
    const again = it.boundAccounts.create(
      it.origin(),
      OTHER,
      wish,
      it.bindings.precondition(owner.uid, undefined, bindingTo(OTHER)),
    );
    await expect(again).rejects.toThrow(StaleRead);
    expect(await it.account(OTHER)).toBeUndefined();
  });

  test('one of several that carry out a request at once succeeds', async () => {
    await using it = await operated(backend);
    const ids = ['c', 'd', 'e', 'f'].map((letter) => letter.repeat(16));
    const tried = ids.map((id) =>
      it.boundAccounts.create(it.origin(), id, wish, it.bindings.precondition('uid-2', undefined, bindingTo(id))),
    );
    expect((await outcomes(tried)).toSorted()).toEqual(['StaleRead', 'StaleRead', 'StaleRead', 'done']);
    const made = await Promise.all(ids.map((id) => it.account(id)));
    expect(made.filter((account) => account !== undefined)).toHaveLength(1);
  });

  test('a replica that does not lead any more writes nothing', async () => {
    await using it = await operated(backend);
    const held = await it.store.hold(KEYS.leader(), '{}', 60_000);
    if (held === 'taken') throw new Error('somebody leads');
    const leading = createBindings(it.store, [expectRevision(KEYS.leader(), held.revision)]);
    const before = await it.bindings.get(owner.uid);
    const patch = { name: 'renamed' };
    const precondition = leading.precondition(owner.uid, before, bindingTo(ACCOUNT, { generation: 2 }));
    await it.accounts.change(it.origin(), ACCOUNT, patch, precondition);
    await held.release();
    const late = leading.precondition(owner.uid, await it.bindings.get(owner.uid), undefined);
    const key = { keyId: 'k'.repeat(12), hash: 'hash', name: 'ci' };
    expect(
      await outcomes([
        leading.save(owner.uid, await it.bindings.get(owner.uid), undefined),
        it.keys.register(it.origin(), ACCOUNT, key, late),
        it.boundAccounts.release(it.origin(), ACCOUNT, owner, true, late),
      ]),
    ).toEqual(['StaleRead', 'StaleRead', 'StaleRead']);
    expect((await it.account())?.record).toMatchObject({ name: 'renamed', disabled: false });
    expect((await it.bindings.get(owner.uid))?.record.generation).toBe(2);
  });

  test('a key id is used once: neither twice, nor again after its revocation', async () => {
    await using it = await operated(backend);
    const keyId = 'k'.repeat(12);
    expect((await outcomes([register(it, keyId, 'one'), register(it, keyId, 'two')])).toSorted()).toEqual([
      'done',
      'not_found',
    ]);
    expect((await (await it.account())?.apiKeys())?.map(({ id }) => id)).toEqual([keyId]);
    await it.apiKeys.revoke(it.origin(), ACCOUNT, keyId);
    await expect(register(it, keyId, 'three')).rejects.toMatchObject({ code: 'not_found' });
    expect(await (await it.account())?.apiKeys()).toEqual([]);
    await register(it, 'l'.repeat(12));
  });

  test('the last place of an account goes to one key', async () => {
    await using it = await operated(backend);
    const made = Array.from({ length: LIMITS.apiKeysPerAccountMax - 1 }, (_, n) => {
      const keyId = String(n).padStart(12, 'x');
      return put(KEYS.apiKey(ACCOUNT, keyId), { name: 'ci', hash: `hash-${n}`, createdAt: 1 });
    });
    await write(it.store, made);
    const tried = await outcomes([register(it, 'y'.repeat(12), 'one'), register(it, 'z'.repeat(12), 'two')]);
    expect(tried.toSorted()).toEqual(['done', 'invalid_request']);
  });

  test('an account is adopted once, by the resource that was named', async () => {
    await using it = await operated(backend);
    const { accountId } = await it.accounts.create(it.origin(), { name: 'before', entitlement: 'standard' });
    const adopt = async (by: Owner): Promise<void> => {
      const precondition = it.bindings.precondition(by.uid, await it.bindings.get(by.uid), bindingTo(accountId));
      await it.boundAccounts.adopt(it.origin(), accountId, by, precondition);
    };
    const heir = { uid: 'uid-heir', namespace: 'team', name: 'heir', namespaceUid: 'ns-1' };
    await expect(adopt(heir)).rejects.toMatchObject({ code: 'not_found' });
    await it.accounts.change(it.origin(), accountId, { adoptableBy: 'team/heir' });
    await expect(adopt({ ...heir, namespace: 'other' })).rejects.toMatchObject({ code: 'not_found' });
    const tried = await outcomes([adopt(heir), adopt({ ...heir, uid: 'uid-heir-2' })]);
    // A resource that was deleted and created anew while its wish was carried out has the same name.
    expect(tried).toContain('done');
    expect((await it.account(accountId))?.record.adoptableBy).toBeUndefined();
    await expect(adopt({ ...heir, uid: 'uid-3', name: 'other' })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('an account is released by the resource that it follows, and by no other', async () => {
    await using it = await operated(backend);
    const release = async (by: Owner): Promise<void> => {
      const precondition = it.bindings.precondition(by.uid, await it.bindings.get(by.uid), undefined);
      await it.boundAccounts.release(it.origin(), ACCOUNT, by, true, precondition);
    };
    const stranger = { ...owner, uid: 'uid-2' };
    await it.bindings.save(stranger.uid, undefined, bindingTo(ACCOUNT));
    await release(stranger);
    expect((await it.account())?.record).toMatchObject({ disabled: false, managedBy: owner });
    await release(owner);
    expect((await it.account())?.record).toMatchObject({ disabled: true });
    expect((await it.account())?.record.managedBy).toBeUndefined();
    expect(await it.bindings.get(owner.uid)).toBeUndefined();
  });

  test('an app is there with its binding, and its code is registered once', async () => {
    await using it = await operated(backend);
    const appId = 'p'.repeat(20);
    const callerFor = async (before: Binding | undefined) => ({
      accountId: ACCOUNT,
      authority: { precondition: it.bindings.precondition('uid-app', before, bindingTo(ACCOUNT, { appId })) },
      reader: await it.core.fleet.current(),
      origin: it.origin(),
    });
    await it.boundApps.create(await callerFor(undefined), appId, 'daemon');
    const made = await (await it.account())?.app(appId);
    expect(made?.record).toMatchObject({ name: 'daemon', status: 'pending', codes: [] });
    const register = async (status: AppStatus): Promise<number> =>
      await it.boundApps.registerCode(
        await callerFor(await it.bindings.get('uid-app')),
        appId,
        { hash: 'hash' },
        status,
      );
    const first = await register('pending');
    const again = await register('pending');
    expect(again).toBe(first);
    expect((await (await it.account())?.app(appId))?.record.codes).toHaveLength(1);
    await it.apps.revoke(await callerFor(await it.bindings.get('uid-app')), appId);
    await expect(register('pending')).rejects.toMatchObject({ name: 'StaleRead' });
    await register('revoked');
    expect((await (await it.account())?.app(appId))?.record).toMatchObject({ status: 'revoked', codes: [] });
  });

  test('a binding is saved by who has seen it', async () => {
    await using it = await operated(backend);
    await it.bindings.save('uid-3', undefined, bindingTo(ACCOUNT));
    const seen = await it.bindings.get('uid-3');
    const saves = [2, 3].map((generation) => it.bindings.save('uid-3', seen, bindingTo(ACCOUNT, { generation })));
    expect((await outcomes(saves)).toSorted()).toEqual(['StaleRead', 'done']);
    await it.bindings.save('uid-3', await it.bindings.get('uid-3'), undefined);
    expect(await it.bindings.get('uid-3')).toBeUndefined();
  });
});
