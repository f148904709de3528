import { describe, expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { fill, makeRoom } from '../../chaos/cluster/etcd-admin.ts';
import { readText } from '../../support/records/backups.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { alarms, sizesOf } from '../../support/etcd/etcd-sizes.ts';
import { revoke } from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  Muster,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type Answer,
  type Tenant,
} from '../../support/service/muster.ts';
import { times } from '../../support/service/v1.ts';
import { until } from '../../support/time/until.ts';

const binary = findEtcd();
const title = `A12: an etcd that is full${binary ? '' : ` [skipped: ${NO_ETCD}]`}`;

const QUOTA_BYTES = 24_000_000;
const ACCOUNTS = 40;
const REVOCATIONS = 1000;
const AT_ONCE = 16;

/**
 * A configuration near the bounds of its fields, another one each time: the most that an owner can write by one PUT.
 */
const largeConfig = (number: number) => ({
  enabled: true,
  endpoint: `https://otel.example.com/${number}/${'p'.repeat(2000)}`,
  authHeader: `Bearer ${number} ${'h'.repeat(8000)}`,
});
const put = ({ api }: Muster, { apiKey }: Tenant, number: number): Promise<Answer> =>
  call(`${api}/v1/otel-config`, { method: 'PUT', token: apiKey, body: largeConfig(number) });

/**
 * All owners store configurations at once, through every replica, until none is taken for a while. Each uses one of the
 * replicas: conflicts would only slow it down. What the replicas refuse may yet fit: they count more than is written,
 * and the next look at the store corrects them.
 */
async function flood(replicas: readonly Muster[], owners: readonly Tenant[]): Promise<{ taken: number }> {
  let [taken, refusedInTurn] = [0, 0];
  const turns = owners.map(async (owner, index) => {
    const muster = replicas[index % replicas.length] ?? expect.unreachable();
    for (let number = 0; refusedInTurn < 400; number += 1) {
      const { status } = await put(muster, owner, index * 10_000 + number);
      if (status === 200) [taken, refusedInTurn] = [taken + 1, 0];
      else refusedInTurn += 1;
    }
  });
  await Promise.all(turns);
  return { taken };
}

describe.skipIf(binary === undefined)(title, () => {
  test('owners fill it through every replica: etcd never refuses a put, and 1,000 revocations are 200', async () => {
    const flags = [`--quota-backend-bytes=${QUOTA_BYTES}`];
    await using etcd = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true, flags });
    const store = `etcd:${etcd.member.url}`;
    // A replaced header is a purge, and a purge is compacted: that would make room, and the store would not be full.
    const options = { store, env: { MUSTER_ETCD_COMPACT: 'never' } };
    await using one = await Muster.start(options);
    await using other = await Muster.start(options);
    await using third = await Muster.start(options);
    const replicas = [one, other, third];
    const owners = await times(ACCOUNTS, AT_ONCE, () => tenant(one));
    const apps = await times(REVOCATIONS, AT_ONCE, async (number) => {
      const owner = owners[number % ACCOUNTS] ?? expect.unreachable();
      return { owner, app: await createApp(one, owner.apiKey) };
    });
    const [first = expect.unreachable()] = apps;
    const credential = await enroll(one, first.app);

    let taken = 0;
    await until(async () => {
      taken += (await flood(replicas, owners)).taken;
      return (await sizesOf(etcd)).inUse >= 0.8 * QUOTA_BYTES;
    });
    expect(taken).toBeGreaterThan(100);
    // Each replica has seen it, or thinks so: from here on it can only learn that it is so.
    await until(async () => (await Promise.all(replicas.map(fullnessOf))).every((fullness) => fullness >= 0.8));
    expect((await call(`${one.api}/v1/apps`, { method: 'POST', token: first.owner.apiKey })).status).toBe(502);
    expect((await poll(other, credential)).status).toBe(200);

    const answers = await times(REVOCATIONS, AT_ONCE, async (number) => {
      const { owner, app } = apps[number] ?? expect.unreachable();
      return await revoke(replicas[number % replicas.length] ?? one, owner.apiKey, app.appId);
    });
    const reasons = replicas.flatMap(({ logged }) => logged.filter((line) => line.includes('"status":502')));
    const counts = Object.fromEntries(
      Map.groupBy(answers, ({ status }) => status)
        .entries()
        .map(([status, { length }]) => [status, length]),
    );
    expect(counts, `the last lines of 502: ${reasons.slice(-3).join('')}`).toEqual({ 200: REVOCATIONS });
    expect((await poll(other, credential)).status).toBe(401);
    expect(await alarms(etcd)).toEqual([]);
    expect(await fullnessOf(one), 'after the revocations').toBeGreaterThanOrEqual(0.8);
    expect(await fullnessOf(one)).toBeLessThan(1);
  });

  test('a stranger fills it: revocations are 502 and take no effect, and it can be backed up, until an operator makes room', async () => {
    const flags = ['--quota-backend-bytes=8000000'];
    await using etcd = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true, flags });
    await using muster = await Muster.start({ store: `etcd:${etcd.member.url}` });
    const { accountId, apiKey } = await tenant(muster);
    const app = await createApp(muster, apiKey);
    const credential = await enroll(muster, app);
    await fill(etcd.member);
    const refused = await revoke(muster, apiKey, app.appId);
    expect(refused.status).toBe(502);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await poll(muster, credential)).status).toBe(200);
    expect(await call(`${muster.ops}/readyz`)).toMatchObject({
      status: 200,
      body: { status: 'ready', degraded: expect.stringContaining('takes no writes') as string },
    });
    const { entries, counted } = await readText(await backedUp(muster));
    expect(entries.map(({ key }) => key)).toContain(KEYS.app(accountId, app.appId));
    expect(entries).toHaveLength(counted ?? Number.NaN);
    await makeRoom(etcd);
    await until(async () => (await revoke(muster, apiKey, app.appId)).status === 200);
    expect((await poll(muster, credential)).status).toBe(401);
    await until(async () => !('degraded' in (await call(`${muster.ops}/readyz`)).body));
  });
});

async function backedUp({ ops, logged }: Muster): Promise<string> {
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
  const response = await fetch(`${ops}/operator/v1/backup?count=true`, { headers });
  expect(response.status, `the last lines: ${logged.slice(-3).join('')}`).toBe(200);
  return await response.text();
}

async function fullnessOf({ ops }: Muster): Promise<number> {
  const { text } = await call(`${ops}/metrics`);
  return Number(/^muster_store_fullness_ratio (\S+)$/m.exec(text)?.[1]);
}
