import { afterAll, beforeAll, expect, test } from 'vitest';
import { OPERATIONS } from '../../../../src/api/panel/routes.ts';
import { askBy, makeToken, type AccessToken } from '../../../support/panel/access-tokens/tokens.ts';
import { operationRequest } from '../../../support/panel/operation-request.ts';
import { ask, panelMuster, signedIn, type Browser, type PanelMuster } from '../../../support/panel/panel-users.ts';
import { asOperator, codeOf } from '../../../support/panel/visitor.ts';
import { tenant } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';

/*
 * What an access token reaches, written out by hand: every operation that stands in neither list is closed. A new
 * operation for viewers or owners must be decided here.
 */

const FOR_VIEWERS: readonly string[] = [
  'readOverview',
  'readAccountRate',
  'readFleetHistory',
  'listPanelApps',
  'readPanelApp',
  'readConfiguration',
  'listConfigurationRevisions',
  'readRollout',
  'listDeliveries',
  'listApiKeys',
  'countReviews',
  'listReviewQueue',
  'readAccountUsage',
  'verifyAudit',
  'listAuditNames',
  'exportAudit',
  'listNewestAudit',
  'listMembers',
];

const FOR_OWNERS: readonly string[] = [
  'changeApps',
  'storeConfiguration',
  'restoreConfiguration',
  'createApp',
  'issueEnrollCode',
  'revokeApp',
  'deleteApp',
  'purgeOtelConfig',
  'changeApiKey',
  'endFormerSecret',
  'revokeApiKey',
  'decideReview',
  'removeMember',
  'listMemberKeys',
  'listInvitations',
  'withdrawInvitation',
];

type Reach = 'reached' | 'forbidden' | 'not_found';

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

  async function reachOf(token: AccessToken, operation: (typeof OPERATIONS)[number], of: string): Promise<Reach> {
    const { path, request } = operationRequest(operation, of);
    const answer = await askBy(panel, token, path, request);
    const code = codeOf(answer);
    if (answer.status === 403 && code === 'forbidden') return 'forbidden';
    // A record of the path that is not there is found by those alone who may look for it.
    if (of !== accountId && answer.status === 404 && code === 'not_found') return 'not_found';
    expect([operation.id, answer.status, code]).not.toEqual([operation.id, 401, expect.anything()]);
    expect([operation.id, answer.status]).not.toEqual([operation.id, 403]);
    return 'reached';
  }

  test('the lists name operations that are there', () => {
    const ids = new Set<string>(OPERATIONS.map(({ id }) => id));
    expect([...FOR_VIEWERS, ...FOR_OWNERS].filter((id) => !ids.has(id))).toEqual([]);
  });

  test.each<[who: string, role: 'viewer' | 'owner', by: () => Browser]>([
    ['a viewer’s', 'viewer', () => ann],
    ['an owner’s', 'owner', () => ann],
    ['an operator’s', 'owner', () => op],
  ])('%s token: each operation of the panel, on its account and on another one', async (_who, role, by) => {
    const token = await makeToken(panel, by(), { accountId, role });
    const own: Record<string, Reach> = {};
    const others: Record<string, Reach> = {};
    const expected: Record<'own' | 'others', Record<string, Reach>> = { own: {}, others: {} };
    for (const operation of OPERATIONS) {
      const { id, path } = operation;
      const isReached = FOR_VIEWERS.includes(id) || (FOR_OWNERS.includes(id) && role === 'owner');
      expected.own[id] = isReached ? 'reached' : 'forbidden';
      own[id] = await reachOf(token, operation, accountId);
      if (!path.includes(':accountId')) continue;
      // What no token reaches is told before an account is looked for.
      const isForTokens = FOR_VIEWERS.includes(id) || FOR_OWNERS.includes(id);
      expected.others[id] = isForTokens ? 'not_found' : 'forbidden';
      others[id] = await reachOf(token, operation, foreign);
    }
    expect(own).toEqual(expected.own);
    expect(others).toEqual(expected.others);
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
