import { expect, test } from 'vitest';
import type { Caller } from '../../../src/domain/apps/own-app.ts';
import type { KeyScope } from '../../../src/domain/key-validity/key-restriction.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import type { Store } from '../../../src/store/port.ts';
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
import { auditsOf } from '../../support/service/accounts.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';

/*
 * H23: the keys of a FleetApiKey. The one by which it is rotated goes on with the pending apps that the keys before it
 * created.
 */

const FULL: KeyScope = { access: 'full', allowedCidrs: [] };
const ENROLLS: KeyScope = { access: 'enroll', allowedCidrs: [] };
const FIRST = 'f'.repeat(12);
const SECOND = 's'.repeat(12);
const THIRD = 't'.repeat(12);
const STRANGER = 'x'.repeat(12);

interface Registered {
  readonly keyId: string;
  readonly follows?: string;
  readonly scope?: KeyScope;
  readonly accountId?: string;
}

async function register(it: Operated, { keyId, follows, scope = ENROLLS, accountId = ACCOUNT }: Registered) {
  const origin = it.origin();
  const precondition = it.bindings.precondition(keyId, undefined, bindingTo(accountId));
  const former = follows !== undefined && { follows: { keyId: follows, validUntil: origin.at + 600_000 } };
  await it.keys.register(
    origin,
    accountId,
    { keyId, hash: `hash-${keyId}`, name: 'ci', scope, ...former },
    precondition,
  );
}

const callerOf = async (it: Operated, keyId: string): Promise<Caller> => ({
  accountId: ACCOUNT,
  authority: { keyId, secret: `hash-${keyId}`, use: 'enroll', client: '127.0.0.1' },
  reader: await it.core.fleet.current(),
  origin: it.origin(),
});
const created = async (it: Operated, keyId: string): Promise<string> =>
  (await it.apps.create(await callerOf(it, keyId), 'daemon')).appId;
const issued = async (it: Operated, keyId: string, appIds: readonly string[]): Promise<readonly string[]> =>
  await outcomes(appIds.map(async (appId) => it.apps.issueCode(await callerOf(it, keyId), appId, undefined)));

onEachBackend('a key that follows another one by rotation', (backend) => {
  test('issues codes for the pending apps of the keys before it, and those for its own', async () => {
    await using it = await operated(backend);
    await register(it, { keyId: FIRST });
    const appIds = [await created(it, FIRST)];
    await register(it, { keyId: SECOND, follows: FIRST });
    appIds.push(await created(it, SECOND));
    await register(it, { keyId: THIRD, follows: SECOND });
    appIds.push(await created(it, THIRD));
    // The former key works for its overlap, and the installers that have either key are at the same apps.
    for (const keyId of [FIRST, SECOND, THIRD]) {
      expect(await issued(it, keyId, appIds)).toEqual(['done', 'done', 'done']);
    }
    await it.apps.revoke({ ...(await callerOf(it, THIRD)), authority: { guarded: true } }, appIds[0] ?? '');
    expect(await issued(it, THIRD, appIds)).toEqual(['not_found', 'done', 'done']);
  });

  test('does no more than the key before it, which was narrowed while this one was on its way', async () => {
    await using it = await operated(backend);
    await register(it, { keyId: FIRST, scope: FULL });
    await it.apiKeys.change(it.origin(), ACCOUNT, { keyId: FIRST, access: 'read' });
    await register(it, { keyId: SECOND, follows: FIRST, scope: FULL });
    expect(await outcomes([created(it, SECOND)])).toEqual(['forbidden']);
  });

  test('goes on where the keys before it are gone', async () => {
    await using it = await operated(backend);
    await register(it, { keyId: FIRST });
    const appId = await created(it, FIRST);
    await register(it, { keyId: SECOND, follows: FIRST });
    await it.apiKeys.revoke(it.origin(), ACCOUNT, FIRST);
    await register(it, { keyId: THIRD, follows: SECOND });
    await it.apiKeys.revoke(it.origin(), ACCOUNT, SECOND);
    expect(await issued(it, THIRD, [appId])).toEqual(['done']);
  });

  test('has no app of a key that it does not follow, and none that a key of other access created', async () => {
    await using it = await operated(backend);
    await register(it, { keyId: FIRST, scope: FULL });
    await register(it, { keyId: STRANGER });
    const appIds = [await created(it, FIRST), await created(it, STRANGER)];
    await register(it, { keyId: SECOND, follows: FIRST });
    expect(await issued(it, SECOND, appIds)).toEqual(['not_found', 'not_found']);
    expect(await issued(it, STRANGER, appIds)).toEqual(['not_found', 'done']);
    // A key that was revoked has no successor.
    await it.apiKeys.revoke(it.origin(), ACCOUNT, STRANGER);
    await register(it, { keyId: THIRD });
    expect(await issued(it, THIRD, appIds)).toEqual(['not_found', 'not_found']);
  });

  test('answers a repetition of a request that the key before it had made', async () => {
    await using it = await operated(backend);
    const asked = { key: 'again', path: '/v1/apps', question: 'daemon' };
    await register(it, { keyId: FIRST });
    const first = await it.apps.create(await callerOf(it, FIRST), 'daemon', asked);
    await register(it, { keyId: SECOND, follows: FIRST });
    await register(it, { keyId: STRANGER });
    const again = await it.apps.create(await callerOf(it, SECOND), 'daemon', asked);
    expect(again).toMatchObject({ appId: first.appId, replayed: true });
    const others = await it.apps.create(await callerOf(it, STRANGER), 'daemon', asked);
    expect([others.replayed, others.appId === first.appId]).toEqual([false, false]);
  });

  test('belongs to the account of the key before it', async () => {
    await using it = await operated(backend);
    const binding = it.bindings.precondition('uid-2', undefined, bindingTo(OTHER));
    await it.boundAccounts.create(it.origin(), OTHER, { ...wish, managedBy: { ...owner, uid: 'uid-2' } }, binding);
    await register(it, { keyId: FIRST });
    const appId = await created(it, FIRST);
    await expect(register(it, { keyId: SECOND, follows: FIRST, accountId: OTHER })).rejects.toThrow(/revoked/);
    expect(await issued(it, FIRST, [appId])).toEqual(['done']);
  });
});

