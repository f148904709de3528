import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Operation } from '../../../../src/api/contract/operation.ts';
import { OPERATIONS } from '../../../../src/api/panel/routes.ts';
import { operationRequest } from '../../../support/panel/operation-request.ts';
import {
  ask,
  panelMuster,
  signedIn,
  type Browser,
  type PanelMuster,
  type UserOptions,
} from '../../../support/panel/panel-users.ts';
import { tenant, type Answer, type Call } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { requestRecords } from '../../../support/store/request-records.ts';

/* CONTRACT.md#p1: every operation of the panel that needs a role × every role, by the front door. */

const [S, A, O, V] = ['support', 'auditor', 'owner', 'viewer'] as const;
/** The roles beside `operator` that may make the request of each operation; written by hand, beside its declaration. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  readOverview: [S, A, O, V],
  readAccountRate: [S, A, O, V],
  readFleetHistory: [S, A, O, V],
  changeApps: [O],
  listPanelApps: [S, A, O, V],
  readPanelApp: [S, A, O, V],
  readConfiguration: [S, A, O, V],
  storeConfiguration: [O],
  listConfigurationRevisions: [S, A, O, V],
  restoreConfiguration: [O],
  testCollector: [O],
  createApp: [O],
  issueEnrollCode: [O],
  revokeApp: [S, O],
  deleteApp: [O],
  purgeOtelConfig: [O],
  readRollout: [S, A, O, V],
  listDeliveries: [S, A, O, V],
  listApiKeys: [S, A, O, V],
  createApiKey: [O],
  rotateApiKey: [O],
  endFormerSecret: [S, O],
  changeApiKey: [S, O],
  revokeApiKey: [S, O],
  countReviews: [S, O, V],
  listReviewQueue: [S, O, V],
  decideReview: [O],
  readAccountUsage: [S, A, O, V],
  verifyAudit: [S, A, O, V],
  listAuditNames: [S, A, O, V],
  listServiceAuditNames: [S, A],
  exportAudit: [S, A, O, V],
  exportServiceAudit: [S, A],
  listNewestAudit: [S, A, O, V],
  listMembers: [S, A, O, V],
  changeMember: [O],
  removeMember: [O],
  listMemberKeys: [S, A, O],
  listInvitations: [S, A, O],
  createInvitation: [O],
  withdrawInvitation: [S, O],
  listAccounts: [S, A],
  createAccount: [],
  readAccount: [S, A],
  changeAccount: [],
  listConsents: [S, A],
  changeConsent: [],
  listUsers: [S, A],
  createUser: [],
  changeUser: [],
  deleteUser: [],
  listUserApiKeys: [S, A],
  resetUser: [],
  listUserSessions: [S, A],
  endUserSession: [S],
  readRateLimits: [S, A],
  readKeys: [S, A],
  rotateKeys: [],
  readUsage: [S, A],
  verifyServiceAudit: [S, A],
  listNewestServiceAudit: [S, A],
  readServiceState: [S, A],
  findAccounts: [S, A],
  readBackup: [],
};

type Judged = Pick<Operation, 'id' | 'method' | 'path' | 'access' | 'roles'>;
const NEEDING = (OPERATIONS as readonly Judged[]).filter(({ access }) => access !== 'anyone' && access !== 'signed-in');
const isOfAccount = ({ access }: Judged): boolean => access !== 'operator';

/** The queries without which a request is refused for what it says. */
const QUERIES: Readonly<Record<string, string>> = {
  findAccounts: '?text=acme',
  readUsage: '?month=2026-01',
  readAccountUsage: '?month=2026-01',
};

/** A refusal tells the same, whatever record it concerns. */
const SECRET = /mst_|"enrollCode":|"apiKey":|"url":/;

