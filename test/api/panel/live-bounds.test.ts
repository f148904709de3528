import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { openEvents, type EventStream } from '../../support/panel/event-stream.ts';
import { ask, panelMuster, signedIn } from '../../support/panel/panel-users.ts';
import { call, createApp, enroll, poll, tenant } from '../../support/service/muster.ts';
import { describeOnce, onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';
import { untilPassing } from '../../support/time/until-passing.ts';

const HOUR_MS = 3_600_000;
const SESSION_IDLE_MS = 12 * HOUR_MS;

onEachBackend('the streams of live events over time', (backend) => {
  test('a rollout is read once for all who watch it, and only while somebody does', async () => {
    const clock = new FakeClock(Date.now());
    let acks: string | undefined;
    let reads = 0;
    const wrapStore = (store: Store): Store =>
      wrappedStore(store, {
        list: (request) => {
          if (request.prefix === acks) reads += 1;
          return store.list(request);
        },
      });
    await using panel = await panelMuster(backend, { clock, wrapStore });
    const { accountId, apiKey } = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const config = { enabled: true, endpoint: 'https://otel.example.com' };
    await ask(panel, ann, `/accounts/${accountId}/otel-config`, { method: 'PUT', body: config });
    const credential = await enroll(panel.muster, await createApp(panel.muster, apiKey));
    const { revision } = (await poll(panel.muster, credential)).body;
    acks = KEYS.ack(accountId, '');
    let rounds = 0;
    const pass = async (): Promise<void> => {
      rounds += 1;
      clock.advance(LIMITS.watchedReadsEveryMs);
      expect((await ask(panel, ann, '/me')).status).toBe(200);
    };
    using silent = await openEvents(panel, ann, `?account=${accountId}`);
    for (let count = 0; count < 5; count += 1) await pass();
    expect(reads).toBe(0);

    const viewers = await Promise.all(
      Array.from({ length: 3 }, () => openEvents(panel, ann, `?account=${accountId}&watch=rollout`)),
    );
    const hints = ({ events }: EventStream): number => events.filter(({ data }) => data.includes('"rollout"')).length;
    const told = (times: number): Promise<void> =>
      until(async () => {
        await pass();
        return viewers.every((viewer) => hints(viewer) === times);
      });
    rounds = 0;
    await told(1);
    const body = { revision, status: 'applied' };
    const acked = await call(`${panel.muster.device}/device/v1/config/ack`, {
      method: 'POST',
      token: credential,
      body,
    });
    expect(acked.status).toBe(204);
    await told(2);
    expect(reads).toBeGreaterThan(1);
    expect(reads).toBeLessThanOrEqual(rounds);
    expect(hints(silent)).toBe(0);

    for (const viewer of viewers) viewer[Symbol.dispose]();
    await until(async () => {
      const before = reads;
      for (let count = 0; count < 3; count += 1) await pass();
      return reads === before;
    });
  });

  test('a stream keeps no session alive: it ends when that was idle for too long, or is too old', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const [idle, busy] = [await signedIn(panel.store), await signedIn(panel.store)];
    using first = await openEvents(panel, idle, '');
    using second = await openEvents(panel, busy, '');
    await untilPassing(clock, async () => first.beats > 0 && second.beats > 0);
    clock.advance(SESSION_IDLE_MS - HOUR_MS);
    using again = await openEvents(panel, idle, '');
    expect(again.status).toBe(200);
    expect((await ask(panel, busy, '/me')).status).toBe(200);
    clock.advance(2 * HOUR_MS);
    await untilPassing(clock, async () => first.isOver && again.isOver);
    await first.has('ended');
    expect(second.isOver).toBe(false);
    expect((await ask(panel, busy, '/me')).status).toBe(200);
    clock.advance(12 * HOUR_MS);
    await untilPassing(clock, async () => second.isOver);
    await second.has('ended');
  });

  test('memory that is behind ends no stream of a session that the store has', async () => {
    let store: FaultyStore | undefined;
    const wrapStore = (opened: Store): Store => (store = faultyStore(opened));
    await using panel = await panelMuster(backend, { wrapStore });
    if (!store) throw new Error('The service has opened no store.');
    store.deaf = true;
    const ann = await signedIn(panel.store);
    await until(() => (store?.missed ?? 0) > 0);
    using stream = await openEvents(panel, ann, '');
    expect(stream.status).toBe(200);
    await stream.has('ready');
    for (let count = 0; count < 3; count += 1) {
      expect((await ask(panel, ann, '/events', { method: 'HEAD' })).status).toBe(200);
    }
    expect(stream.isOver).toBe(false);
    store.deaf = false;
  });

  describeOnce(backend, 'their number', () => {
    test('a user has a bounded number of streams: a further one ends his oldest', async () => {
      await using panel = await panelMuster(backend);
      const ann = await signedIn(panel.store);
      const streams: EventStream[] = [];
      for (let count = 0; count < LIMITS.eventStreamsPerUserMax + 3; count += 1) {
        streams.push(await openEvents(panel, ann, ''));
      }
      await until(() => streams.slice(0, 3).every(({ isOver }) => isOver));
      expect(streams.slice(3).some(({ isOver }) => isOver)).toBe(false);
      expect(streams[0]?.events.some(({ event }) => event === 'ended')).toBe(false);
      for (const stream of streams) stream[Symbol.dispose]();
    });

    test('a replica has a bounded number of them, and they take no slot of any listener', async () => {
      const panelBounds = { concurrencyMax: 20, connectionsMax: 2000 };
      await using panel = await panelMuster(backend, { bounds: { panel: panelBounds } });
      const { apiKey } = await tenant(panel.muster);
      const ann = await signedIn(panel.store);
      const streams: EventStream[] = [];
      let user = ann;
      while (streams.length < LIMITS.eventStreamsMax) {
        user = await signedIn(panel.store);
        const some = Array.from({ length: LIMITS.eventStreamsPerUserMax }, () => openEvents(panel, user, ''));
        streams.push(...(await Promise.all(some)));
      }
      expect(streams.filter(({ status }) => status !== 200)).toEqual([]);
      const refused = await ask(panel, ann, '/events');
      expect([refused.status, refused.body['error']]).toMatchObject([503, { code: 'overloaded' }]);
      expect(refused.headers.get('retry-after')).not.toBeNull();
      expect((await ask(panel, ann, '/me')).status).toBe(200);
      expect((await call(`${panel.muster.api}/v1/apps`, { token: apiKey })).status).toBe(200);
      const metrics = (await call(`${panel.muster.ops}/metrics`)).text;
      expect(metrics).toMatch(/muster_http_requests_in_flight\{listener="panel"\} 1000/);
      expect((await ask(panel, user, '/sign-out', { method: 'POST' })).status).toBe(200);
      using next = await openEvents(panel, ann, '');
      expect(next.status).toBe(200);
      for (const stream of streams) stream[Symbol.dispose]();
    });
  });
});
