import { randomUUID } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { metric, readApp } from '../../support/service/daemon.ts';
import { createApp, enroll, Muster, poll, tenant } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const url = inject('etcd');

describe.skipIf(url === undefined)('the version that a daemon reports to two replicas in turn', () => {
  test('is written once an hour, since each write leaves an entry in an audit that nobody is charged with', async () => {
    const clock = new FakeClock();
    const shared = { store: `etcd:${url}`, env: { MUSTER_ETCD_PREFIX: `/${randomUUID()}/` }, clock };
    await using one = await Muster.start(shared);
    await using other = await Muster.start(shared);
    const owner = await tenant(one);
    const daemon = async () => {
      const app = await createApp(one, owner.apiKey);
      const credential = await enroll(one, app);
      return {
        report: (muster: Muster, version: string) => poll(muster, credential, { 'muster-agent-version': version }),
        shown: async (): Promise<unknown> => (await readApp(one, owner.apiKey, app.appId))['agentVersion'],
      };
    };
    const { report, shown } = await daemon();
    const written = async (): Promise<number> =>
      (await metric(one, 'muster_mutations_total{action="app.reported"}')) +
      (await metric(other, 'muster_mutations_total{action="app.reported"}'));
    await report(one, '2.0.0');
    await expect.poll(shown).toBe('2.0.0');
    await report(other, '2.0.1');
    // It is written in the background, and too late once the clock has gone on: what was sent after it is written
    // before.
    const second = await daemon();
    await second.report(other, '2.0.0');
    await expect.poll(second.shown).toBe('2.0.0');
    clock.advance(3_600_000);
    await report(other, '2.0.2');
    await expect.poll(shown).toBe('2.0.2');
    await expect.poll(written).toBeGreaterThanOrEqual(3);
    expect(await written()).toBe(3);
  });
});
