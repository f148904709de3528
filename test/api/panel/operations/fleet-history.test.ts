import { rmSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { ask, panelMuster, signedIn } from '../../../support/panel/panel-users.ts';
import { codeOf } from '../../../support/panel/visitor.ts';
import { scratchDirectory } from '../../../support/run/scratch-directory.ts';
import { setOtel } from '../../../support/service/daemon.ts';
import { call, createApp, enroll, Muster, poll, tenant } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

/* The fleet over time, as the leader counts it and the panel answers it. */

const HOUR_MS = 3_600_000;
const ONE = Date.UTC(2026, 5, 1, 13);

const HISTORY = z.looseObject({
  from: z.string(),
  to: z.string(),
  stepSeconds: z.number(),
  points: z.array(z.object({ at: z.string(), active: z.number(), silent: z.number(), failed: z.number() })),
});
const OVERVIEW = z.object({ apps: z.looseObject({ active: z.number() }) });
const DELIVERIES = z.object({ apps: z.array(z.looseObject({ state: z.string() })) });

onEachBackend('the fleet over time, in a service', (backend) => {
  test('a point has the very numbers of the overview and of the list of apps', async () => {
    const clock = new FakeClock(ONE - HOUR_MS / 4);
    await using panel = await panelMuster(backend, { clock });
    const { muster, store } = panel;
    const { accountId, apiKey } = await tenant(muster);
    const viewer = await signedIn(store, { accounts: [{ accountId, role: 'viewer' }] });
    const at = (path: string): string => `/accounts/${accountId}/${path}`;
    const history = async (range = '24h') =>
      HISTORY.parse((await ask(panel, viewer, `${at('fleet-history')}?range=${range}`)).body);
    /** Lets the loops of the service go on. */
    const passes = async (isOver: () => Promise<boolean>): Promise<void> =>
      await until(async () => {
        if (clock.sleeping > 0) clock.advance(20_000);
        return await isOver();
      });

    expect((await setOtel(muster, apiKey)).status).toBe(200);
    const credentials: string[] = [];
    for (let app = 1; app <= 4; app += 1) credentials.push(await enroll(muster, await createApp(muster, apiKey)));
    await createApp(muster, apiKey);
    const [first = '', second = ''] = credentials;
    const [ackStatus, revision] = ['failed', (await poll(muster, first)).body['revision']];
    const ack = { method: 'POST', token: first, body: { revision, status: ackStatus, error: 'no' } } as const;
    expect((await call(`${muster.device}/device/v1/config/ack`, ack)).status).toBe(204);
    await passes(async () => clock.now() >= ONE - 20_000);
    expect((await poll(muster, second)).status).toBe(200);

    // One daemon goes on polling, however long the leader takes to count meanwhile.
    await passes(async () => {
      expect((await poll(muster, second)).status).toBe(200);
      return (await history()).points.at(-1)?.at === new Date(ONE).toISOString();
    });
    const { apps: counts } = OVERVIEW.parse((await ask(panel, viewer, at('overview'))).body);
    const { apps } = DELIVERIES.parse((await ask(panel, viewer, at('rollout/apps'))).body);
    const failed = apps.filter(({ state }) => state === 'failed').length;
    const { points, ...span } = await history();
    expect(points.at(-1)).toEqual({ at: new Date(ONE).toISOString(), active: 4, silent: 3, failed: 1 });
    expect({ ...counts, failed }).toMatchObject({ active: 4, silent: 3, failed: 1 });
    expect(span).toMatchObject({
      accountId,
      range: '24h',
      from: '2026-05-31T14:00:00.000Z',
      to: '2026-06-01T14:00:00.000Z',
      stepSeconds: 3600,
    });
    expect(await history('7d')).toMatchObject({ from: '2026-05-25T14:00:00.000Z', points });
    expect(await history('90d')).toMatchObject({
      from: '2026-03-04T00:00:00.000Z',
      to: '2026-06-01T18:00:00.000Z',
      stepSeconds: 21_600,
    });
    const { body } = await ask(panel, viewer, at('fleet-history'));
    expect(body).toEqual(await history('24h'));
    const wrong = await ask(panel, viewer, `${at('fleet-history')}?range=365d`);
    expect([wrong.status, codeOf(wrong)]).toEqual([400, 'invalid_request']);
    const other = await tenant(muster);
    const stranger = await signedIn(store, { accounts: [{ accountId: other.accountId, role: 'owner' }] });
    const refused = await ask(panel, stranger, at('fleet-history'));
    expect(refused.status).toBe((await ask(panel, stranger, at('overview'))).status);
    expect(refused.status).not.toBe(200);
  });

  test('an outage of the service is no silence of the fleet, which polls again as soon as it can', async () => {
    const clock = new FakeClock(ONE - HOUR_MS / 2);
    const dataDir = scratchDirectory('fleet-history');
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    const place = { ...backend.place(), dataDir };
    const start = async () =>
      await panelMuster({ fresh: (options) => Muster.start({ ...options, ...place }) }, { clock });
    const before = await start();
    const { accountId, apiKey } = await tenant(before.muster);
    const credential = await enroll(before.muster, await createApp(before.muster, apiKey));
    const viewer = await signedIn(before.store, { accounts: [{ accountId, role: 'viewer' }] });
    expect((await poll(before.muster, credential)).status).toBe(200);
    await before[Symbol.asyncDispose]();
    clock.advance(40 * 60_000);

    await using panel = await start();
    let points: z.infer<typeof HISTORY>['points'] = [];
    await until(async () => {
      if (clock.sleeping > 0) clock.advance(5000);
      expect((await poll(panel.muster, credential)).status).toBe(200);
      ({ points } = HISTORY.parse((await ask(panel, viewer, `/accounts/${accountId}/fleet-history`)).body));
      return points.some(({ at }) => at === new Date(ONE).toISOString());
    });
    expect(points.at(-1)).toEqual({ at: new Date(ONE).toISOString(), active: 1, silent: 0, failed: 0 });
  });
});
