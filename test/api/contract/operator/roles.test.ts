import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { METRICS } from '../../../../src/api/operator/ops-server.ts';
import { OPERATOR_ROLES, type OperatorRole } from '../../../../src/config/operator-tokens.ts';
import { scratchDirectory } from '../../../support/run/scratch-directory.ts';
import { call, tenant, type Answer, type Muster, type Tenant } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/* CONTRACT.md#operator-roles, beside the table of callers: words, audits and repetitions. */

type Role = Exclude<OperatorRole, 'operator'>;
const ROLES = OPERATOR_ROLES.filter((role): role is Role => role !== 'operator');

const tokenOf = (role: OperatorRole): string => `${role}-token-${'0123456789'.repeat(3)}`;
const FILE = OPERATOR_ROLES.map((role) => `ann-${role}:${role}:${tokenOf(role)}\n`).join('');

onEachBackend('roles of operator tokens', (backend) => {
  const clock = new FakeClock(Date.UTC(2026, 1, 3));
  const dir = scratchDirectory('roles');
  let muster: Muster;
  let owner: Tenant;
  beforeAll(async () => {
    const file = join(dir, 'tokens');
    writeFileSync(file, FILE, { mode: 0o600 });
    muster = await backend.fresh({
      clock,
      env: { MUSTER_OPERATOR_TOKEN_FILE: file },
    });
    owner = await tenant(muster);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true });
  });

  const codeOf = ({ body }: Answer) => (body['error'] as { code?: string } | undefined)?.code;
  const messageOf = ({ body }: Answer) => (body['error'] as { message?: string } | undefined)?.message;

  test.each([
    ['metrics', 'GET', '/usage', 'does not allow this', 'support, billing, auditor or operator'],
    ['billing', 'GET', '/accounts', 'does not allow this', 'support, auditor or operator'],
    ['auditor', 'PATCH', '/accounts/a1b2c3d4e5f6g7h8', 'does not allow this', 'operator'],
    ['support', 'POST', '/accounts', 'does not allow this', 'operator'],
    ['support', 'PATCH', '/accounts/a1b2c3d4e5f6g7h8', 'allows nothing here but disabled: true', 'operator'],
  ] as const)('what %s may not is 403 in words: %s %s', async (role, method, path, what, roles) => {
    const refused = (body: object) =>
      call(`${muster.ops}/operator/v1${path}`, {
        method,
        token: tokenOf(role),
        ...(method !== 'GET' && { body }),
      });
    const answer = await refused({ name: 'x' });
    expect([answer.status, codeOf(answer), messageOf(answer)]).toEqual([
      403,
      'forbidden',
      `The role ${role} of your operator token ${what}. Use a token with the role ${roles}.`,
    ]);
    // It comes before the body, but where some fields of it are the role's.
    const long = await refused({ name: 'x'.repeat(70_000) });
    if (what === 'does not allow this') expect(long.text).toBe(answer.text);
    else expect(long.status).toBe(413);
  });

  const patch = (path: string, body: object, role: OperatorRole = 'support') =>
    call(`${muster.ops}/operator/v1${path}`, { method: 'PATCH', token: tokenOf(role), body });

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
