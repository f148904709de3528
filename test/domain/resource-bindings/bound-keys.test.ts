import { expect, test } from 'vitest';
import type { Caller } from '../../../src/domain/apps/own-app.ts';
import type { KeyScope } from '../../../src/domain/key-validity/key-restriction.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { hashOfKey } from '../../../src/domain/key-validity/key-expiry.ts';
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

/* H23: the keys of a FleetApiKey, which is rotated like every other key: its id, its apps and its restriction stay. */

const FULL: KeyScope = { access: 'full', allowedCidrs: [] };
const ENROLLS: KeyScope = { access: 'enroll', allowedCidrs: [] };
const FIRST = 'f'.repeat(12);
const STRANGER = 'x'.repeat(12);
const OVERLAP_MS = 600_000;

interface Registered {
  readonly keyId?: string;
  readonly scope?: KeyScope;
  readonly expiresAt?: number;
}

const preconditionOf = async (it: Operated, accountId = ACCOUNT) => {
  const binding = await it.bindings.get('uid-of-key');
  return it.bindings.precondition('uid-of-key', binding, bindingTo(accountId));
};

async function register(it: Operated, { keyId = FIRST, scope = ENROLLS, expiresAt }: Registered = {}) {
  const key = { keyId, hash: 'hash-1', name: 'ci', scope, expiresAt };
  await it.keys.register(it.origin(), ACCOUNT, key, await preconditionOf(it));
}

interface Rotated {
  readonly hash: string;
  readonly expiresAt?: number;
  readonly accountId?: string;
  readonly name?: string;
  /** The secret and the end that the operator has seen; those that are stored without it. */
  readonly replaces?: { readonly hash: string; readonly expiresAt: number | undefined };
}

async function rotate(it: Operated, { hash, expiresAt, accountId = ACCOUNT, name = 'ci', ...more }: Rotated) {
  const origin = it.origin();
  const replaces = more.replaces ?? (await seen(it));
  const secret = { keyId: FIRST, name, hash, expiresAt, formerUntil: origin.at + OVERLAP_MS, replaces };
  await it.keys.rotate(origin, accountId, secret, await preconditionOf(it, accountId));
  return origin;
}

async function seen(it: Operated) {
  const record = await storedKey(it);
  return { hash: hashOfKey(record), expiresAt: record.expiring?.expiresAt };
}

const callerOf = async (it: Operated, secret: string, keyId = FIRST): Promise<Caller> => ({
  accountId: ACCOUNT,
  authority: { keyId, secret, use: 'enroll', client: '127.0.0.1' },
  reader: await it.core.fleet.current(),
  origin: it.origin(),
});
const created = async (it: Operated, secret: string, keyId = FIRST): Promise<string> =>
  (await it.apps.create(await callerOf(it, secret, keyId), 'daemon')).appId;
const issued = async (it: Operated, secret: string, appIds: readonly string[]): Promise<readonly string[]> =>
  await outcomes(appIds.map(async (appId) => it.apps.issueCode(await callerOf(it, secret), appId, undefined)));

async function storedKey(it: Operated) {
  const entry = await it.store.get(KEYS.apiKey(ACCOUNT, FIRST));
  if (!entry) throw new Error('there is no such key');
  return parseRecord(KEYS.apiKey, entry).record;
}

