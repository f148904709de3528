import { expect, test } from 'vitest';
import { metric } from '../../support/service/daemon.ts';
import { call, OPERATOR_TOKEN, tenant, type Answer, type Muster, type Tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';
import { untilPassing } from '../../support/time/until-passing.ts';

const LIMITS = '/operator/v1/rate-limits';
const COUNT = 'muster_rate_window_fill_ratio_count';

interface Limits {
  readonly limited: number;
  readonly accounts: readonly { readonly accountId: string; readonly refused: number; readonly fill: number }[];
}

const ask = ({ ops }: Muster, query = ''): Promise<Answer> =>
  call(`${ops}${LIMITS}${query}`, { token: OPERATOR_TOKEN });
const limitsOf = async (muster: Muster): Promise<Limits> => (await ask(muster)).body as unknown as Limits;
const get = ({ api }: Muster, { apiKey }: Tenant, path = '/v1/apps'): Promise<Answer> =>
  call(api + path, { token: apiKey });

/** Spends the requests of an account, and then as many as are to be refused. */
async function limit(muster: Muster, owner: Tenant, refused: number): Promise<void> {
  for (let left = refused; left > 0;) if ((await get(muster, owner)).status === 429) left -= 1;
}

onEachBackend('which account is limited', (backend) => {
  test('is told with its key and operation, how full the others are, since when and until when', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const [owner, near, idle] = [await tenant(muster), await tenant(muster), await tenant(muster)];
    expect(await ask(muster)).toMatchObject({ status: 200, body: { limited: 0, accounts: [] } });
    const since = new Date(clock.now()).toISOString();
    await limit(muster, owner, 2);
    await call(`${muster.api}/v1/apps/${'a'.repeat(20)}/revoke`, { method: 'POST', token: owner.apiKey });
    for (let n = 0; n < 300; n += 1) await get(muster, near);
    await get(muster, idle);
    const { body } = await ask(muster);
    expect(body).toMatchObject({
      limited: 1,
      accounts: [
        {
          accountId: owner.accountId,
          name: 'tenant',
          fill: 1,
          refused: 3,
          refusedBy: [
            { keyId: owner.keyId, operation: 'GET /v1/apps', refused: 2 },
            { keyId: owner.keyId, operation: 'POST /v1/apps/:appId/revoke', refused: 1 },
          ],
          limitedSince: since,
        },
        { accountId: near.accountId, refused: 0, refusedBy: [], limitedSince: null, liftsAt: null },
      ],
    });
    const [first, second] = (body as unknown as Limits).accounts;
    expect(second?.fill).toBeGreaterThanOrEqual(0.5);
    const { liftsAt } = first as unknown as { readonly liftsAt: string };
    expect(Date.parse(liftsAt) - clock.now()).toBeGreaterThanOrEqual(1000);
    expect(Date.parse(liftsAt) - clock.now()).toBeLessThanOrEqual(60_000);
    expect((await ask(muster, '?top=1')).body).toMatchObject({ accounts: [{ accountId: owner.accountId }] });
    const lines = muster.logged.filter((line) => line.includes('an account is rate limited'));
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { accountId: owner.accountId, keyId: owner.keyId, method: 'GET', route: '/v1/apps', refused: 1 },
    ]);
    expect(lines.join()).not.toContain(owner.apiKey);
  });

  test.each(['0', '21', '-1', 'x', '1e1', ''])('top=%s is refused', async (top) => {
    await using muster = await backend.fresh();
    expect(await ask(muster, `?top=${top}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', message: 'top: must be a whole number from 1 to 20' } },
    });
    expect((await ask(muster, '?top=20')).status).toBe(200);
    expect((await call(`${muster.ops}${LIMITS}`)).status).toBe(401);
  });

  test('over two replicas, on the leader, each account is counted once, and all its refusals', async () => {
    const clock = new FakeClock();
    const place = backend.place();
    await using one = await backend.fresh({ ...place, clock });
    const second = backend.name === 'etcd' ? await backend.fresh({ ...place, clock }) : undefined;
    await using _ = second;
    const replicas = second ? [one, second] : [one];
    const owners = [await tenant(one), await tenant(one)];
    const sum = async (series: string): Promise<number> =>
      (await Promise.all(replicas.map((replica) => metric(replica, series)))).reduce((all, one) => all + one, 0);
    const refusedOf = ({ accountId }: Tenant): Promise<number> =>
      sum(`muster_rate_limit_top_refused{account="${accountId}"}`);
    /** They stay limited on every replica, however much time passes until the leader has heard of it. */
    const areShown = async (): Promise<boolean> => {
      for (const owner of owners) for (const replica of replicas) await limit(replica, owner, 1);
      const [first = 0, second = 0] = await Promise.all(owners.map((owner) => refusedOf(owner)));
      return first >= replicas.length && second >= replicas.length && (await sum(COUNT)) === 2;
    };
    await untilPassing(clock, areShown);
    expect(await sum('muster_rate_limited_accounts')).toBe(2);
    for (const replica of replicas) {
      const { limited, accounts } = await limitsOf(replica);
      expect([limited, new Set(accounts.map(({ accountId }) => accountId))]).toEqual([
        2,
        new Set(owners.map(({ accountId }) => accountId)),
      ]);
    }
    const leaders = [];
    for (const replica of replicas) {
      if ((await metric(replica, 'muster_controller_leading')) === 1) leaders.push(replica);
    }
    expect(leaders).toHaveLength(1);
    for (const replica of replicas) {
      const { text } = await call(`${replica.ops}/metrics`);
      expect(text.includes('muster_rate_limit_top_refused{')).toBe(leaders.includes(replica));
    }
  });

  test('a decision that the store does not let anybody make is counted and timed, with its route', async () => {
    let faulty: FaultyStore | undefined;
    // The watch cache is filled, so that the key is found; the window is not there, and its first request needs a
    // commit.
    await using muster = await backend.fresh({ wrapStore: (store) => (faulty = faultyStore(store)) });
    const owner = await tenant(muster);
    faulty?.down.add('commit');
    expect((await get(muster, owner)).status).toBe(502);
    const requests = 'muster_http_request_duration_seconds_count{listener="api",method="GET",route="/v1/apps"';
    expect(await metric(muster, `${requests},status="502",code="upstream_unavailable"}`)).toBe(1);
    expect(await metric(muster, 'muster_rate_decisions_total{decision="unavailable"}')).toBe(1);
    expect(await metric(muster, 'muster_rate_decision_duration_seconds_count{result="unavailable"}')).toBe(1);
    faulty?.down.delete('commit');
    await until(async () => (await get(muster, owner)).status === 200);
    expect(await metric(muster, 'muster_rate_decisions_total{decision="admitted"}')).toBe(1);
  });

  test('no account is named in the metrics where that is switched off', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock, env: { MUSTER_METRICS_ACCOUNTS: 'off' } });
    const owner = await tenant(muster);
    await untilPassing(clock, async () => {
      await limit(muster, owner, 1);
      return (await metric(muster, 'muster_rate_limited_accounts')) === 1;
    });
    expect((await call(`${muster.ops}/metrics`)).text).not.toContain(owner.accountId);
    expect((await limitsOf(muster)).accounts).toMatchObject([{ accountId: owner.accountId }]);
  });
});
