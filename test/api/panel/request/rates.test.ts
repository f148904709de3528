import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../../../src/domain/limits.ts';
import { ask, panelMuster, signedIn, type Browser, type PanelMuster } from '../../../support/panel/panel-users.ts';
import { tenant } from '../../../support/service/muster.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/* P9: how much users and sessions may ask for. */

async function account({ muster, store }: PanelMuster) {
  const { accountId } = await tenant(muster);
  const [owner, viewer, operator] = await Promise.all([
    signedIn(store, { accounts: [{ accountId, role: 'owner' }] }),
    signedIn(store, { accounts: [{ accountId, role: 'viewer' }] }),
    signedIn(store, { operator: true }),
  ]);
  return { accountId, owner, viewer, operator };
}

describe('the rate of a user of the panel', () => {
  test('the 301st change of a minute in one account is refused; reads, another account and user go on', async () => {
    await using panel = await panelMuster(undefined, { clock: new FakeClock(Date.now()) });
    const { accountId, owner, viewer, operator } = await account(panel);
    const path = `/accounts/${accountId}/otel-config`;
    const change = (by: Browser) =>
      ask(panel, by, `/accounts/${accountId}/apps/${'a'.repeat(20)}`, { method: 'DELETE' });
    const answers = await Promise.all(Array.from({ length: LIMITS.panelRequestsPerMinute + 20 }, () => change(owner)));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(20);
    expect(refused[0]?.headers.get('retry-after')).toMatch(/^\d+$/);
    expect((await change(operator)).status).toBe(404);
    expect((await ask(panel, owner, path)).status).toBe(200);
    expect((await ask(panel, owner, '/me', { method: 'PATCH', body: { name: 'Olga' } })).status).toBe(200);
    for (const muchWork of ['verification', 'names'].map((what) => `/accounts/${accountId}/audit/${what}`)) {
      expect([muchWork, (await ask(panel, owner, muchWork)).status]).toEqual([muchWork, 429]);
      expect([muchWork, (await ask(panel, viewer, muchWork)).status]).toEqual([muchWork, 200]);
    }
  });

  test('the 1201st read of a session in a minute is refused; its changes and another session of the user go on', async () => {
    await using panel = await panelMuster(undefined, { clock: new FakeClock(Date.now()) });
    const { owner } = await account(panel);
    const statuses: number[] = [];
    while (statuses.length < LIMITS.panelReadsPerMinute + 20) {
      statuses.push(
        ...(await Promise.all(Array.from({ length: 20 }, async () => (await ask(panel, owner, '/me')).status))),
      );
    }
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    expect((await ask(panel, owner, '/me', { method: 'PATCH', body: { name: 'Olga' } })).status).toBe(200);
    expect((await ask(panel, await signedIn(panel.store, owner.userId), '/me')).status).toBe(200);
  });

  test('batches have a rate of their own', async () => {
    await using panel = await panelMuster(undefined, { clock: new FakeClock(Date.now()) });
    const { accountId, owner } = await account(panel);
    const batch = () =>
      ask(panel, owner, `/accounts/${accountId}/apps/batch`, {
        method: 'POST',
        body: { change: 'revoke', apps: ['a'.repeat(20)] },
      });
    const answers = await Promise.all(Array.from({ length: LIMITS.panelBatchesPerMinute + 3 }, batch));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(3);
    expect((await ask(panel, owner, `/accounts/${accountId}/apps`, { method: 'POST', body: {} })).status).toBe(201);
  });

  test('whoever asks for accounts that are not his has one rate for all of them', async () => {
    await using panel = await panelMuster(undefined, { clock: new FakeClock(Date.now()) });
    const stranger = await signedIn(panel.store);
    const ids = Array.from({ length: LIMITS.panelRequestsPerMinute + 1 }, (_, index) => `${index}`.padStart(16, 'a'));
    const answers = await Promise.all(ids.map((id) => ask(panel, stranger, `/accounts/${id}/overview`)));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect([statuses[0], statuses.at(-2), statuses.at(-1)]).toEqual([404, 404, 429]);
  });
});
