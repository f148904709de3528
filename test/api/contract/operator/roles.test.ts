import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PATH_IDS } from '../../../../src/api/contract/fields.ts';
import type { Operation } from '../../../../src/api/contract/operation.ts';
import { METRICS, OPERATIONS } from '../../../../src/api/operator/ops-server.ts';
import { OPERATOR_ROLES, type OperatorRole } from '../../../../src/config/operator-tokens.ts';
import type { Store } from '../../../../src/store/port.ts';
import { operationsOf, readDocument } from '../../../support/openapi/documents.ts';
import { scratchDirectory } from '../../../support/run/scratch-directory.ts';
import {
  call,
  OPERATOR_TOKEN,
  tenant,
  type Answer,
  type Muster,
  type Tenant,
} from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { requestRecords } from '../../../support/store/request-records.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/* CONTRACT.md#operator-roles: every operation × every role, by the front door. */

type Role = Exclude<OperatorRole, 'operator'>;
const ROLES = OPERATOR_ROLES.filter((role): role is Role => role !== 'operator');

const READERS: readonly Role[] = ['support', 'auditor'];
/** The roles beside `operator` that may make the request of each operation; written by hand, beside its declaration. */
const MAY: Readonly<Record<string, readonly Role[]>> = {
  createAccount: [],
  listAccounts: READERS,
  readAccount: READERS,
  changeAccount: [],
  listAccountApps: READERS,
  changeAccountApp: [],
  createApiKey: [],
  listApiKeys: READERS,
  rotateApiKey: [],
  endFormerSecret: ['support'],
  changeApiKey: ['support'],
  revokeApiKey: ['support'],
  listAudit: READERS,
  verifyAudit: READERS,
  listServiceAudit: READERS,
  verifyServiceAudit: READERS,
  readRollout: READERS,
  listRollouts: READERS,
  listReviewQueue: ['support'],
  decideReview: [],
  readKeys: READERS,
  rotateKeys: [],
  readUsage: ['support', 'billing', 'auditor'],
  readRateLimits: READERS,
  createUser: [],
  listUsers: READERS,
  changeUser: [],
  deleteUser: [],
  listUserApiKeys: READERS,
  resetUser: [],
  listResourceBindings: READERS,
  allowRecovery: [],
  readBackup: [],
};

const tokenOf = (role: OperatorRole): string => `${role}-token-${'0123456789'.repeat(3)}`;
const FILE = OPERATOR_ROLES.map((role) => `ann-${role}:${role}:${tokenOf(role)}\n`).join('');

const documented = new Map(
  operationsOf(readDocument('operator')).map(({ operation }) => [operation.operationId, operation]),
);
const bodyOf = ({ id }: Operation): object | undefined =>
  documented.get(id)?.requestBody?.content['application/json']?.example as object | undefined;
const exampleOf = (name: string): string => String(PATH_IDS[name]?.meta()?.examples?.[0]);
const QUERIES: Readonly<Record<string, string>> = {
  readUsage: '?month=2026-01',
  deleteUser: '?keepKeys=',
  endFormerSecret: '?formerExpiresAt=2099-01-31T00:00:00.000Z',
};
const queryOf = ({ id }: Operation): string => QUERIES[id] ?? '';

