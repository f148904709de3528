import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { keyStatus } from '../../support/offboarding/leavers.ts';
import { askBy, makeToken } from '../../support/panel/access-tokens/tokens.ts';
import { ask, panelMuster, putUser, rewrite, signedIn } from '../../support/panel/panel-users.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { metric } from '../../support/service/daemon.ts';
import { tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';

/* The list of users tells who has sessions and living API keys, and when each was last used. */

const NOTHING = {
  apiKeys: 0,
  apiKeysLastUsedAt: null,
  accessTokens: 0,
  accessTokensLastUsedAt: null,
  sessions: 0,
  sessionsLastUsedAt: null,
  providerRefusedAt: null,
};

onEachBackend('the list of users', (backend) => {
  test('has the living keys and sessions of each user, with their last use', async () => {
    await using panel = await panelMuster(backend);
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const ann = await signedIn(store, { accounts: [{ accountId, role: 'owner' }] });
    const bob = await signedIn(store, { accounts: [{ accountId, role: 'owner' }] });
    const nobody = await putUser(store);
    const op = await signedIn(store, { operator: true });
    // A session whose time is over is none.
    await signedIn(store, nobody, { expiresAt: 1 });
    const listed = async (userId: string): Promise<unknown> => {
      const byToken = await asOperator(muster, '/users');
      const inPanel = await ask(panel, op, '/users');
      const [one, other] = [byToken, inPanel].map(({ body }) =>
        (body['users'] as { userId: string }[]).find((user) => user.userId === userId),
      );
      expect(one).toEqual(other);
      return one;
    };
    const keysOf = `/accounts/${accountId}/api-keys`;
    const made = await ask(panel, ann, keysOf, { method: 'POST', body: { name: 'ci' } });
    const { keyId, apiKey } = made.body as { keyId: string; apiKey: string };
    await ask(panel, ann, keysOf, { method: 'POST', body: { name: 'unused' } });
    const unused = { apiKeys: 2, apiKeysLastUsedAt: null, sessions: 1 };
    expect(await listed(ann.userId)).toMatchObject({ ...unused, sessionsLastUsedAt: expect.any(String) as string });
    expect(await keyStatus(panel, apiKey)).toBe(200);
    expect(await listed(ann.userId)).toMatchObject({ apiKeys: 2, apiKeysLastUsedAt: expect.any(String) as string });
    expect(await listed(nobody)).toMatchObject(NOTHING);
    expect(await listed(bob.userId)).toMatchObject({ apiKeys: 0, sessions: 1 });

    const token = await makeToken(panel, ann, { accountId });
    expect(await listed(ann.userId)).toMatchObject({ accessTokens: 1, accessTokensLastUsedAt: null });
    expect((await askBy(panel, token, `/accounts/${accountId}/overview`)).status).toBe(200);
    expect(await listed(ann.userId)).toMatchObject({ accessTokensLastUsedAt: expect.any(String) as string });

    // Both makers know a secret of a key that was rotated with an overlap.
    const rotated = await ask(panel, bob, `${keysOf}/${keyId}/rotation`, {
      method: 'POST',
      body: { graceSeconds: 3600 },
    });
    expect([rotated.status, rotated.text]).toEqual([201, expect.any(String)]);
    expect(await listed(ann.userId)).toMatchObject({ apiKeys: 2 });
    expect(await listed(bob.userId)).toMatchObject({ apiKeys: 1, apiKeysLastUsedAt: expect.any(String) as string });

    // Whom the provider refused is told of those alone who have keys that work.
    const refusedAt = Date.now() - 1000;
    for (const userId of [ann.userId, nobody]) {
      await rewrite(panel, KEYS.user(userId), (user) => ({ ...user, providerRefusedAt: refusedAt }));
    }
    expect(await listed(ann.userId)).toMatchObject({ providerRefusedAt: new Date(refusedAt).toISOString() });
    expect(await listed(nobody)).toMatchObject(NOTHING);
    expect(await metric(muster, 'muster_users_refused_with_keys')).toBe(1);

    // A damaged note of last uses hides a time, and no user.
    await rewrite(panel, KEYS.keyUses(accountId), () => ({ keys: 'damaged' }));
    expect(await listed(ann.userId)).toMatchObject({ apiKeys: 2 });
    await asOperator(muster, `/users/${ann.userId}`, { method: 'PATCH', body: { disabled: true } });
    expect(await listed(ann.userId)).toMatchObject(NOTHING);
    expect(await metric(muster, 'muster_users_refused_with_keys')).toBe(0);
  });
});
