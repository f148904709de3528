import { expect, test } from 'vitest';
import { LIMITS } from '../../../../src/domain/limits.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { ask, panelMuster, rewrite, signedIn, type PanelMuster } from '../../../support/panel/panel-users.ts';
import { askBy, askForToken, inDays, LATEST_DAYS, makeToken } from '../../../support/panel/access-tokens/tokens.ts';
import { asOperator, codeOf } from '../../../support/panel/visitor.ts';
import { createApp, tenant } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

interface Entry {
  readonly action: string;
  readonly actor: string;
  readonly actorName?: string;
  readonly target?: string;
  readonly targetName?: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

const auditOf = async ({ muster }: PanelMuster, accountId: string): Promise<readonly Entry[]> =>
  (await asOperator(muster, `/accounts/${accountId}/audit`)).body['entries'] as Entry[];

onEachBackend('access tokens', (backend) => {
  test('are shown once, listed without their text, used, and revoked at once', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const made = await askForToken(panel, ann, { accountId, role: 'owner', name: 'report' });
    expect(made.status).toBe(201);
    const { token, tokenId } = made.body as { token: string; tokenId: string };
    expect(token).toMatch(new RegExp(`^mst_pat_${tokenId}_[0-9A-Za-z]{49}$`));
    expect((await panel.store.get(KEYS.accessToken(tokenId)))?.value).not.toContain(token.slice(25));
    const listed = async () => (await ask(panel, ann, '/me/access-tokens')).body['accessTokens'] as unknown[];
    const facts = { tokenId, name: 'report', accountId, accountName: 'tenant', role: 'owner' };
    expect(await listed()).toMatchObject([{ ...facts, lastUsedAt: null }]);
    expect((await askBy(panel, { token }, `/accounts/${accountId}/overview`)).status).toBe(200);
    expect(await listed()).toMatchObject([{ ...facts, lastUsedAt: expect.any(String) as string }]);
    const created = await askBy(panel, { token }, `/accounts/${accountId}/apps`, {
      method: 'POST',
      body: { name: 'a' },
    });
    expect(created.status).toBe(201);
    expect((await ask(panel, ann, `/me/access-tokens/${tokenId}`, { method: 'DELETE' })).status).toBe(204);
    const dead = await askBy(panel, { token }, `/accounts/${accountId}/overview`);
    expect([dead.status, codeOf(dead), dead.headers.get('www-authenticate')]).toEqual([401, 'invalid_token', 'Bearer']);
    expect(await listed()).toEqual([]);
    expect((await ask(panel, ann, `/me/access-tokens/${tokenId}`, { method: 'DELETE' })).status).toBe(404);
  });

  test('are in the audit of their account, with the person and the token by name', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { name: 'Ann', accounts: [{ accountId, role: 'owner' }] });
    const { token, tokenId } = await makeToken(panel, ann, { accountId, role: 'owner', name: 'robot' });
    await askBy(panel, { token }, `/accounts/${accountId}/apps`, { method: 'POST', body: { name: 'a' } });
    await ask(panel, ann, `/me/access-tokens/${tokenId}`, { method: 'DELETE' });
    const entries = (await auditOf(panel, accountId)).slice(-3);
    const own = { actor: `user:${ann.userId}`, actorName: 'Ann' };
    const of = { target: `access-token:${tokenId}`, targetName: 'robot' };
    expect(entries).toMatchObject([
      { action: 'access-token.created', ...own, ...of, detail: { tokenId, role: 'owner' } },
      { action: 'app.created', actor: `user:${ann.userId}:${tokenId}`, actorName: 'Ann (robot)' },
      { action: 'access-token.revoked', ...own, ...of, detail: { tokenId, maker: ann.userId } },
    ]);
    const path = `/accounts/${accountId}/audit`;
    const by = async (actor: string) =>
      ((await ask(panel, ann, `${path}?actor=${actor}`)).body['entries'] as Entry[]).map(({ action }) => action);
    expect(await by(`user:${ann.userId}:${tokenId}`)).toEqual(['app.created']);
    expect(await by('user:undefined')).toEqual([]);
    expect(await by(`user:${ann.userId}`)).toEqual(['access-token.revoked', 'app.created', 'access-token.created']);
    const names = (await ask(panel, ann, `/accounts/${accountId}/audit/names`)).body['actors'];
    expect(names).toContainEqual({ id: `user:${ann.userId}:${tokenId}`, name: 'Ann (robot)' });
    const text = JSON.stringify(await auditOf(panel, accountId));
    expect(text).not.toContain(token.slice(25));
  });

  test('have an expiry of at most 365 days, a role that their person has, and a bound of each person', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const foreign = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    const status = async (wanted: object) => {
      const answer = await askForToken(panel, ann, { accountId, ...wanted });
      return [answer.status, codeOf(answer)];
    };
    expect(await status({ role: 'owner' })).toEqual([403, 'forbidden']);
    expect(await status({ accountId: foreign.accountId })).toEqual([404, 'not_found']);
    expect(await status({ accountId: 'a1b2c3d4e5f6g7h8' })).toEqual([404, 'not_found']);
    expect(await status({ expiresAt: inDays(-0.001) })).toEqual([400, 'invalid_request']);
    expect(await status({ expiresAt: inDays(LATEST_DAYS + 0.01) })).toEqual([400, 'invalid_request']);
    expect(await status({ name: '' })).toEqual([400, 'invalid_request']);
    expect(await status({ expiresAt: inDays(LATEST_DAYS - 0.01) })).toEqual([201, undefined]);
    const others = Array.from({ length: LIMITS.accessTokensPerUserMax }, () => status({}));
    const made = (await Promise.all(others)).filter(([code]) => code === 201).length;
    expect(made).toBe(LIMITS.accessTokensPerUserMax - 1);
    expect(await status({})).toEqual([409, 'conflict']);
    // Another person of the account has an own bound.
    const bob = await signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    expect((await askForToken(panel, bob, { accountId })).status).toBe(201);
  });

  test('need a fresh proof of the person, and revoking one needs none', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const user = { accounts: [{ accountId, role: 'owner' as const }] };
    const ann = await signedIn(panel.store, user);
    const stale = await signedIn(panel.store, ann.userId, { proof: { at: Date.now() - 700_000, by: 'password' } });
    const { tokenId } = await makeToken(panel, ann, { accountId });
    const refused = await askForToken(panel, stale, { accountId });
    expect([refused.status, codeOf(refused)]).toEqual([403, 'proof_required']);
    const bob = await signedIn(panel.store, user);
    expect((await ask(panel, bob, `/me/access-tokens/${tokenId}`, { method: 'DELETE' })).status).toBe(404);
    expect((await ask(panel, stale, `/me/access-tokens/${tokenId}`, { method: 'DELETE' })).status).toBe(204);
  });

  test('end at their expiry', async () => {
    const clock = new FakeClock();
    await using panel = await panelMuster(backend, { clock });
    const { accountId } = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const expiresAt = new Date(clock.now() + 60_000).toISOString();
    await rewrite(panel, KEYS.session(ann.sessionId), (record) => ({
      ...record,
      createdAt: clock.now(),
      expiresAt: clock.now() + 86_400_000,
      proof: { at: clock.now(), by: 'password' },
    }));
    const { token } = await makeToken(panel, ann, { accountId, expiresAt });
    const read = async () => (await askBy(panel, { token }, `/accounts/${accountId}/overview`)).status;
    clock.advance(59_999);
    expect(await read()).toBe(200);
    clock.advance(1);
    expect(await read()).toBe(401);
    expect((await ask(panel, ann, '/me/access-tokens')).body['accessTokens']).toEqual([]);
  });

  test('are judged without cookies, and a session is not by their side', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const viewer = await makeToken(panel, ann, { accountId, role: 'viewer' });
    const path = `/accounts/${accountId}/apps`;
    const both = (authorization: string, request: object = {}) =>
      ask(panel, ann, path, { ...request, headers: { authorization } });
    // The cookie is an owner's, and the token a viewer's.
    const write = { method: 'POST', body: { name: 'a' } };
    expect((await both(`Bearer ${viewer.token}`)).status).toBe(200);
    expect(codeOf(await both(`Bearer ${viewer.token}`, write))).toBe('forbidden');
    expect(codeOf(await both('Bearer wrong'))).toBe('invalid_token');
    expect(codeOf(await both('bearer'))).toBe('invalid_token');
    expect(codeOf(await both(`Bearer ${viewer.token.slice(0, -1)}x`))).toBe('invalid_token');
    // A proxy before the panel may have a password of its own; the cookie counts.
    expect((await both('Basic YW5uOnNlY3JldA==', write)).status).toBe(201);
  });

  test('keep their own Idempotency-Keys and tags of what they have read', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const [one, other] = [
      await makeToken(panel, ann, { accountId, role: 'owner' }),
      await makeToken(panel, ann, { accountId, role: 'owner' }),
    ];
    const path = `/accounts/${accountId}/apps`;
    const write = { method: 'POST', body: { name: 'a' }, headers: { 'idempotency-key': 'k' } };
    const first = await askBy(panel, one, path, write);
    const again = await askBy(panel, one, path, write);
    expect([again.headers.get('idempotency-replayed'), again.body['appId']]).toEqual(['true', first.body['appId']]);
    const others = await askBy(panel, other, path, write);
    const hers = await ask(panel, ann, path, write);
    expect(new Set([first, others, hers].map(({ body }) => body['appId'])).size).toBe(3);
    const tag = (await askBy(panel, one, path)).headers.get('etag') ?? '';
    const same = { headers: { 'if-none-match': tag } };
    expect((await askBy(panel, one, path, same)).status).toBe(304);
    expect((await askBy(panel, other, path, same)).status).toBe(200);
    expect((await ask(panel, ann, path, same)).status).toBe(200);
    // Another right of the same token has tags of its own, too.
    const role = (wanted: string) =>
      rewrite(panel, KEYS.members(accountId), (record) => ({
        ...record,
        members: [{ userId: ann.userId, role: wanted, since: 1 }],
      }));
    await role('viewer');
    expect((await askBy(panel, one, path, same)).status).toBe(200);
    await role('owner');
    expect((await askBy(panel, one, path, same)).status).toBe(304);
  });

  test('fail in the metric, the log and the audit of the account as API keys do', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const { token, tokenId } = await makeToken(panel, ann, { accountId });
    const stranger = await makeToken(panel, ann, { accountId });
    await ask(panel, ann, `/me/access-tokens/${stranger.tokenId}`, { method: 'DELETE' });
    // Another secret of the same id, with a checksum that is right for it.
    await rewrite(panel, KEYS.accessToken(tokenId), (record) => ({ ...record, hash: 'another' }));
    const path = `/accounts/${accountId}/overview`;
    for (const tried of [token, stranger.token, 'mst_pat_x']) {
      expect(codeOf(await askBy(panel, { token: tried }, path))).toBe('invalid_token');
    }
    const metrics = await (await fetch(`${panel.muster.ops}/metrics`)).text();
    for (const reason of ['wrong_secret', 'unknown', 'malformed']) {
      expect(metrics).toContain(`muster_authentication_failures_total{credential="access_token",reason="${reason}"} 1`);
    }
    await until(async () =>
      (await auditOf(panel, accountId)).some(
        ({ action, detail }) => action === 'key.refused' && detail['keyIds'] === `mst_pat_${tokenId}`,
      ),
    );
  });

  test('of an owner reach what the account has, and no more than the least role', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, apiKey } = await tenant(panel.muster);
    const other = await tenant(panel.muster);
    const app = await createApp(panel.muster, apiKey);
    const ann = await signedIn(panel.store, {
      accounts: [
        { accountId, role: 'owner' },
        { accountId: other.accountId, role: 'owner' },
      ],
    });
    const bob = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const owner = await makeToken(panel, ann, { accountId, role: 'owner' });
    const viewer = await makeToken(panel, ann, { accountId, role: 'viewer' });
    const revoke = (by: typeof owner) =>
      askBy(panel, by, `/accounts/${accountId}/apps/${app.appId}/revoke`, { method: 'POST' });
    expect((await revoke(owner)).status).toBe(200);
    expect((await revoke(viewer)).status).toBe(403);
    for (const token of [owner, viewer]) {
      expect((await askBy(panel, token, `/accounts/${other.accountId}/overview`)).status).toBe(404);
    }
    const role = { method: 'PATCH', body: { role: 'viewer' } };
    expect((await ask(panel, bob, `/accounts/${accountId}/members/${ann.userId}`, role)).status).toBe(204);
    expect((await revoke(owner)).status).toBe(403);
    expect((await askBy(panel, owner, `/accounts/${accountId}/overview`)).status).toBe(200);
    const back = { method: 'PATCH', body: { role: 'owner' } };
    expect((await ask(panel, bob, `/accounts/${accountId}/members/${ann.userId}`, back)).status).toBe(204);
    expect((await revoke(owner)).status).toBe(200);
  });
});