onEachBackend('roles of operator tokens', (backend) => {
  const clock = new FakeClock(Date.UTC(2026, 1, 3));
  const dir = scratchDirectory('roles');
  let muster: Muster;
  let store: Store;
  let owner: Tenant;
  beforeAll(async () => {
    const file = join(dir, 'tokens');
    writeFileSync(file, FILE, { mode: 0o600 });
    muster = await backend.fresh({
      clock,
      env: { MUSTER_OPERATOR_TOKEN_FILE: file },
      wrapStore: (real) => (store = real),
    });
    owner = await tenant(muster);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true });
  });

  /** @param ids those of records that are there; the examples, which are not, without them */
  function ask(operation: Operation, token: string, ids: Readonly<Record<string, string>>, body = bodyOf(operation)) {
    const path = operation.path.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? exampleOf(name));
    const method = operation.method.toUpperCase();
    return call(`${muster.ops}${path}${queryOf(operation)}`, { method, token, ...(body !== undefined && { body }) });
  }
  const codeOf = ({ body }: Answer) => (body['error'] as { code?: string } | undefined)?.code;
  const messageOf = ({ body }: Answer) => (body['error'] as { message?: string } | undefined)?.message;

  test('the table has every operation, once', () => {
    expect(Object.keys(MAY)).toEqual(OPERATIONS.map(({ id }) => id));
  });

  test.each(ROLES)('what %s may not is 403, in words, and writes and tells nothing', async (role) => {
    const ids = { accountId: owner.accountId, keyId: owner.keyId };
    const before = await requestRecords(store);
    expect(before.length).toBeGreaterThan(3);
    for (const operation of OPERATIONS as readonly Operation[]) {
      if (MAY[operation.id]?.includes(role) === true) continue;
      const refused = await ask(operation, tokenOf(role), ids);
      expect([operation.id, refused.status, codeOf(refused)]).toEqual([operation.id, 403, 'forbidden']);
      expect(messageOf(refused)).toMatch(
        new RegExp(
          `^The role ${role} of your operator token (does not allow this|allows nothing here but .*)\\. Use a token with the role (.* or )?operator\\.$`,
        ),
      );
      // An account that is not there is answered with the same words.
      expect([operation.id, (await ask(operation, tokenOf(role), {})).text]).toEqual([operation.id, refused.text]);
      if (operation.method !== 'get' && operation.roles === undefined) {
        expect((await ask(operation, tokenOf(role), ids, { name: 'x'.repeat(70_000) })).text).toBe(refused.text);
      }
    }
    for (const { path } of OPERATIONS.filter(({ id, method }) => method === 'get' && !MAY[id]?.includes(role))) {
      const url = `${muster.ops}${path.replaceAll(/:\w+/g, owner.accountId)}`;
      const head = await call(url, { method: 'HEAD', token: tokenOf(role) });
      expect([path, head.status, head.text]).toEqual([path, 403, '']);
    }
    expect(await requestRecords(store)).toEqual(before);
  });

  test.each(ROLES)('what %s may is as for the operator', async (role) => {
    for (const operation of OPERATIONS as readonly Operation[]) {
      if (MAY[operation.id]?.includes(role) !== true) continue;
      const ids = operation.method === 'get' ? { accountId: owner.accountId } : {};
      const [allowed, operator] = [await ask(operation, tokenOf(role), ids), await ask(operation, OPERATOR_TOKEN, ids)];
      expect([operation.id, allowed.status]).toEqual([operation.id, operator.status]);
      expect([operation.id, [200, 204, 404].includes(allowed.status)]).toEqual([operation.id, true]);
    }
  });

  test('the role operator is refused nothing, and an unknown token everything', async () => {
    for (const operation of OPERATIONS as readonly Operation[]) {
      const [named, unknown] = [
        await ask(operation, tokenOf('operator'), {}),
        await ask(operation, 'x'.repeat(40), {}),
      ];
      expect([operation.id, [401, 403].includes(named.status)]).toEqual([operation.id, false]);
      expect([operation.id, unknown.status, codeOf(unknown)]).toEqual([operation.id, 401, 'invalid_token']);
    }
  });

  const patch = (path: string, body: object, role: OperatorRole = 'support') =>
    call(`${muster.ops}/operator/v1${path}`, { method: 'PATCH', token: tokenOf(role), body });

  test('support disables an account, and changes nothing else of it, not even beside that', async () => {
    const { accountId } = await tenant(muster);
    const account = `/accounts/${accountId}`;
    const before = await requestRecords(store);
    for (const body of [{ name: 'x' }, { disabled: false }, { disabled: true, name: 'x' }, { quotaMb: 0 }]) {
      const refused = await patch(account, body);
      expect([body, refused.status, codeOf(refused)]).toEqual([body, 403, 'forbidden']);
      expect(messageOf(refused)).toBe(
        'The role support of your operator token allows nothing here but disabled: true. Use a token with the role operator.',
      );
    }
    expect(await requestRecords(store)).toEqual(before);
    expect(await patch(account, { disabled: true })).toMatchObject({ status: 200, body: { disabled: true } });
    expect((await patch(account, { disabled: true }, 'auditor')).status).toBe(403);
    expect(await patch(account, { disabled: false }, 'operator')).toMatchObject({
      status: 200,
      body: { disabled: false },
    });
  });

  test('support disables a user with all keys of that person, and enables nobody', async () => {
    const body = { name: 'Bob', login: 'bob@example.com' };
    const users = `${muster.ops}/operator/v1/users`;
    const made = await call(users, { method: 'POST', token: OPERATOR_TOKEN, body });
    const user = `/users/${(made.body['user'] as { userId: string }).userId}`;
    expect(await patch(user, { disabled: true })).toMatchObject({
      status: 200,
      body: { disabled: true },
    });
    const beyond = [
      { disabled: true, name: 'Eve' },
      { disabled: true, keepKeys: [] },
    ];
    for (const change of [{ disabled: false }, { operator: true }, ...beyond])
      expect((await patch(user, change)).status).toBe(403);
  });

  test('support narrows and revokes a key, whose audit names the token with its role', async () => {
    const { accountId, keyId, apiKey } = await tenant(muster);
    const key = `/accounts/${accountId}/api-keys/${keyId}`;
    expect(await patch(key, { access: 'read' })).toMatchObject({ status: 200, body: { access: 'read' } });
    const revoked = await call(`${muster.ops}/operator/v1${key}`, { method: 'DELETE', token: tokenOf('support') });
    expect([revoked.status, (await call(`${muster.api}/v1/apps`, { token: apiKey })).status]).toEqual([204, 401]);
    const { body } = await call(`${muster.ops}/operator/v1/accounts/${accountId}/audit`, { token: tokenOf('auditor') });
    expect((body['entries'] as object[]).slice(-2)).toMatchObject([
      { actor: 'operator:ann-support:support', actorName: 'ann-support:support', action: 'key.changed' },
      { actor: 'operator:ann-support:support', actorName: 'ann-support:support', action: 'key.revoked' },
    ]);
    expect(JSON.stringify(body)).not.toContain(tokenOf('support'));
  });

  test('the key of a create that is repeated is told to nobody but the role operator', async () => {
    const repeat = (role: OperatorRole) =>
      call(`${muster.ops}/operator/v1/accounts/${owner.accountId}/api-keys`, {
        method: 'POST',
        token: tokenOf(role),
        headers: { 'idempotency-key': 'once' },
      });
    const created = await repeat('operator');
    for (const role of ROLES) expect([role, (await repeat(role)).status]).toEqual([role, 403]);
    expect((await repeat('operator')).text).toBe(created.text);
  });

  test('the scrape is for everybody by default, and a token of the role metrics opens nothing else', async () => {
    expect(Object.keys(METRICS.roles)).toEqual(['support', 'auditor', 'metrics']);
    for (const token of [undefined, ...OPERATOR_ROLES.map(tokenOf)])
      expect((await call(`${muster.ops}/metrics`, { token })).status).toBe(200);
    const elsewhere = await call(`${muster.api}/v1/apps`, { token: tokenOf('metrics') });
    expect([elsewhere.status, codeOf(elsewhere)]).toEqual([401, 'invalid_key']);
  });

  test('no line of the log has a token', () => {
    const logged = muster.logged.join('');
    expect(logged).toContain('operator:ann-support:support');
    for (const role of OPERATOR_ROLES) expect(logged).not.toContain(tokenOf(role));
  });
});
