import { expect, test } from 'vitest';
import { createLinkedAccounts, type Owner } from '../../../src/domain/resource-bindings/bound-accounts.ts';
import { createLinkedApps } from '../../../src/domain/resource-bindings/bound-apps.ts';
import { createLinkedKeys } from '../../../src/domain/resource-bindings/bound-keys.ts';
import { StaleRead } from '../../../src/domain/mutation/stale-read.ts';
import { createLinks, type Link, type LinkRecord } from '../../../src/domain/resource-bindings/bindings.ts';
import type { AppStatus } from '../../../src/domain/records/records.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import type { Origin } from '../../../src/domain/mutation/mutation.ts';
import { KEYS, put } from '../../../src/domain/records/records.ts';
import { Refusal } from '../../../src/domain/refusal.ts';
import { onEachBackend, type Backend } from '../../support/store/backends.ts';
import { write } from '../../support/metering/metering.ts';
import { openedCore, type OpenedCore } from '../../support/service/opened-core.ts';

/* What custom resources stand for is made in one commit with its link, and by who leads alone. */

const ACCOUNT = 'a'.repeat(16);
const OTHER = 'b'.repeat(16);
const owner: Owner = { uid: 'uid-1', namespace: 'team', name: 'acme' };
const wish = { name: 'acme', entitlement: 'standard', owner } as const;

