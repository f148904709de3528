import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  createAccountRollouts,
  RANKED_MAX,
  ranked,
  RankedRollouts,
  ROLLOUT_RANKINGS,
  type AccountRollout,
} from '../../../src/domain/rollouts/account-rollouts.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { PublishedRollouts, ReplicaRecord } from '../../../src/domain/records/replica-records.ts';
import { metric, setOtel } from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  OPERATOR_TOKEN,
  tenant,
  type Answer,
  type Muster,
} from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { untilPassing } from '../../support/time/until-passing.ts';

const account = (name: string, counts: Partial<AccountRollout>): AccountRollout => ({
  accountId: name,
  revision: 1,
  applied: 0,
  failed: 0,
  pending: 0,
  stale: 0,
  ...counts,
});

function countedOf(accounts: readonly AccountRollout[]) {
  const ranks = new RankedRollouts();
  for (const one of accounts) ranks.add(one);
  return ranks.counted(7);
}

describe('a rollout fails', () => {
  test.each<[Partial<AccountRollout>, boolean, string]>([
    [{ failed: 10 }, true, 'every daemon failed'],
    [{ failed: 3 }, true, 'three are enough'],
    [{ failed: 2 }, false, 'two may be at fault themselves'],
    [{ failed: 3, applied: 3 }, true, 'half'],
    [{ failed: 3, applied: 4 }, false, 'less than half'],
    [{ failed: 3, pending: 3 }, true, 'half, and none has applied it'],
    [{ failed: 3, pending: 4 }, false, 'most have not tried it yet'],
    [{ failed: 3, stale: 100 }, true, 'those that are silent say nothing'],
    [{ pending: 100 }, false, 'nobody failed'],
  ])('%j: %s (%s)', (counts, fails) => {
    expect(countedOf([account('a', counts)])).toMatchObject({ failing: Number(fails), countedAt: 7 });
    expect(ranked([account('a', counts)], 'failing')).toHaveLength(Number(fails));
  });
});

test('among 1,000 accounts, those where all of ten failed are found, whatever the others do', () => {
  const small = Array.from({ length: 900 }, (_, n) => account(`small-${n}`, { failed: 1 }));
  const large = Array.from({ length: 99 }, (_, n) => account(`large-${n}`, { failed: 15 + n, applied: 900 }));
  const { failing, accounts } = countedOf([...small, ...large, account('acme', { failed: 10 })]);
  expect(failing).toBe(1);
  expect(ranked(accounts, 'failing').map(({ accountId }) => accountId)).toEqual(['acme']);
  const failed = ranked(accounts, 'failed').map((one) => one.failed);
  expect(failed).toEqual(Array.from({ length: RANKED_MAX }, (_, n) => 15 + 98 - n));
});

test('every ranking has the same 20 accounts as one over all of them, and no more are kept', () => {
  // Few distinct numbers, so that many accounts have as many daemons as others.
  const digit = (n: number, by: number): number => (n * by) % 11;
  const all = Array.from({ length: 3000 }, (_, n) =>
    account(`a${(n * 7919) % 3000}`, {
      applied: digit(n, 3),
      failed: digit(n, 5),
      pending: digit(n, 7),
      stale: digit(n, 13),
    }),
  );
  const { accounts } = countedOf(all);
  for (const by of ROLLOUT_RANKINGS) {
    expect(ranked(accounts, by)).toEqual(ranked(all, by));
    expect(ranked(accounts, by)).toHaveLength(RANKED_MAX);
  }
  expect(accounts.length).toBeLessThanOrEqual(ROLLOUT_RANKINGS.length * RANKED_MAX);
  expect(new Set(accounts).size).toBe(accounts.length);
});

describe('what the leader announces', () => {
  const published = (countedAt: number): Pick<ReplicaRecord, 'rollouts'> => ({
    rollouts: { countedAt, failing: 0, accounts: [] },
  });
  function replica(live: readonly Pick<ReplicaRecord, 'rollouts'>[]) {
    let observed: () => Partial<ReplicaRecord> = () => ({});
    const rollouts = createAccountRollouts({
      replicas: {
        live: async () => live.map((one) => KEYS.replica.schema.parse({ ...BARE, ...one })),
        publish: (read) => void (observed = read),
      },
    });
    return { rollouts, observed: () => observed() };
  }
  const BARE = { replicaId: 'r', startedAt: 0, version: '1', keyNumbers: [], fingerprints: {}, clock: 0 };

  test('is known to the others, and to the leader at once; nothing is announced after the term', async () => {
    const counted = countedOf([account('acme', { failed: 4, applied: 1, revision: 9 })]);
    const leader = replica([]);
    expect([leader.observed(), await leader.rollouts.current()]).toEqual([{}, undefined]);
    leader.rollouts.counted(counted);
    expect(await leader.rollouts.current()).toEqual(counted);
    expect(await replica([leader.observed()]).rollouts.current()).toEqual(counted);
    leader.rollouts.counted(undefined);
    expect([leader.observed(), await leader.rollouts.current()]).toEqual([{}, undefined]);
  });

  test('is the newest one where a former leader still announces its own', async () => {
    expect(await replica([published(3), published(5), {}, published(4)]).rollouts.current()).toMatchObject({
      countedAt: 5,
    });
  });

  test('has little more than 4,000 bytes at worst, and is read with what a newer version adds', async () => {
    const full = Array.from({ length: 200 }, (_, n) =>
      account(`${'a'.repeat(13)}${100 + n}`, { revision: 1e6, failed: 1000 - n, pending: n, stale: (n * 7) % 200 }),
    );
    const leader = replica([]);
    leader.rollouts.counted(countedOf(full));
    expect(Buffer.byteLength(JSON.stringify(leader.observed()))).toBeLessThan(4200);
    const newer = {
      rollouts: {
        countedAt: 5,
        failing: 0,
        more: 1,
        accounts: [['a', 1, 2, 3, 4, 5, 'x']] as PublishedRollouts['accounts'],
      },
    };
    expect((await replica([newer]).rollouts.current())?.accounts).toEqual([
      { accountId: 'a', revision: 1, applied: 2, failed: 3, pending: 4, stale: 5 },
    ]);
  });
});

