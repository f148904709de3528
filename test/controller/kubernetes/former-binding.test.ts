import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/controller/kubernetes/client/kube-api.ts';
import {
  formerOfAccount,
  formerOfDependant,
  type Recovering,
} from '../../../src/controller/kubernetes/former-binding.ts';
import type { ResourceEvent } from '../../../src/controller/kubernetes/runtime/kind.ts';
import { letGo } from '../../../src/controller/kubernetes/runtime/let-go.ts';
import { createRecoveries } from '../../../src/domain/resource-bindings/recoveries.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { bindingTo, ACCOUNT, operated, OTHER, owner, type Operated } from '../../support/kubernetes/bound-core.ts';
import { asResource } from '../../support/kubernetes/decisions.ts';
import { write } from '../../support/metering/metering.ts';
import { onEachBackend } from '../../support/store/backends.ts';

/* A resource under a new UID waits for an operator's consent, and then goes on (ADR 0064). */

const HERE = 'ns-here';

/** A FleetAccount with the UID of before, and a key of it, with their bindings as the operator has them. */
async function restored(backend: Parameters<typeof operated>[0]) {
  const it = await operated(backend);
  const before = await it.bindings.get(owner.uid);
  await it.bindings.save(owner.uid, before, { ...bindingTo(ACCOUNT), kind: 'FleetAccount', name: 'acme' });
  await it.bindings.save('key-1', undefined, bindingTo(ACCOUNT));
  return it;
}

interface Seen {
  readonly namespaceUid?: string | undefined;
  /** The UID of the FleetAccount `acme` in the cluster. */
  readonly account?: string;
}

function contextOf(it: Operated, seen: Seen = {}): Recovering {
  const metadata = { name: 'acme', namespace: 'team', resourceVersion: '1', generation: 1, finalizers: [] };
  const account: KubeObject = { metadata: { ...metadata, uid: seen.account ?? owner.uid } };
  return {
    bindings: it.bindings,
    recoveries: createRecoveries(it.mutations),
    fleet: it.core.fleet,
    clock: it.core.clock,
    find: (kind) => (kind === 'FleetAccount' ? account : undefined),
    namespaceUid: async () => ('namespaceUid' in seen ? seen.namespaceUid : HERE),
    origin: it.origin,
    event: () => undefined,
  };
}

const anAccount = (uid: string, name = 'acme', spec: object = {}) =>
  asResource('FleetAccount', { entitlement: 'standard', disabled: false, deletionPolicy: 'Retain', ...spec } as const, {
    uid,
    name,
  });
const aKey = (uid: string, name = 'ci') => asResource('FleetApiKey', { accountRef: { name: 'acme' } }, { uid, name });
const allow = (it: Operated, namespaceUid = HERE): Promise<unknown> =>
  createRecoveries(it.mutations).allow({ ...it.origin(), actor: 'operator' }, 'team', namespaceUid);

