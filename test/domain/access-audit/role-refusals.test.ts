import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AuditedAttempts } from '../../../src/domain/access-audit/audited-attempts.ts';
import { FailedAttempts, REFUSED_CALLERS_MAX } from '../../../src/domain/access-audit/failed-attempts.ts';
import { BeyondRole, countRoleRefusal } from '../../../src/domain/access-audit/role-refusals.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { ask, panelMuster, signedIn } from '../../support/panel/panel-users.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { auditsOf } from '../../support/service/accounts.ts';
import { call, tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* CONTRACT.md#p1: refusals by role are counted, and the audit of the service tells of them. */

const HOUR_MS = 3_600_000;

onEachBackend('refusals by role', (backend) => {
  test('of a token and of people are counted, and stand in the audit without a secret', async () => {
    const folder = scratchDirectory('refusals');
    const file = join(folder, 'tokens');
    const secret = `refused-token-${'0123456789'.repeat(3)}`;
    writeFileSync(file, `ann:support:${secret}\nop:${'x'.repeat(40)}\n`, { mode: 0o600 });
    await using panel = await panelMuster(backend, { env: { MUSTER_OPERATOR_TOKEN_FILE: file } });
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const support = await signedIn(store, { record: { installationRole: 'support' } });
    const auditor = await signedIn(store, { record: { installationRole: 'auditor' } });
    const viewer = await signedIn(store, { accounts: [{ accountId, role: 'viewer' }] });
    const stranger = await signedIn(store);
    const create = { method: 'POST', body: { name: 'x' } };
    const apps = `/accounts/${accountId}/apps`;
    const statuses = [
      (await call(`${muster.ops}/operator/v1/accounts`, { ...create, token: secret })).status,
      (await ask(panel, support, '/accounts', create)).status,
      (await ask(panel, support, `/users/${viewer.userId}`, { method: 'PATCH', body: { name: 'x' } })).status,
      (await ask(panel, auditor, apps, create)).status,
      (await ask(panel, viewer, apps, create)).status,
      (await ask(panel, stranger, '/users')).status,
    ];
    expect(statuses).toEqual([403, 403, 403, 403, 403, 403]);
    // A role that is enough is refused nothing, and what is hidden or not proved is no matter of roles.
    expect((await ask(panel, auditor, '/users')).status).toBe(200);
    expect((await ask(panel, stranger, apps)).status).toBe(404);
    expect(
      (await ask(panel, viewer, '/sign-out', { method: 'POST', headers: { origin: 'http://evil.example' } })).status,
    ).toBe(403);
    const metrics = (await call(`${muster.ops}/metrics`)).text;
    for (const [role, count] of Object.entries({ support: 3, auditor: 1, viewer: 1, none: 1, billing: 0, owner: 0 }))
      expect(metrics).toContain(`muster_role_refusals_total{role="${role}"} ${count}`);
    const told = async () => (await auditsOf(store, 'operator')).filter(({ action }) => action === 'role.refused');
    await until(async () => (await told()).length === 5);
    const entries = await told();
    const details = entries.map(({ detail }) => ({ ...detail, clients: undefined }));
    expect(details).toHaveLength(5);
    expect(details).toEqual(
      expect.arrayContaining([
        { caller: 'operator:ann:support', count: 1, roles: 'support' },
        { userId: support.userId, count: 2, roles: 'support' },
        { userId: auditor.userId, count: 1, roles: 'auditor' },
        { userId: viewer.userId, count: 1, roles: 'viewer' },
        { userId: stranger.userId, count: 1, roles: 'none' },
      ]),
    );
    expect(entries.every(({ actor, detail }) => actor === 'muster' && detail?.['clients'] === '127.0.0.1')).toBe(true);
    expect(JSON.stringify(entries)).not.toContain(secret);
    rmSync(folder, { recursive: true });
  });
});

onEachStore('many refusals by role', (stores) => {
  test('are one entry an hour for each caller, and those who make room are told of together', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const attempts = new FailedAttempts(clock);
    const deps = { attempts, metrics: { roleRefused: () => undefined } };
    const refuse = (caller: string) => countRoleRefusal(new BeyondRole('auditor'), caller, '192.0.2.1', deps);
    const audited = new AuditedAttempts({
      store,
      clock,
      random: systemRandom(),
      metrics: { attemptsDropped: () => undefined },
      fence: [],
    });
    const enter = () => audited.enter([{ replicaId: 'one', ...attempts.published() }]);
    const details = async () => (await auditsOf(store, 'operator')).map(({ detail }) => detail);
    for (let n = 0; n < 1000; n += 1) refuse('user:eve');
    await enter();
    refuse('user:eve');
    await enter();
    expect(await details()).toEqual([{ userId: 'eve', count: 1000, roles: 'auditor', clients: '192.0.2.1' }]);
    clock.advance(HOUR_MS);
    await enter();
    expect((await details()).map((detail) => detail?.['count'])).toEqual([1000, 1]);
    clock.advance(HOUR_MS);
    refuse('user:eve');
    for (let n = 0; n < REFUSED_CALLERS_MAX; n += 1) refuse(`user:${n}`);
    // One of them stands for all who made room.
    expect(attempts.published().roleRefusals).toHaveLength(REFUSED_CALLERS_MAX + 1);
    await enter();
    const all = await details();
    expect(all).toHaveLength(REFUSED_CALLERS_MAX + 3);
    expect(all.filter((detail) => detail?.['userId'] === undefined)).toEqual([
      { count: 1002, roles: 'auditor', clients: '192.0.2.1' },
    ]);
  });
});
