import { expect, test } from 'vitest';
import type { Caller } from '../../../src/domain/apps/own-app.ts';
import type { KeyScope } from '../../../src/domain/key-validity/key-restriction.ts';
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

/* H23: the key by which a FleetApiKey is rotated goes on with the pending apps that the keys before it created. */

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
    await register(it, { keyId: FIRST, scope: { access: 'full', allowedCidrs: [] } });
    await register(it, { keyId: STRANGER });
    const appIds = [await created(it, FIRST), await created(it, STRANGER)];
    await register(it, { keyId: SECOND, follows: FIRST });
    expect(await issued(it, SECOND, appIds)).toEqual(['not_found', 'not_found']);
    expect(await issued(it, STRANGER, appIds)).toEqual(['not_found', 'done']);
    // Of a key that was revoked no other one is the successor.
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
