import { expect, test } from 'vitest';
import { LIMITS } from '../../../../src/domain/limits.ts';
import { askBy, makeToken, type AccessToken } from '../../../support/panel/access-tokens/tokens.ts';
import { ask, panelMuster, signedIn, type PanelMuster } from '../../../support/panel/panel-users.ts';
import { tenant, type Answer } from '../../../support/service/muster.ts';
import { busyHours } from '../../../support/store/audit-entries.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/* P9, P19: what a request with an access token is charged to. The clock stands still, so that no minute ends. */

async function scene(panel: PanelMuster) {
  const [{ accountId }, other] = [await tenant(panel.muster), await tenant(panel.muster)];
  const ann = await signedIn(panel.store, {
    accounts: [accountId, other.accountId].map((id) => ({ accountId: id, role: 'owner' as const })),
  });
  const make = (of: string) => makeToken(panel, ann, { accountId: of, role: 'owner' });
  return {
    accountId,
    otherId: other.accountId,
    ann,
    one: await make(accountId),
    two: await make(accountId),
    elsewhere: await make(other.accountId),
  };
}

/** Sends as many requests, some at a time. @returns how often each status came */
async function sent(count: number, request: (index: number) => Promise<Answer>): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  for (let start = 0; start < count; start += 20) {
    const some = Array.from({ length: Math.min(20, count - start) }, (_, index) => request(start + index));
    for (const { status } of await Promise.all(some)) statuses[status] = (statuses[status] ?? 0) + 1;
  }
  return statuses;
}

onEachBackend('a request with an access token', (backend) => {
  test('that reads is charged to the token; its changes, its person and other tokens go on', async () => {
    await using panel = await panelMuster(backend, { clock: new FakeClock(Date.now()) });
    const { accountId, ann, one, two } = await scene(panel);
    const path = `/accounts/${accountId}/overview`;
    const read = (by: AccessToken) => askBy(panel, by, path);
    const max = LIMITS.panelReadsPerMinute;
    expect(await sent(max + 3, () => read(one))).toEqual({ 200: max, 429: 3 });
    expect((await read(one)).headers.get('retry-after')).toMatch(/^\d+$/);
    expect([(await read(two)).status, (await ask(panel, ann, path)).status]).toEqual([200, 200]);
    const create = await askBy(panel, one, `/accounts/${accountId}/apps`, { method: 'POST', body: { name: 'a' } });
    expect(create.status).toBe(201);
  });

  test('that changes is charged to its person on the account; another account and reads go on', async () => {
    await using panel = await panelMuster(backend, { clock: new FakeClock(Date.now()) });
    const { accountId, otherId, ann, one, two, elsewhere } = await scene(panel);
    const gone = (of: string) => `/accounts/${of}/apps/${'a'.repeat(20)}`;
    const remove = { method: 'DELETE' };
    const max = LIMITS.panelRequestsPerMinute;
    expect(await sent(max, (index) => askBy(panel, index % 2 === 0 ? one : two, gone(accountId), remove))).toEqual({
      404: max,
    });
    for (const refused of [
      await askBy(panel, one, gone(accountId), remove),
      await ask(panel, ann, gone(accountId), remove),
      await askBy(panel, two, `/accounts/${accountId}/audit/names`),
    ]) {
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)]);
    }
    expect((await askBy(panel, elsewhere, gone(otherId), remove)).status).toBe(404);
    expect((await askBy(panel, one, `/accounts/${accountId}/overview`)).status).toBe(200);
  });

  test('that looks through much of an audit is charged to its person as the changes that this is worth', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { accountId, ann, one } = await scene(panel);
    await busyHours(panel.store, accountId, { hours: 24, now: clock.now() });
    const audit = () => askBy(panel, one, `/accounts/${accountId}/audit?actor=key:nobody`);
    expect((await audit()).status).toBe(200);
    const gone = `/accounts/${accountId}/apps/${'a'.repeat(20)}`;
    const max = LIMITS.panelRequestsPerMinute;
    const statuses = await sent(max, () => ask(panel, ann, gone, { method: 'DELETE' }));
    expect(Object.keys(statuses)).toEqual(['404', '429']);
    expect((await audit()).status).toBe(429);
  });

  test('that is in vain is charged to the token alone, wherever it goes', async () => {
    await using panel = await panelMuster(backend, { clock: new FakeClock(Date.now()) });
    const { accountId, otherId, ann, one, two } = await scene(panel);
    const origin = `http://127.0.0.1:${panel.muster.service.panel.port}`;
    const page = async (by: AccessToken) =>
      (await fetch(`${origin}/openapi/v1.json`, { headers: { authorization: `Bearer ${by.token}` } })).status;
    const vain: readonly [what: string, status: number, ask: (by: AccessToken) => Promise<number>][] = [
      ['an operation for anyone', 403, async (by) => (await askBy(panel, by, '/sign-in')).status],
      ['one for people', 403, async (by) => (await askBy(panel, by, '/me')).status],
      ['one for operators', 403, async (by) => (await askBy(panel, by, '/users')).status],
      ['another account', 404, async (by) => (await askBy(panel, by, `/accounts/${otherId}/overview`)).status],
      ['a file of the reference', 403, page],
    ];
    for (const [what, status, way] of vain) expect([what, await way(one)]).toEqual([what, status]);
    // Each way is charged: a way that is not would leave room for one more of the last.
    const left = LIMITS.panelRequestsPerMinute - vain.length;
    expect(await sent(left - 1, () => askBy(panel, one, '/sign-in'))).toEqual({ 403: left - 1 });
    expect((await askBy(panel, one, '/me')).status).toBe(403);
    for (const [what, , way] of vain) expect([what, await way(one)]).toEqual([what, 429]);
    const refused = await askBy(panel, one, '/sign-in');
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    // The other operations of the token, its person and the other token go on.
    expect((await askBy(panel, one, `/accounts/${accountId}/overview`)).status).toBe(200);
    expect((await ask(panel, ann, '/me', { method: 'PATCH', body: { name: 'Ann' } })).status).toBe(200);
    expect((await askBy(panel, two, '/sign-in')).status).toBe(403);
    expect((await askBy(panel, { token: `${one.token}x` }, '/sign-in')).status).toBe(401);
  });
});