onEachBackend('a key of a resource that is rotated', (backend) => {
  test('is at the same pending apps with either secret, and with one former secret at most', async () => {
    await using it = await operated(backend);
    await register(it);
    const appIds = [await created(it, 'hash-1')];
    await rotate(it, { hash: 'hash-2' });
    appIds.push(await created(it, 'hash-2'));
    expect([await issued(it, 'hash-1', appIds), await issued(it, 'hash-2', appIds)]).toEqual([
      ['done', 'done'],
      ['done', 'done'],
    ]);
    await rotate(it, { hash: 'hash-3' });
    expect(await issued(it, 'hash-1', appIds)).toEqual(['invalid_key', 'invalid_key']);
    expect(await issued(it, 'hash-2', appIds)).toEqual(['done', 'done']);
    await it.apps.revoke({ ...(await callerOf(it, 'hash-3')), authority: { guarded: true } }, appIds[0] ?? '');
    expect(await issued(it, 'hash-3', appIds)).toEqual(['not_found', 'done']);
  });

  test('may do what it might before, also where that was narrowed while the secret was on its way', async () => {
    await using it = await operated(backend);
    await register(it, { scope: FULL });
    await it.apiKeys.change(it.origin(), ACCOUNT, { keyId: FIRST, access: 'read' });
    await rotate(it, { hash: 'hash-2' });
    expect(await outcomes([created(it, 'hash-2'), created(it, 'hash-1')])).toEqual(['forbidden', 'forbidden']);
  });

  test('has no app of another key', async () => {
    await using it = await operated(backend);
    await register(it);
    await register(it, { keyId: STRANGER });
    const appId = await created(it, 'hash-1', STRANGER);
    await rotate(it, { hash: 'hash-2' });
    expect(await issued(it, 'hash-2', [appId])).toEqual(['not_found']);
  });

  test('answers a repetition of a request that was made with the former secret', async () => {
    await using it = await operated(backend);
    const asked = { key: 'again', path: '/v1/apps', question: 'daemon' };
    await register(it);
    const first = await it.apps.create(await callerOf(it, 'hash-1'), 'daemon', asked);
    await rotate(it, { hash: 'hash-2' });
    const again = await it.apps.create(await callerOf(it, 'hash-2'), 'daemon', asked);
    expect(again).toMatchObject({ appId: first.appId, replayed: true });
  });

  test('has the end that its resource says, and the former secret no later one than it had', async () => {
    await using it = await operated(backend);
    const { at } = it.origin();
    const [soon, later] = [at + 60_000, at + 2 * OVERLAP_MS];
    await register(it, { expiresAt: soon });
    await rotate(it, { hash: 'hash-2', expiresAt: later });
    const rotated = await storedKey(it);
    expect([rotated.expiring?.expiresAt, rotated.former?.expiresAt]).toEqual([later, soon]);
    const last = await rotate(it, { hash: 'hash-3' });
    const endless = await storedKey(it);
    expect([endless.expiring, endless.former?.expiresAt]).toEqual([undefined, last.at + OVERLAP_MS]);
    expect(await outcomes([rotate(it, { hash: 'hash-4', expiresAt: it.origin().at })])).toEqual(['invalid_request']);
  });

  test('stands in the audit like every rotation, and a rotation that is late finds no key', async () => {
    await using it = await operated(backend);
    await register(it);
    await rotate(it, { hash: 'hash-2' });
    const entries = (await auditsOf(it.store, ACCOUNT)).filter(({ action }) => action === 'key.rotated');
    expect(entries.map(({ detail }) => detail)).toEqual([{ keyId: FIRST, graceSeconds: OVERLAP_MS / 1000 }]);
    const replaces = await seen(it);
    await it.apiKeys.revoke(it.origin(), ACCOUNT, FIRST);
    await expect(rotate(it, { hash: 'hash-3', replaces })).rejects.toThrow(/revoked/);
  });

  test('undoes no rotation and no end that came from outside after the operator had looked', async () => {
    await using it = await operated(backend);
    await register(it);
    const before = await seen(it);
    await it.apiKeys.rotate(it.origin(), ACCOUNT, { keyId: FIRST, graceSeconds: 0 });
    const outside = await storedKey(it);
    await expect(rotate(it, { hash: 'hash-2', replaces: before })).rejects.toThrow(/another secret or end/);
    const between = await seen(it);
    const expiresAt = it.origin().at + OVERLAP_MS;
    await it.apiKeys.change(it.origin(), ACCOUNT, { keyId: FIRST, expiresAt });
    await expect(rotate(it, { hash: 'hash-2', replaces: between })).rejects.toThrow(/another secret or end/);
    expect(await seen(it)).toEqual({ hash: hashOfKey(outside), expiresAt });
    await rotate(it, { hash: 'hash-2' });
    expect(await outcomes([created(it, 'hash-2')])).toEqual(['done']);
  });

  test('has the name that its resource has by then', async () => {
    await using it = await operated(backend);
    await register(it);
    await rotate(it, { hash: 'hash-2', name: 'renamed' });
    expect((await storedKey(it)).name).toBe('renamed');
  });

  test('belongs to its account', async () => {
    await using it = await operated(backend);
    const binding = it.bindings.precondition('uid-2', undefined, bindingTo(OTHER));
    await it.boundAccounts.create(it.origin(), OTHER, { ...wish, managedBy: { ...owner, uid: 'uid-2' } }, binding);
    await register(it);
    await expect(rotate(it, { hash: 'hash-2', accountId: OTHER })).rejects.toThrow(/revoked/);
    expect(await outcomes([created(it, 'hash-1')])).toEqual(['done']);
  });
});

onEachBackend('the scope of a key of a resource', (backend) => {
  async function scene() {
    let faulty: FaultyStore | undefined;
    const it = await operated(backend, { wrapStore: (store: Store) => (faulty = faultyStore(store)) });
    await register(it, { scope: FULL });
    const fill = (fullness: number): void => {
      if (faulty) faulty.full = fullness;
    };
    const set = async (scope: KeyScope): Promise<readonly string[]> => {
      const precondition = await preconditionOf(it);
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
    // Entries of one instant have no order.
    expect(changes.map(({ detail }) => detail)).toHaveLength(2);
    expect(changes.map(({ detail }) => detail)).toEqual(
      expect.arrayContaining([
        { keyId: FIRST, access: 'read', allowedCidrs: '10.0.0.0/8 192.0.2.1' },
        { keyId: FIRST, access: 'full', allowedCidrs: '' },
      ]),
    );
  });
});
