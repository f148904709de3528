import { describe, expect, test } from 'vitest';
import { DEADLINES } from '../../src/domain/limits.ts';
import { findEtcd, NO_ETCD } from '../support/etcd/etcd-binary.ts';
import { EtcdCluster, type EtcdMember } from '../support/etcd/etcd.ts';
import { acknowledgesMore, load, readiness, started } from '../support/service/loaded-muster.ts';
import { call, createApp, enroll, Muster, poll, tenant } from '../support/service/muster.ts';
import { until } from '../support/time/until.ts';

const binary = findEtcd();
/** No answer may take so long; the service's own deadline is a fraction of it. */
const SAFETY_MS = 15_000;
const unavailable = { status: 502, body: { error: { code: 'upstream_unavailable' } } };

const title = `etcd under load${binary ? '' : ` [skipped: ${NO_ETCD}]`}`;

/* Side by side: each waits for an etcd of its own. The rules alone are held by test/service/store-outage.test.ts. */
describe.skipIf(binary === undefined)(title, { concurrent: true }, () => {
  type Act = (member: EtcdMember) => void | Promise<void>;
  test.each<[string, Act, Act]>([
    ['is killed', (member) => member.kill(), (member) => member.start()],
    ['is stopped', (member) => member.stop(), (member) => member.start()],
    ['is frozen', (member) => member.freeze(), (member) => member.thaw()],
  ])('%s: 502 and not ready, then all is well by itself and nothing is lost', async (_, breaks, mends) => {
    await using etcd = await EtcdCluster.start({ binary: binary ?? '' });
    await using running = await started({ store: `etcd:${etcd.member.url}` });
    const { muster, store } = running;
    const { apiKey } = await tenant(muster);
    const credential = await enroll(muster, await createApp(muster, apiKey));
    const { ledger, stop } = await load(muster);
    await acknowledgesMore(ledger);

    await breaks(etcd.member);
    const answers = await Promise.all([
      call(`${muster.api}/v1/apps`, { token: apiKey, signal: AbortSignal.timeout(SAFETY_MS) }),
      call(`${muster.api}/v1/apps`, { token: apiKey, method: 'POST', signal: AbortSignal.timeout(SAFETY_MS) }),
      call(`${muster.device}/device/v1/config`, { token: credential, signal: AbortSignal.timeout(SAFETY_MS) }),
    ]);
    for (const answer of answers) {
      expect(answer).toMatchObject(unavailable);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    await until(() => ledger.unavailable >= 20);
    await until(async () => (await readiness(muster)) === 503);
    expect((await call(`${muster.ops}/livez`)).status).toBe(200);

    await mends(etcd.member);
    await acknowledgesMore(ledger);
    await muster.ready();
    await until(async () => (await poll(muster, credential)).status === 200);
    await stop();
    expect(ledger.surprises).toEqual([]);
    expect(await ledger.faults(store)).toEqual([]);
  });

  test('the outage and its end are noticed without any request, too', async () => {
    await using etcd = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
    await using muster = await Muster.start({ store: `etcd:${etcd.member.url}`, deadlines: DEADLINES });
    await etcd.member.kill();
    await until(async () => (await readiness(muster)) === 503);
    await etcd.member.start();
    await muster.ready();
  });

  test('a stop while etcd is away ends', async () => {
    await using etcd = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
    const muster = await Muster.start({ store: `etcd:${etcd.member.url}`, deadlines: DEADLINES });
    const { apiKey } = await tenant(muster);
    const credential = await enroll(muster, await createApp(muster, apiKey));
    expect((await poll(muster, credential)).status).toBe(200);
    await etcd.member.kill();
    await muster[Symbol.asyncDispose]();
  });
});
