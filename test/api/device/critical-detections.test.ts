import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { HOUR_MS } from '../../../src/time/utc-days.ts';
import { detection, listReviews, sendDetections } from '../../support/records/detections.ts';
import { auditOf, revoke } from '../../support/service/daemon.ts';
import { createApp, enroll, tenant, type Answer, type Muster, type Tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyForRequests, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* What the audit tells of critical detections. */

interface Daemon extends Tenant {
  readonly appId: string;
  readonly credential: string;
}

onEachBackend('critical detections in the audit', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let store: FaultyStore;
  beforeAll(async () => {
    muster = await backend.fresh({
      clock,
      wrapStore: (real) => (store = faultyForRequests(real)),
      env: { MUSTER_DEVICE_RATE_PER_MINUTE: '1000' },
    });
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  async function daemon(): Promise<Daemon> {
    const account = await tenant(muster);
    const app = await createApp(muster, account.apiKey);
    return { ...account, appId: app.appId, credential: await enroll(muster, app, 'cloud') };
  }
  const send = (from: Daemon, events: readonly object[]): Promise<Answer> =>
    sendDetections(muster, from.credential, events);
  const critical = (id: string, more: object = {}): object => detection({ id, severity: 'critical', ...more });
  const some = (from: number, to: number): readonly object[] =>
    Array.from({ length: to - from }, (_, n) => critical(`event-${from + n}`));
  const told = async ({ accountId, appId }: Daemon): Promise<readonly unknown[]> =>
    (await auditOf(muster, accountId))
      .filter(({ action }) => action === 'detection.critical')
      .map((entry) => {
        expect(entry).toMatchObject({ actor: `device:${appId}`, appId });
        return entry.detail;
      });

  test('are one entry a report, with their number and the first rule, and nothing of the evidence', async () => {
    const from = await daemon();
    const secret = { hash: 'sha256:seen', redacted: 'redacted text', full: 'full text' };
    await send(from, [
      detection({ id: 'a', severity: 'high', rule: 'other' }),
      critical('b', { rule: 'exec/shell', evidence: secret }),
      critical('c', { rule: 'net/scan' }),
      critical('c', { rule: 'net/scan' }),
    ]);
    expect(await told(from)).toEqual([{ count: 2, rule: 'exec/shell' }]);
    const audit = JSON.stringify(await auditOf(muster, from.accountId));
    for (const text of ['sha256:seen', 'redacted text', 'full text']) expect(audit).not.toContain(text);
  });

  test('are none for what is known already, whether or not an answer was lost, nor for what is less', async () => {
    const from = await daemon();
    store.fates.push('answer lost after commit');
    expect((await send(from, [critical('a')])).status).toBe(502);
    await send(from, [critical('a'), detection({ id: 'b', severity: 'high' })]);
    expect(await told(from)).toEqual([{ count: 1, rule: 'rule' }]);
    await send(from, [critical('a'), critical('c', { rule: 'new' })]);
    expect(await told(from)).toEqual([
      { count: 1, rule: 'rule' },
      { count: 1, rule: 'new' },
    ]);
  });

  test('are one entry for a report that takes several commits, since the queue of the app is full', async () => {
    const from = await daemon();
    for (let at = 0; at < 200; at += 100) {
      await send(
        from,
        Array.from({ length: 100 }, (_, n) => detection({ id: `old-${at + n}` })),
      );
    }
    const before = store.changes.length;
    await send(from, some(0, 100));
    expect(store.changes.length).toBeGreaterThan(before + 1);
    expect(await told(from)).toEqual([{ count: 100, rule: 'rule' }]);
    expect(await listReviews(muster, from.accountId)).toHaveLength(200);
  });

  test('are told again after a conflict, and not where the credential ended meanwhile', async () => {
    const from = await daemon();
    store.fates.push('conflict');
    await send(from, [critical('a')]);
    expect(await told(from)).toHaveLength(1);
    store.intercept('commit', 'before', async () => await revoke(muster, from.apiKey, from.appId));
    expect((await send(from, [critical('b')])).status).toBe(401);
    expect(await told(from)).toHaveLength(1);
  });

  test('are so many entries in an hour at most: what comes then is counted by the next one', async () => {
    const from = await daemon();
    const most = LIMITS.criticalToldPerHour;
    for (let n = 0; n < most + 3; n += 1) await send(from, some(2 * n, 2 * n + 2));
    expect(await told(from)).toEqual(Array.from({ length: most }, () => ({ count: 2, rule: 'rule' })));
    clock.advance(HOUR_MS);
    await send(from, [critical('last', { rule: 'then' })]);
    expect((await told(from)).slice(most)).toEqual([{ count: 7, rule: 'then' }]);
  });
});
