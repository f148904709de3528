import { randomUUID } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { auditOf, readApp } from '../../support/service/daemon.ts';
import { createApp, enroll, Muster, poll, tenant } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const url = inject('etcd');

describe.skipIf(url === undefined)('machines that share a credential, each at its own replica', () => {
  test('are told once by all replicas together; one machine that goes from one to another is not', async () => {
    const clock = new FakeClock();
    const env = { MUSTER_ETCD_PREFIX: `/${randomUUID()}/`, MUSTER_DEVICE_RATE_PER_MINUTE: '10000' };
    await using one = await Muster.start({ store: `etcd:${url}`, env, clock });
    await using other = await Muster.start({ store: `etcd:${url}`, env, clock });
    const owner = await tenant(one);
    const daemon = async () => {
      const app = await createApp(one, owner.apiKey);
      return { appId: app.appId, credential: await enroll(one, app) };
    };
    const [cloned, single] = [await daemon(), await daemon()];
    /** Polls, and waits until both replicas know of the round in which that is written. */
    const polled = async (at: Muster, { appId, credential }: typeof cloned, id: string): Promise<void> => {
      clock.advance(5000);
      const seen = new Date(clock.now()).toISOString();
      await until(async () => (await poll(at, credential, { 'muster-instance-id': id })).status === 200);
      clock.advance(10_000);
      for (const replica of [one, other]) {
        await until(async () => (await readApp(replica, owner.apiKey, appId))['lastSeenAt'] === seen);
      }
    };
    const told = async (): Promise<readonly unknown[]> =>
      (await auditOf(one, owner.accountId)).flatMap(({ action, appId }) =>
        action === 'credential.shared' ? [appId] : [],
      );
    for (let turn = 0; turn < 4; turn += 1) {
      for (const [at, id] of [
        [one, 'a'],
        [other, 'b'],
      ] as const) {
        await polled(at, cloned, id);
        await polled(at, single, 'c');
      }
    }
    await until(async () => (await told()).length > 0);
    expect(await told()).toEqual([cloned.appId]);
  });
});
