import { expect, test } from 'vitest';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { askBy, makeToken } from '../../../support/panel/access-tokens/tokens.ts';
import { ask, panelMuster, rewrite, signedIn } from '../../../support/panel/panel-users.ts';
import { asOperator, enteredUser, OTHER_PASSWORD, tokenOf, Visitor } from '../../../support/panel/visitor.ts';
import { auditsOf } from '../../../support/service/accounts.ts';
import { createApp, tenant } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { until } from '../../../support/time/until.ts';

/* An access token acts as its person: in endings, bounds, names and refusals it is the person’s. */

onEachBackend('the person behind an access token', (backend) => {
  test('a reset of the person ends them with the sessions', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const { userId } = await enteredUser(panel.muster);
    await rewrite(panel, KEYS.members(accountId), () => ({ members: [{ userId, role: 'owner', since: 1 }] }));
    const thief = await signedIn(panel.store, userId);
    const token = await makeToken(panel, thief, { accountId, role: 'owner' });
    const reset = await asOperator(panel.muster, `/users/${userId}/reset`, { method: 'POST' });
    const visitor = new Visitor(panel.muster);
    const used = await visitor.post('/links/accept', { token: tokenOf(reset.body['url']), password: OTHER_PASSWORD });
    expect(used.status).toBe(200);
    expect((await ask(panel, thief, '/me')).status).toBe(401);
    expect((await askBy(panel, token, `/accounts/${accountId}/overview`)).status).toBe(401);
  });

  test('an owner of one account ends none of another account, and is not in its audit', async () => {
    await using panel = await panelMuster(backend);
    const [one, other] = [await tenant(panel.muster), await tenant(panel.muster)];
    const mapped = (at: number) => ({
      mapped: { operator: false, accounts: [{ accountId: other.accountId, role: 'owner' as const }], at },
    });
    const ann = await signedIn(panel.store, {
      accounts: [{ accountId: one.accountId, role: 'viewer' }],
      record: mapped(Date.now()),
    });
    const bob = await signedIn(panel.store, { name: 'Bob', accounts: [{ accountId: one.accountId, role: 'owner' }] });
    const token = await makeToken(panel, ann, { accountId: other.accountId, role: 'owner' });
    // The provider is silent for an hour; then it answers again as before.
    await rewrite(panel, KEYS.user(ann.userId), (record) => ({ ...record, ...mapped(Date.now() - 3_700_000) }));
    const gone = await ask(panel, bob, `/accounts/${one.accountId}/members/${ann.userId}`, { method: 'DELETE' });
    expect(gone.status).toBe(204);
    await rewrite(panel, KEYS.user(ann.userId), (record) => ({ ...record, ...mapped(Date.now()) }));
    const { entries } = (await asOperator(panel.muster, `/accounts/${other.accountId}/audit`)).body as {
      entries: { action: string; actor: string }[];
    };
    expect(entries.filter(({ actor }) => actor === `user:${bob.userId}`)).toEqual([]);
    expect((await askBy(panel, token, `/accounts/${other.accountId}/overview`)).status).toBe(200);
  });

  test('the author of a revision is the person, by the id of the user', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const token = await makeToken(panel, ann, { accountId, role: 'owner' });
    const stored = await askBy(panel, token, `/accounts/${accountId}/otel-config`, {
      method: 'PUT',
      body: { enabled: true, endpoint: 'https://otel.example.com', evidenceLevel: 'full', authHeader: '' },
    });
    expect([stored.status, stored.text.slice(0, 200)]).toEqual([200, expect.any(String)]);
    const { revisions } = (await ask(panel, ann, `/accounts/${accountId}/otel-config/revisions`)).body as {
      revisions: { by: { kind: string; id: string } }[];
    };
    expect(revisions[0]?.by).toMatchObject({ kind: 'user', id: ann.userId });
  });

  test('a person has one bound of exports, with however many tokens', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const path = `/accounts/${accountId}/audit/export?format=jsonl`;
    let last = 200;
    for (let i = 0; i < 300 && last === 200; i += 1) last = (await ask(panel, ann, path)).status;
    expect(last).toBe(429);
    const token = await makeToken(panel, ann, { accountId });
    expect((await askBy(panel, token, path)).status).toBe(429);
  });

  test('a person who is disabled lets none in, also where an earlier version left the token', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const token = await makeToken(panel, ann, { accountId });
    const read = async () => (await askBy(panel, token, `/accounts/${accountId}/overview`)).status;
    for (const [disabled, status] of [
      [true, 401],
      [false, 200],
    ] as const) {
      await rewrite(panel, KEYS.user(ann.userId), (record) => ({ ...record, disabled }));
      expect(await read()).toBe(status);
    }
  });

  test('what one takes along is told, by the token; a request for the headers alone takes nothing', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const token = await makeToken(panel, ann, { accountId });
    const month = new Date().toISOString().slice(0, 7);
    const told = async () =>
      (await auditsOf(panel.store, 'operator')).filter(({ action }) => action.endsWith('.exported'));
    const paths = ['audit/export?format=jsonl', `usage?month=${month}&format=csv`];
    for (const path of paths) {
      const answer = await askBy(panel, token, `/accounts/${accountId}/${path}`, { method: 'HEAD' });
      expect([path, answer.status, answer.text]).toEqual([path, 200, '']);
    }
    expect(await told()).toEqual([]);
    for (const path of paths) expect((await askBy(panel, token, `/accounts/${accountId}/${path}`)).status).toBe(200);
    const actor = `user:${ann.userId}:${token.tokenId}`;
    expect(await told()).toMatchObject([
      { action: 'audit.exported', actor },
      { action: 'usage.exported', actor },
    ]);
  });

  test('what the role of one forbids is counted and told, as that of a session is', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, apiKey } = await tenant(panel.muster);
    const app = await createApp(panel.muster, apiKey);
    const ann = await signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    const token = await makeToken(panel, ann, { accountId });
    const path = `/accounts/${accountId}/apps/${app.appId}/revoke`;
    const refused = async () => {
      const metrics = await (await fetch(`${panel.muster.ops}/metrics`)).text();
      return /muster_role_refusals_total\{role="viewer"\} (\d+)/.exec(metrics)?.[1];
    };
    expect((await ask(panel, ann, path, { method: 'POST' })).status).toBe(403);
    expect(await refused()).toBe('1');
    expect((await askBy(panel, token, path, { method: 'POST' })).status).toBe(403);
    expect(await refused()).toBe('2');
    // Both are one caller's: the person's.
    const told = async () =>
      (await auditsOf(panel.store, 'operator')).filter(({ action }) => action === 'role.refused');
    await until(async () => (await told()).length > 0);
    expect((await told()).map(({ detail }) => detail)).toMatchObject([
      { userId: ann.userId, count: 2, roles: 'viewer' },
    ]);
  });
});
