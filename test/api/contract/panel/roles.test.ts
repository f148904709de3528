import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, panelMuster, signedIn, type Browser, type PanelMuster } from '../../../support/panel/panel-users.ts';
import { tenant } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';

/* CONTRACT.md#p1, beside the table of callers. */

onEachBackend('roles of people', (backend) => {
  let panel: PanelMuster;
  let accountId: string;
  beforeAll(async () => {
    panel = await panelMuster(backend);
    accountId = (await tenant(panel.muster, 'enterprise')).accountId;
  });
  afterAll(async () => await panel[Symbol.asyncDispose]());

  const person = (installationRole: 'support' | 'auditor'): Promise<Browser> =>
    signedIn(panel.store, { record: { installationRole } });

  test.each([
    ['auditor', 'POST', '/users', {}, 'does not allow this', 'operator'],
    ['auditor', 'GET', '/accounts/ID/review-queue', undefined, 'does not allow this', 'support or operator'],
    ['support', 'GET', '/backup', undefined, 'does not allow this', 'operator'],
    ['support', 'PATCH', '/accounts/ID', { name: 'x' }, 'allows nothing here but disabled: true', 'operator'],
  ] as const)('what %s may not is 403 in words: %s %s', async (role, method, path, body, what, roles) => {
    const answer = await ask(panel, await person(role), path.replace('ID', accountId), {
      method,
      ...(body && { body }),
    });
    expect([answer.status, answer.body['error']]).toEqual([
      403,
      {
        code: 'forbidden',
        message: `The role ${role} that you have here ${what}. It takes the role ${roles}.`,
      },
    ]);
  });

  test('both go on where an account is disabled, and a role on an account adds up with theirs', async () => {
    const { accountId: account } = await tenant(panel.muster);
    const [op, both] = [
      await signedIn(panel.store, { operator: true }),
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
    expect((await ask(panel, await person('support'), `/accounts/${account}/overview`)).status).toBe(200);
  });
});