onEachBackend('roles of people', (backend) => {
  let panel: PanelMuster;
  let accountId: string;
  let foreign: string;
  beforeAll(async () => {
    panel = await panelMuster(backend);
    accountId = (await tenant(panel.muster, 'enterprise')).accountId;
    foreign = (await tenant(panel.muster)).accountId;
  });
  afterAll(async () => await panel[Symbol.asyncDispose]());

  const PEOPLE: Readonly<Record<string, () => UserOptions>> = {
    operator: () => ({ operator: true }),
    support: () => ({ record: { installationRole: 'support' } }),
    auditor: () => ({ record: { installationRole: 'auditor' } }),
    owner: () => ({ accounts: [{ accountId, role: 'owner' }] }),
    viewer: () => ({ accounts: [{ accountId, role: 'viewer' }] }),
    stranger: () => ({ accounts: [{ accountId: foreign, role: 'owner' }] }),
  };
  /** Each request is of a person of its own, whose rate nothing has used up. */
  const person = (role: string): Promise<Browser> => signedIn(panel.store, PEOPLE[role]?.() ?? {});

  function asking(operation: Judged, id: string, more: object = {}) {
    const { path, request } = operationRequest(operation, id, more);
    return { path: `${path}${QUERIES[operation.id] ?? ''}`, request };
  }
  const send = ({ path, request }: { path: string; request: Call }, by: Browser): Promise<Answer> =>
    ask(panel, by, path, request);
  const errorOf = ({ body }: Answer) => (body['error'] ?? {}) as { code?: string; message?: string };
  const may = (id: string, role: string): boolean => MAY[id]?.includes(role) === true;

  test('the table has every operation that needs a role, once', () => {
    expect(Object.keys(MAY)).toEqual(NEEDING.map(({ id }) => id));
    // The greater role is one: of support and auditor, that of support includes the other.
    for (const [id, roles] of Object.entries(MAY)) {
      if (roles.includes(A)) expect([id, roles]).toEqual([id, expect.arrayContaining([S])]);
    }
  });

  test.each(['support', 'auditor', 'owner', 'viewer', 'stranger'])(
    'what %s may not is refused, and writes and tells nothing',
    async (role) => {
      const refused = NEEDING.filter(({ id }) => !may(id, role));
      const people = await Promise.all(refused.map(() => person(role)));
      const before = await requestRecords(panel.store);
      for (const [index, operation] of refused.entries()) {
        const by = people[index];
        if (!by) throw new Error('There is nobody for it.');
        const answer = await send(asking(operation, accountId), by);
        const isStranger = role === 'stranger' && isOfAccount(operation);
        const expected = isStranger ? [404, 'not_found'] : [403, 'forbidden'];
        expect([operation.id, answer.status, errorOf(answer).code]).toEqual([operation.id, ...expected]);
        expect(answer.text).not.toMatch(SECRET);
        if (role === S || role === A) {
          expect(errorOf(answer).message).toMatch(
            new RegExp(
              `^The role ${role} that you have here (does not allow this|allows nothing here but .*)\\. It takes the role (.* or )?operator\\.$`,
            ),
          );
          // Of the account in the path it tells nothing; whoever may disable or revoke there reads of all of them.
          if (operation.roles?.[role] !== undefined) continue;
          const nowhere = await send(asking(operation, 'a'.repeat(16)), by);
          expect([operation.id, nowhere.text]).toEqual([operation.id, answer.text]);
        }
        if (operation.method === 'get') {
          const { path } = asking(operation, accountId);
          const head = await send({ path, request: { method: 'HEAD' } }, by);
          expect([operation.id, head.status, head.text]).toEqual([operation.id, expected[0], '']);
        }
      }
      expect(await requestRecords(panel.store)).toEqual(before);
    },
  );

  test.each(['support', 'auditor', 'owner', 'viewer'])('what %s may is as for an operator', async (role) => {
    for (const operation of NEEDING.filter(({ id }) => may(id, role))) {
      const asked = asking(operation, accountId);
      const answers = [await send(asked, await person(role)), await send(asked, await person('operator'))];
      const [allowed, operator] = answers.map(({ status }) => status);
      expect([operation.id, allowed]).toEqual([operation.id, operator]);
      expect([operation.id, [401, 403, 429, 502].includes(allowed ?? 0)]).toEqual([operation.id, false]);
      if (operation.method === 'get')
        expect([operation.id, [200, 204, 404].includes(allowed ?? 0)]).toEqual([operation.id, true]);
    }
  });

  test('an account that is not there is not found for all who read every account', async () => {
    for (const operation of NEEDING.filter((one) => may(one.id, A) && isOfAccount(one))) {
      const asked = asking(operation, 'a'.repeat(16));
      const [auditor, operator] = [await send(asked, await person(A)), await send(asked, await person('operator'))];
      expect([operation.id, auditor.status, auditor.text]).toEqual([operation.id, 404, operator.text]);
    }
  });

  test('support has some fields alone: what disables and revokes, and not beside anything else', async () => {
    const victim = await person('viewer');
    const { accountId: account } = await tenant(panel.muster);
    const partial = [
      {
        path: `/users/${victim.userId}`,
        beyond: [
          { disabled: false },
          { operator: true },
          { role: 'support' },
          { disabled: true, name: 'x' },
          { disabled: true, keepKeys: [] },
        ],
      },
      { path: `/accounts/${account}`, beyond: [{ disabled: false }, { name: 'x' }, { disabled: true, name: 'x' }] },
    ];
    const before = await requestRecords(panel.store);
    const [support, auditor] = [await person(S), await person(A)];
    const made = await requestRecords(panel.store);
    expect(made.length).toBeGreaterThan(before.length);
    for (const { path, beyond } of partial) {
      for (const body of beyond)
        expect([body, (await ask(panel, support, path, { method: 'PATCH', body })).status]).toEqual([body, 403]);
      expect((await ask(panel, auditor, path, { method: 'PATCH', body: { disabled: true } })).status).toBe(403);
    }
    const batch = `/accounts/${account}/apps/batch`;
    for (const change of ['create', 'delete', 'code']) {
      const body = { change, apps: ['k3v9x0q2m7t5b8n1c4d6'] };
      expect([change, (await ask(panel, support, batch, { method: 'POST', body })).status]).not.toEqual([change, 200]);
    }
    expect(await requestRecords(panel.store)).toEqual(made);
    const revoked = await ask(panel, support, batch, {
      method: 'POST',
      body: { change: 'revoke', apps: ['k3v9x0q2m7t5b8n1c4d6'] },
    });
    expect([revoked.status, revoked.body]).toMatchObject([200, { outcomes: [{ error: { code: 'not_found' } }] }]);
    for (const { path } of partial)
      expect(await ask(panel, support, path, { method: 'PATCH', body: { disabled: true } })).toMatchObject({
        status: 200,
        body: { disabled: true },
      });
    expect((await ask(panel, victim, '/me')).status).toBe(401);
  });

  test('both go on where an account is disabled, and a role on an account adds up with theirs', async () => {
    const { accountId: account } = await tenant(panel.muster);
    const [op, both] = [
      await person('operator'),
      await signedIn(panel.store, {
        accounts: [{ accountId: account, role: 'owner' }],
        record: { installationRole: 'auditor' },
      }),
    ];
    const create = (by: Browser, id: string) =>
      ask(panel, by, `/accounts/${id}/apps`, { method: 'POST', body: { name: 'edge' } });
    expect([(await create(both, account)).status, (await create(both, accountId)).status]).toEqual([201, 403]);
    expect((await ask(panel, both, `/accounts/${accountId}/overview`)).status).toBe(200);
    const disable = { method: 'PATCH', body: { disabled: true } };
    expect((await ask(panel, op, `/accounts/${account}`, disable)).status).toBe(200);
    // The owner may not any more, and reads on as an auditor.
    expect((await create(both, account)).status).toBe(403);
    expect((await ask(panel, both, `/accounts/${account}/overview`)).status).toBe(200);
    expect((await ask(panel, await person(S), `/accounts/${account}/overview`)).status).toBe(200);
  });
});