onEachBackend('the scope of a key of a resource', (backend) => {
  async function scene() {
    let faulty: FaultyStore | undefined;
    const it = await operated(backend, { wrapStore: (store: Store) => (faulty = faultyStore(store)) });
    await register(it, { keyId: FIRST, scope: FULL });
    const fill = (fullness: number): void => {
      if (faulty) faulty.full = fullness;
    };
    const set = async (scope: KeyScope): Promise<readonly string[]> => {
      const binding = await it.bindings.get(FIRST);
      const precondition = it.bindings.precondition(FIRST, binding, binding?.record);
      return await outcomes([it.keys.setScope(it.origin(), ACCOUNT, { keyId: FIRST, scope }, precondition)]);
    };
    const stored = async () => {
      const entry = await it.store.get(KEYS.apiKey(ACCOUNT, FIRST));
      return entry && parseRecord(KEYS.apiKey, entry).record.restriction;
    };
    return { it, fill, set, stored };
  }

  test('gets less on a full store, and neither more nor other access', async () => {
    const { it, fill, set, stored } = await scene();
    await using _ = it;
    fill(0.99);
    const bound: KeyScope = { access: 'full', allowedCidrs: ['10.0.0.0/8'] };
    const reads: KeyScope = { ...bound, access: 'read' };
    expect([await set(bound), await set(reads)]).toEqual([['done'], ['done']]);
    const others: readonly KeyScope[] = [
      { ...reads, access: 'enroll' },
      { ...reads, allowedCidrs: ['10.0.0.0/9'] },
      { access: 'read', allowedCidrs: [] },
      { access: 'full', allowedCidrs: ['192.0.2.0/24'] },
      FULL,
    ];
    for (const scope of others) expect([scope, await set(scope)]).toEqual([scope, ['StoreUnavailable']]);
    expect(await stored()).toEqual(reads);
    fill(0.5);
    for (const scope of others) expect([scope, await set(scope)]).toEqual([scope, ['done']]);
    expect(await stored()).toBeUndefined();
  });

  test('stands in the audit with every change, that to full access too', async () => {
    const { it, set } = await scene();
    await using _ = it;
    await set({ access: 'read', allowedCidrs: ['10.0.0.0/8', '192.0.2.1'] });
    await set(FULL);
    const changes = (await auditsOf(it.store, ACCOUNT)).filter(({ action }) => action === 'key.changed');
    expect(changes.map(({ detail }) => detail)).toEqual([
      { keyId: FIRST, access: 'read', allowedCidrs: '10.0.0.0/8 192.0.2.1' },
      { keyId: FIRST, access: 'full', allowedCidrs: '' },
    ]);
  });
});
