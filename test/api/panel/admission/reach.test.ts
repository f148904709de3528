import { afterAll, beforeAll, expect, test } from 'vitest';
import { askBy, makeToken } from '../../../support/panel/access-tokens/tokens.ts';
import { ask, panelMuster, signedIn, type Browser, type PanelMuster } from '../../../support/panel/panel-users.ts';
import { asOperator, codeOf } from '../../../support/panel/visitor.ts';
import { tenant } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';

/* The reach of an access token beside CONTRACT.md#callers, whose tests try each operation. */

onEachBackend('what an access token reaches', (backend) => {
  let panel: PanelMuster;
  let accountId: string;
  let foreign: string;
  let ann: Browser;
  let op: Browser;
  beforeAll(async () => {
    panel = await panelMuster(backend);
    ({ accountId } = await tenant(panel.muster));
    foreign = (await tenant(panel.muster)).accountId;
    // An owner of both accounts: the token is of one.
    ann = await signedIn(panel.store, {
      accounts: [accountId, foreign].map((id) => ({ accountId: id, role: 'owner' as const })),
    });
    op = await signedIn(panel.store, { operator: true });
  });
  afterAll(() => panel[Symbol.asyncDispose]());

  test('one of an operator is an owner’s on its account, and nobody’s elsewhere', async () => {
    const token = await makeToken(panel, op, { accountId, role: 'owner' });
    const create = (id: string) =>
      askBy(panel, token, `/accounts/${id}/apps`, { method: 'POST', body: { name: 'edge' } });
    expect((await create(accountId)).status).toBe(201);
    const [there, nowhere] = [await create(foreign), await create('a'.repeat(16))];
    expect([there.status, codeOf(there), there.text]).toEqual([404, 'not_found', nowhere.text]);
    expect((await askBy(panel, token, '/accounts')).status).toBe(403);
  });

  test('what needs a proof by its state is forbidden, and works where it needs none', async () => {
    const token = await makeToken(panel, ann, { accountId, role: 'owner' });
    const path = `/accounts/${accountId}/otel-config`;
    const store = (body: object) => askBy(panel, token, path, { method: 'PUT', body });
    const first = { enabled: true, endpoint: 'https://one.example.com', authHeader: 'Bearer secret' };
    expect((await store(first)).status).toBe(200);
    // The header that is stored would go to another address.
    const moved = await store({ enabled: true, endpoint: 'https://two.example.com' });
    expect([moved.status, codeOf(moved)]).toEqual([403, 'forbidden']);
    expect((await store({ enabled: true, endpoint: 'https://one.example.com' })).status).toBe(200);
    const removed = { enabled: true, endpoint: 'https://two.example.com', authHeader: '' };
    expect((await store(removed)).status).toBe(200);
  });

  test('a token is told of no others, and its person is', async () => {
    const token = await makeToken(panel, ann, { accountId, role: 'owner' });
    const path = `/accounts/${accountId}/members/${ann.userId}/api-keys`;
    expect((await askBy(panel, token, path)).body).not.toHaveProperty('accessTokens');
    const listed = (await ask(panel, ann, path)).body['accessTokens'];
    expect(listed).toContainEqual(expect.objectContaining({ tokenId: token.tokenId, accountId, role: 'owner' }));
    const byOperator = (await asOperator(panel.muster, `/users/${ann.userId}/api-keys`)).body['accessTokens'];
    expect(byOperator).toContainEqual(expect.objectContaining({ tokenId: token.tokenId }));
    expect(JSON.stringify([listed, byOperator])).not.toContain('mst_pat_');
    // An operator who is no member is known in the account by a token alone, which is listed there.
    const otto = await signedIn(panel.store, { operator: true });
    const at = `/accounts/${accountId}/members/${otto.userId}/api-keys`;
    expect((await ask(panel, ann, at)).status).toBe(404);
    const { tokenId } = await makeToken(panel, otto, { accountId });
    expect((await ask(panel, ann, at)).body['accessTokens']).toMatchObject([{ tokenId }]);
  });

  test('a token opens no page and no reference, and strangers’ operations are not for it', async () => {
    const token = await makeToken(panel, ann, { accountId });
    const { port } = panel.muster.service.panel;
    const status = async (path: string) =>
      (await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${token.token}` } })).status;
    for (const path of ['/openapi/v1.json', '/docs', '/panel/v1/sign-in']) {
      expect([path, await status(path)]).toEqual([path, 403]);
      const wrong = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: 'Bearer mst_pat_x' } });
      expect([path, wrong.status]).toEqual([path, 401]);
    }
    expect(await status(`/panel/v1/accounts/${accountId}/overview`)).toBe(200);
  });
});
