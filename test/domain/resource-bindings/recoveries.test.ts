import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { generateMarker } from '../../../src/domain/credentials/random-ids.ts';
import type { BindingOf } from '../../../src/domain/resource-bindings/bindings.ts';
import { createBindings } from '../../../src/domain/resource-bindings/bindings.ts';
import { createRecoveries, type Heir } from '../../../src/domain/resource-bindings/recoveries.ts';
import { OPERATOR_AUDIT } from '../../../src/domain/records/audit-records.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { write } from '../../support/metering/metering.ts';
import { ACCOUNT, bindingTo, operated, outcomes, owner, type Operated } from '../../support/kubernetes/bound-core.ts';
import { onEachBackend } from '../../support/store/backends.ts';

/* Resources under new UIDs take up what former UIDs stood for, by an operator's consent (ADR 0064). */

const NEW_NAMESPACE = 'ns-new';
const heir = (uid: string, more: Partial<Heir> = {}): Heir => ({
  uid,
  namespace: 'team',
  namespaceUid: NEW_NAMESPACE,
  generation: 3,
  ...more,
});

const actionsOf = async (it: Operated, accountId: string): Promise<readonly string[]> =>
  (await it.auditEntries.list(accountId, { limit: 100, after: undefined })).items.map(({ action }) => action);

async function formerOf(it: Operated, uid: string): Promise<BindingOf> {
  const binding = await it.bindings.get(uid);
  if (!binding) throw new Error(`${uid} has no binding`);
  return { uid, ...binding };
}

const consented = async (it: Operated, namespaceUid = NEW_NAMESPACE) => {
  const recoveries = createRecoveries(it.mutations);
  await recoveries.allow({ ...it.origin(), actor: 'operator' }, 'team', namespaceUid);
  return recoveries;
};