/** The tools of an operator, and an account with its link. */
async function operated(backend: Backend) {
  const opened = await openedCore(backend);
  const { core, domain } = opened;
  const { store, clock, clockWatch } = core;
  const origin = (): Origin => ({
    actor: 'kubernetes:team/FleetAccount/acme',
    requestId: 'request',
    at: clock.now(),
    deadline: clock.monotonic() + 60_000,
  });
  const links = createLinks(store, []);
  const accounts = createLinkedAccounts({ ...domain.mutations, clockWatch });
  await accounts.create(origin(), ACCOUNT, wish, links.tie(owner.uid, undefined, linkTo(ACCOUNT)));
  const account = async (accountId = ACCOUNT) => await (await core.fleet.current()).account(accountId);
  return {
    ...domain,
    core,
    store,
    links,
    origin,
    account,
    linkedAccounts: accounts,
    keys: createLinkedKeys(domain.mutations),
    linkedApps: createLinkedApps({ ...domain.mutations, lanes: domain.lanes }),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}
type Operated = Awaited<ReturnType<typeof operated>> & Pick<OpenedCore, 'core'>;

const linkTo = (accountId: string, more: Partial<LinkRecord> = {}): LinkRecord => ({
  kind: 'FleetApiKey',
  namespace: 'team',
  name: 'ci',
  accountId,
  generation: 1,
  ...more,
});

const outcomes = async (work: readonly Promise<unknown>[]): Promise<string[]> =>
  (await Promise.allSettled(work)).map((settled) => {
    if (settled.status === 'fulfilled') return 'done';
    const reason: unknown = settled.reason;
    return reason instanceof Refusal ? reason.code : reason instanceof Error ? reason.name : 'thrown';
  });

const register = async (it: Operated, keyId: string, uid = 'uid-key'): Promise<void> => {
  const before = await it.links.get(uid);
  const tie = it.links.tie(uid, before, linkTo(ACCOUNT, { pending: { keyId, hash: 'hash' } }));
  await it.keys.register(it.origin(), ACCOUNT, { keyId, hash: 'hash', name: 'ci' }, tie);
};

onEachBackend('what a custom resource stands for', (backend) => {
  test('an account is there with its link, or not at all', async () => {
    await using it = await operated(backend);
    expect((await it.account())?.record).toMatchObject({ name: 'acme', managedBy: owner });
    expect((await it.links.get(owner.uid))?.record.accountId).toBe(ACCOUNT);
    // The same wish by who did not see that it was carried out.
    const again = it.linkedAccounts.create(it.origin(), OTHER, wish, it.links.tie(owner.uid, undefined, linkTo(OTHER)));
    await expect(again).rejects.toThrow(StaleRead);
    expect(await it.account(OTHER)).toBeUndefined();
  });

  test('of two who carry out a wish at once one does', async () => {
    await using it = await operated(backend);
    const ids = ['c', 'd', 'e', 'f'].map((letter) => letter.repeat(16));
    const tried = ids.map((id) =>
      it.linkedAccounts.create(it.origin(), id, wish, it.links.tie('uid-2', undefined, linkTo(id))),
    );
    expect((await outcomes(tried)).toSorted()).toEqual(['StaleRead', 'StaleRead', 'StaleRead', 'done']);
    const made = await Promise.all(ids.map((id) => it.account(id)));
    expect(made.filter((account) => account !== undefined)).toHaveLength(1);
  });

  test('who does not lead any more writes nothing', async () => {
    await using it = await operated(backend);
    const held = await it.store.hold(KEYS.leader, '{}', 60_000);
    if (held === 'taken') throw new Error('somebody leads');
    const leading = createLinks(it.store, [{ key: KEYS.leader, revision: held.revision }]);
    const before = await it.links.get(owner.uid);
    const patch = { name: 'renamed' };
    const tie = leading.tie(owner.uid, before, linkTo(ACCOUNT, { generation: 2 }));
    await it.accounts.change(it.origin(), ACCOUNT, patch, tie);
    await held.release();
    const late = leading.tie(owner.uid, await it.links.get(owner.uid), undefined);
    const key = { keyId: 'k'.repeat(12), hash: 'hash', name: 'ci' };
    expect(
      await outcomes([
        leading.save(owner.uid, await it.links.get(owner.uid), undefined),
        it.keys.register(it.origin(), ACCOUNT, key, late),
        it.linkedAccounts.release(it.origin(), ACCOUNT, owner, true, late),
      ]),
    ).toEqual(['StaleRead', 'StaleRead', 'StaleRead']);
    expect((await it.account())?.record).toMatchObject({ name: 'renamed', disabled: false });
    expect((await it.links.get(owner.uid))?.record.generation).toBe(2);
  });

  test('a key id is used once: neither twice, nor again after its revocation', async () => {
    await using it = await operated(backend);
    const keyId = 'k'.repeat(12);
    expect((await outcomes([register(it, keyId, 'one'), register(it, keyId, 'two')])).toSorted()).toEqual([
      'done',
      'not_found',
    ]);
    expect((await (await it.account())?.apiKeys())?.map(({ id }) => id)).toEqual([keyId]);
    await it.accounts.revokeKey(it.origin(), ACCOUNT, keyId);
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
      const tie = it.links.tie(by.uid, await it.links.get(by.uid), linkTo(accountId));
      await it.linkedAccounts.adopt(it.origin(), accountId, by, tie);
    };
    const heir = { uid: 'uid-heir', namespace: 'team', name: 'heir' };
    await expect(adopt(heir)).rejects.toMatchObject({ code: 'not_found' });
    await it.accounts.change(it.origin(), accountId, { adoptableBy: 'team/heir' });
    await expect(adopt({ ...heir, namespace: 'other' })).rejects.toMatchObject({ code: 'not_found' });
    // Deleted and created anew while the wish was carried out: the same name, another UID.
    const tried = await outcomes([adopt(heir), adopt({ ...heir, uid: 'uid-heir-2' })]);
    expect(tried.toSorted()).toEqual(['done', 'not_found']);
    expect((await it.account(accountId))?.record.adoptableBy).toBeUndefined();
    await expect(adopt(heir)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('an account is released by the resource that it follows, and by no other', async () => {
    await using it = await operated(backend);
    const release = async (by: Owner): Promise<void> => {
      const tie = it.links.tie(by.uid, await it.links.get(by.uid), undefined);
      await it.linkedAccounts.release(it.origin(), ACCOUNT, by, true, tie);
    };
    const stranger = { ...owner, uid: 'uid-2' };
    await it.links.save(stranger.uid, undefined, linkTo(ACCOUNT));
    await release(stranger);
    expect((await it.account())?.record).toMatchObject({ disabled: false, managedBy: owner });
    await release(owner);
    expect((await it.account())?.record).toMatchObject({ disabled: true });
    expect((await it.account())?.record.managedBy).toBeUndefined();
    expect(await it.links.get(owner.uid)).toBeUndefined();
  });

  test('an app is there with its link, and its code is registered once', async () => {
    await using it = await operated(backend);
    const appId = 'p'.repeat(20);
    const callerFor = async (before: Link | undefined) => ({
      accountId: ACCOUNT,
      authority: { tie: it.links.tie('uid-app', before, linkTo(ACCOUNT, { appId })) },
      reader: await it.core.fleet.current(),
      origin: it.origin(),
    });
    await it.linkedApps.create(await callerFor(undefined), appId, 'daemon');
    const made = await (await it.account())?.app(appId);
    expect(made?.record).toMatchObject({ name: 'daemon', status: 'pending', codes: [] });
    const register = async (status: AppStatus): Promise<number> =>
      await it.linkedApps.registerCode(await callerFor(await it.links.get('uid-app')), appId, { hash: 'hash' }, status);
    const first = await register('pending');
    const again = await register('pending');
    expect(again).toBe(first);
    expect((await (await it.account())?.app(appId))?.record.codes).toHaveLength(1);
    await it.apps.revoke(await callerFor(await it.links.get('uid-app')), appId);
    await expect(register('pending')).rejects.toMatchObject({ name: 'StaleRead' });
    await register('revoked');
    expect((await (await it.account())?.app(appId))?.record).toMatchObject({ status: 'revoked', codes: [] });
  });

  test('a link is saved by who has seen it', async () => {
    await using it = await operated(backend);
    await it.links.save('uid-3', undefined, linkTo(ACCOUNT));
    const seen = await it.links.get('uid-3');
    const saves = [2, 3].map((generation) => it.links.save('uid-3', seen, linkTo(ACCOUNT, { generation })));
    expect((await outcomes(saves)).toSorted()).toEqual(['StaleRead', 'done']);
    await it.links.save('uid-3', await it.links.get('uid-3'), undefined);
    expect(await it.links.get('uid-3')).toBeUndefined();
  });
});