onEachBackend('a resource under a new UID', (backend) => {
  test('makes nothing while its account is not there yet, also with a consent', async () => {
    await using it = await restored(backend);
    await allow(it);
    const waits = await formerOfDependant(aKey('key-2'), contextOf(it, { account: 'not-recovered' }));
    expect(waits).toMatchObject({ type: 'Ready', status: 'False', reason: 'AccountNotReady' });
    expect(await it.bindings.get('key-2')).toBeUndefined();
  });

  test('waits, says how, and goes on with what was bound after the consent', async () => {
    await using it = await restored(backend);
    const waits = await formerOfAccount(anAccount('new'), contextOf(it));
    expect(waits).toMatchObject({ status: 'False', reason: 'FormerBinding' });
    expect(waits?.message).toContain("'muster kubernetes recover team'");
    await allow(it);
    expect(await formerOfAccount(anAccount('new'), contextOf(it))).toBeUndefined();
    expect((await it.bindings.get('new'))?.record.accountId).toBe(ACCOUNT);
    expect(await formerOfDependant(aKey('key-2'), contextOf(it, { account: 'new' }))).toBeUndefined();
    expect((await it.bindings.get('key-2'))?.record.accountId).toBe(ACCOUNT);
    expect(await it.bindings.get('key-1')).toBeUndefined();
  });

  test.each<[string | undefined, string]>([
    ['ns-other', 'the consent is for another namespace of the name'],
    [undefined, 'the namespace cannot be read'],
  ])('waits in the namespace %s all the same: %s', async (namespaceUid, _why) => {
    await using it = await restored(backend);
    await allow(it);
    const waits = await formerOfAccount(anAccount('new'), contextOf(it, { namespaceUid }));
    expect(waits?.reason).toBe('FormerBinding');
    expect(await it.bindings.get('new')).toBeUndefined();
  });

  test('waits once the consent has ended', async () => {
    await using it = await restored(backend);
    await write(it.store, [put(KEYS.recovery('team'), { namespaceUid: HERE, until: it.core.clock.now() })]);
    expect((await formerOfDependant(aKey('key-2'), contextOf(it)))?.reason).toBe('FormerBinding');
  });

  test.each<[string, (it: Operated) => Promise<unknown>]>([
    ['an account of another name', (it) => formerOfAccount(anAccount('new', 'other'), contextOf(it))],
    ['the account itself', (it) => formerOfAccount(anAccount(owner.uid), contextOf(it))],
    [
      'an account that adopts another one',
      (it) => formerOfAccount(anAccount('new', 'acme', { adoptAccountId: OTHER }), contextOf(it)),
    ],
    ['a key of another name', (it) => formerOfDependant(aKey('key-2', 'other'), contextOf(it))],
    [
      'an account whose former resource has lost it',
      async (it) => {
        const record = (await it.account())?.record;
        if (!record) throw new Error('no account');
        await write(it.store, [put(KEYS.account(ACCOUNT), { ...record, managedBy: { ...owner, uid: 'heir' } })]);
        return await formerOfAccount(anAccount('new'), contextOf(it));
      },
    ],
    [
      'an account of the same namespace, which is taken up as after a deletion',
      async (it) => {
        const record = (await it.account())?.record;
        if (!record) throw new Error('no account');
        await write(it.store, [put(KEYS.account(ACCOUNT), { ...record, managedBy: { ...owner, namespaceUid: HERE } })]);
        return await formerOfAccount(anAccount('new'), contextOf(it));
      },
    ],
  ])('goes on as ever: %s', async (_what, decide) => {
    await using it = await restored(backend);
    expect(await decide(it)).toBeUndefined();
  });

  test('goes without a clean-up where the consent is for another namespace of the name, and says so', async () => {
    await using it = await restored(backend);
    const said: string[] = [];
    const destination = { write: (line: string) => void said.push(line) };
    const deleted = async (namespaceUid: string | undefined = HERE, uid = 'key-1'): Promise<string | undefined> => {
      said.length = 0;
      const context = {
        ...contextOf(it, { namespaceUid }),
        event: ({ type, reason }: ResourceEvent) => void said.push(`${type} ${reason}`),
        log: pino({ level: 'warn' }, destination),
      };
      const decided = await letGo(aKey(uid), context);
      return typeof decided === 'object' ? decided.reason : decided;
    };
    expect(await deleted()).toBeUndefined();
    await allow(it, 'ns-new');
    expect(await deleted()).toBe('goes');
    expect(said).toEqual(['Warning CleanupSkipped', expect.stringContaining('without its clean-up')]);
    expect(said[1]).toContain(ACCOUNT);
    for (const namespaceUid of ['ns-new', HERE]) expect(await deleted(namespaceUid, 'nothing')).toBeUndefined();
    expect(await deleted('ns-new')).toBeUndefined();
    await write(it.store, [put(KEYS.recovery('team'), { namespaceUid: 'ns-new', until: it.core.clock.now() })]);
    expect(await deleted()).toBeUndefined();
    expect(said).toEqual([]);
  });

  test('is held while the UID of its namespace cannot be read, as long as the consent holds', async () => {
    await using it = await restored(backend);
    const log = pino({ level: 'silent' });
    const deleted = async () => await letGo(aKey('key-1'), { ...contextOf(it, { namespaceUid: undefined }), log });
    expect(await deleted()).toBeUndefined();
    await allow(it, 'ns-new');
    const held = await deleted();
    expect(held).toMatchObject({ type: 'Ready', status: 'False', reason: 'ApiServerRefused' });
    await write(it.store, [put(KEYS.recovery('team'), { namespaceUid: 'ns-new', until: it.core.clock.now() })]);
    expect(await deleted()).toBeUndefined();
  });
});