onEachBackend('what a former UID stood for', (backend) => {
  test('goes to the resource of the new UID, which the account follows from then on', async () => {
    await using it = await operated(backend);
    const recoveries = await consented(it);
    await recoveries.recover(it.origin(), it.bindings, await formerOf(it, owner.uid), heir('uid-2'));
    expect(await it.bindings.get(owner.uid)).toBeUndefined();
    expect((await it.bindings.get('uid-2'))?.record).toMatchObject({ accountId: ACCOUNT, generation: 3 });
    expect((await it.account())?.record.managedBy).toMatchObject({ uid: 'uid-2', namespaceUid: NEW_NAMESPACE });
    expect(await actionsOf(it, ACCOUNT)).toContain('resource.recovered');
    expect(await actionsOf(it, OPERATOR_AUDIT)).toEqual(['resource.recovery-allowed']);
  });

  test('goes to one of two that claim it at once', async () => {
    await using it = await operated(backend);
    const recoveries = await consented(it);
    const former = await formerOf(it, owner.uid);
    const claims = ['uid-2', 'uid-3'].map((uid) => recoveries.recover(it.origin(), it.bindings, former, heir(uid)));
    expect((await outcomes(claims)).toSorted()).toEqual(['StaleRead', 'done']);
    const uids = await Promise.all(['uid-2', 'uid-3'].map((uid) => it.bindings.get(uid)));
    expect(uids.filter((binding) => binding !== undefined)).toHaveLength(1);
  });

  test.each<[string, (it: Operated) => Promise<unknown>, string]>([
    ['without a consent', async () => undefined, 'done by nobody'],
    ['of another namespace of the name', (it) => consented(it, 'ns-other'), 'the consent is for one UID'],
    [
      'after the consent has ended',
      async (it) => {
        await consented(it);
        const until = it.core.clock.now();
        await write(it.store, [put(KEYS.recovery('team'), { namespaceUid: NEW_NAMESPACE, until })]);
      },
      'it holds for 7 days',
    ],
    [
      'whose account was given to another resource',
      async (it) => {
        await consented(it);
        const before = await it.bindings.get(owner.uid);
        await it.bindings.save(owner.uid, before, { ...bindingTo(ACCOUNT), kind: 'FleetAccount', name: owner.name });
        const account = await it.account();
        if (!account) throw new Error('no account');
        const given = { ...account.record, managedBy: { ...owner, uid: 'uid-heir' } };
        await write(it.store, [put(KEYS.account(ACCOUNT), given)]);
      },
      'the binding is of one that lost it',
    ],
  ])('stays where it is: a resource %s', async (_which, before, _why) => {
    await using it = await operated(backend);
    await before(it);
    const former = await formerOf(it, owner.uid);
    const recoveries = createRecoveries(it.mutations);
    const claim = recoveries.recover(it.origin(), it.bindings, former, heir('uid-2'));
    expect(await outcomes([claim])).toEqual(['StaleRead']);
    expect(await it.bindings.get('uid-2')).toBeUndefined();
    expect(await it.bindings.get(owner.uid)).toBeDefined();
  });

  test('is moved by the leader alone', async () => {
    await using it = await operated(backend);
    const recoveries = await consented(it);
    const held = await it.store.hold(KEYS.leader(), '{}', 60_000);
    if (held === 'taken') throw new Error('somebody leads');
    const leading = createBindings(it.store, [expectRevision(KEYS.leader(), held.revision)]);
    await held.release();
    const claim = recoveries.recover(it.origin(), leading, await formerOf(it, owner.uid), heir('uid-2'));
    expect(await outcomes([claim])).toEqual(['StaleRead']);
  });

  test('is found by the names of its resource, as the term that writes it knows them', async () => {
    await using it = await operated(backend);
    const place = { kind: 'FleetApiKey', namespace: 'team', name: 'ci' };
    const found = async (uid: string, in_ = place) => (await it.bindings.formerOf(uid, in_)).map((one) => one.uid);
    // The account's binding of the support has these names.
    expect(await found('uid-new')).toEqual([owner.uid]);
    expect(await found(owner.uid)).toEqual([]);
    expect(await found('uid-new', { ...place, name: 'other' })).toEqual([]);
    await it.bindings.save('uid-5', undefined, bindingTo(ACCOUNT));
    expect((await found('uid-new')).toSorted()).toEqual([owner.uid, 'uid-5'].toSorted());
    await it.bindings.save('uid-5', await it.bindings.get('uid-5'), undefined);
    expect(await found('uid-new')).toEqual([owner.uid]);
    // Another term reads them from the store.
    expect((await createBindings(it.store, []).formerOf('uid-new', place)).map(({ uid }) => uid)).toEqual([owner.uid]);
  });

  test('is listed in pages, of one namespace or of all, with a bounded number looked at', async () => {
    await using it = await operated(backend);
    const recoveries = createRecoveries(it.mutations);
    const names = Array.from({ length: LIMITS.bindingsLookedAtMax + 1 }, (_, at) => `z-${String(at).padStart(5, '0')}`);
    for (let from = 0; from < names.length; from += 100) {
      await write(
        it.store,
        names.slice(from, from + 100).map((uid) => put(KEYS.binding(uid), bindingTo(ACCOUNT, { namespace: 'crowd' }))),
      );
    }
    const last = { ...bindingTo(ACCOUNT), name: 'last' };
    await write(it.store, [put(KEYS.binding('zz'), last)]);
    const first = await recoveries.list({ namespace: 'team', limit: 10, after: undefined });
    expect(first.items.map(({ uid }) => uid)).toEqual([owner.uid]);
    const second = await recoveries.list({ namespace: 'team', limit: 10, after: first.next });
    expect(second.items.map(({ uid }) => uid)).toEqual(['zz']);
    expect(second.next).toBeUndefined();
    const two = await recoveries.list({ namespace: undefined, limit: 2, after: undefined });
    expect(two.items).toHaveLength(2);
    expect(two.next).toBe(two.items[1]?.uid);
  });

  test('a consent is in the audit of the service, and another one takes its place', async () => {
    await using it = await operated(backend);
    const recoveries = await consented(it, 'ns-first');
    await recoveries.allow({ ...it.origin(), requestId: generateMarker(it.core.random) }, 'team', NEW_NAMESPACE);
    const holding = await recoveries.holding('team');
    expect(holding?.namespaceUid).toBe(NEW_NAMESPACE);
    expect(await recoveries.holding('other')).toBeUndefined();
    const all = [];
    for await (const one of recoveries.all()) all.push(one.namespace);
    expect(all).toEqual(['team']);
  });
});