const LIST = '/operator/v1/rollouts';
const list = ({ ops }: Muster, query = ''): Promise<Answer> => call(`${ops}${LIST}${query}`, { token: OPERATOR_TOKEN });

/** An account whose daemons have said this; `''` says nothing. */
async function rolledOut(muster: Muster, said: readonly ('applied' | 'failed' | '')[]): Promise<string> {
  const owner = await tenant(muster);
  await setOtel(muster, owner.apiKey);
  for (const status of said) {
    const token = await enroll(muster, await createApp(muster, owner.apiKey));
    const body = { revision: 1, status };
    if (status !== '') await call(`${muster.device}/device/v1/config/ack`, { method: 'POST', token, body });
  }
  return owner.accountId;
}
const top = (muster: Muster, accountId: string, state: string): Promise<number> =>
  metric(muster, `muster_rollout_top_devices{account="${accountId}",state="${state}"}`);

onEachBackend('the rollouts that stand out', (backend) => {
  test('are told by every replica as the leader counted them, and shown by the leader alone', async () => {
    const clock = new FakeClock();
    const place = backend.place();
    await using one = await backend.fresh({ ...place, clock });
    const second = backend.name === 'etcd' ? await backend.fresh({ ...place, clock }) : undefined;
    await using _ = second;
    const replicas = second ? [one, second] : [one];
    for (const replica of replicas) {
      expect(await list(replica)).toMatchObject({ status: 200, body: { failing: 0, accounts: [] } });
    }
    const acme = await rolledOut(one, ['failed', 'failed', 'failed', 'applied']);
    const slow = await rolledOut(one, ['', '', 'failed', 'applied', 'applied']);
    const well = await rolledOut(one, ['applied']);
    const counts = (accountId: string, [applied = 0, failed = 0, pending = 0]: readonly number[]): object => ({
      accountId,
      name: 'tenant',
      revision: 1,
      devices: applied + failed + pending,
      applied,
      failed,
      pending,
      stale: 0,
    });
    const whole = { failing: 1, accounts: [counts(acme, [1, 3, 0]), counts(slow, [2, 1, 2])] };
    for (const replica of replicas) {
      await untilPassing(clock, async () => {
        const { countedAt, ...told } = (await list(replica)).body;
        return typeof countedAt === 'string' && isDeepStrictEqual(told, whole);
      });
      expect((await list(replica, '?top=1')).body).toMatchObject({ accounts: [{ accountId: acme }] });
      expect((await list(replica, '?by=pending')).body).toMatchObject({ failing: 1, accounts: [{ accountId: slow }] });
      expect((await list(replica, '?by=failing')).body).toMatchObject({ accounts: [{ accountId: acme }] });
      expect((await list(replica, '?by=stale')).body['accounts']).toEqual([]);
    }

    const leaders = [];
    for (const replica of replicas) {
      if ((await metric(replica, 'muster_controller_leading')) === 1) leaders.push(replica);
    }
    const [leader = expect.unreachable()] = leaders;
    expect(await metric(leader, 'muster_rollout_failing_accounts')).toBe(1);
    expect(await metric(leader, `muster_rollout_top_failed_ratio{account="${acme}"}`)).toBe(0.75);
    expect([await top(leader, acme, 'failed'), await top(leader, slow, 'failed')]).toEqual([3, 1]);
    expect(await top(leader, slow, 'pending')).toBe(2);
    const { text } = await call(`${leader.ops}/metrics`);
    expect(text).not.toMatch(new RegExp(`rollout_top_failed_ratio{account="${slow}"}|account="${well}"`));
    for (const replica of replicas) {
      const shown = (await call(`${replica.ops}/metrics`)).text;
      for (const name of ['top_devices{', 'top_failed_ratio{', 'failing_accounts ']) {
        expect(shown.includes(`\nmuster_rollout_${name}`)).toBe(leaders.includes(replica));
      }
    }
  });

  test.each([
    ['?top=0', 'top: must be a whole number from 1 to 20'],
    ['?top=21', 'top: must be a whole number from 1 to 20'],
    ['?top=', 'top: must be a whole number from 1 to 20'],
    ['?by=applied', 'by: must be failing, failed, pending or stale'],
    ['?by=', 'by: must be failing, failed, pending or stale'],
  ])('%s is refused', async (query, message) => {
    await using muster = await backend.fresh({ env: { MUSTER_ROLES: 'api,device' } });
    expect(await list(muster, query)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', message } },
    });
    const nothing = { countedAt: null, failing: 0, accounts: [] };
    expect(await list(muster, '?top=20&by=failed')).toMatchObject({ status: 200, body: nothing });
    expect((await call(`${muster.ops}${LIST}`)).status).toBe(401);
  });

  test('name no account in the metrics where that is switched off', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock, env: { MUSTER_METRICS_ACCOUNTS: 'off' } });
    const accountId = await rolledOut(muster, ['failed', 'failed', 'failed']);
    await untilPassing(clock, async () => (await metric(muster, 'muster_rollout_failing_accounts')) === 1);
    expect((await call(`${muster.ops}/metrics`)).text).not.toContain(accountId);
    expect((await list(muster)).body).toMatchObject({ accounts: [{ accountId, failed: 3 }] });
  });
});
