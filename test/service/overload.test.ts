import { expect, test } from 'vitest';
import { metric, revoke, setOtel } from '../support/service/daemon.ts';
import { Flood } from '../support/service/flood.ts';
import { call, createApp, enroll, OPERATOR_TOKEN, poll, tenant, type Muster } from '../support/service/muster.ts';
import { onEachBackend } from '../support/store/backends.ts';
import { until } from '../support/time/until.ts';

/* Load on the device listener is no reason for the others to fail, though one event loop serves them all. */

const CONNECTIONS = 200;
const ROUNDS = 3;

onEachBackend('while the device listener is flooded', (backend) => {
  const flooded = (): Promise<Muster> =>
    backend.fresh({
      // Far fewer slots than connections: most requests are rejected.
      env: { MUSTER_DEVICE_CONCURRENCY: '20', MUSTER_DEVICE_RATE_PER_MINUTE: '100000' },
    });

  /** The requests of owner, operator and probes, each with the status that it must have. */
  async function administer(muster: Muster): Promise<(readonly [what: string, status: number])[]> {
    const owner = await tenant(muster);
    const seen: (readonly [string, number])[] = [];
    const ask = async (what: string, ...request: Parameters<typeof call>): Promise<void> => {
      seen.push([what, (await call(...request)).status]);
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      const app = await createApp(muster, owner.apiKey);
      const one = `${muster.api}/v1/apps/${app.appId}`;
      await ask('read', one, { token: owner.apiKey });
      await ask('list', `${muster.api}/v1/apps`, { token: owner.apiKey });
      seen.push(['configure', (await setOtel(muster, owner.apiKey)).status]);
      seen.push(['revoke', (await revoke(muster, owner.apiKey, app.appId)).status]);
      await ask('delete', one, { method: 'DELETE', token: owner.apiKey });
      await ask('gone', one, { token: owner.apiKey });
      await ask('accounts', `${muster.ops}/operator/v1/accounts`, { token: OPERATOR_TOKEN });
      await ask('ready', `${muster.ops}/readyz`);
      await ask('metrics', `${muster.ops}/metrics`);
    }
    return seen;
  }

  const RIGHT: Readonly<Record<string, number>> = {
    read: 200,
    list: 200,
    configure: 200,
    revoke: 200,
    delete: 204,
    gone: 404,
    accounts: 200,
    ready: 200,
    metrics: 200,
  };

  test('every request of owners, operator and probes has its right answer, and daemons are served or told to come again', async () => {
    await using muster = await flooded();
    const owner = await tenant(muster);
    const credential = await enroll(muster, await createApp(muster, owner.apiKey));
    const etag = (await poll(muster, credential)).headers.get('etag') ?? '';
    const fields = [`Authorization: Bearer ${credential}`, `If-None-Match: ${etag}`];
    await using flood = await Flood.start(
      muster.service.device.port,
      CONNECTIONS,
      () => `GET /device/v1/config HTTP/1.1\r\nHost: a\r\n${fields.join('\r\n')}\r\n\r\n`,
    );
    await until(() => flood.answers > CONNECTIONS);
    const before = flood.answers;
    const seen = await administer(muster);
    expect(seen.filter(([what, status]) => status !== RIGHT[what])).toEqual([]);
    expect(seen).toHaveLength(ROUNDS * Object.keys(RIGHT).length);
    expect(flood.answers).toBeGreaterThan(before);
    expect(new Set(flood.answered.keys())).toEqual(new Set([304, 503]));
    expect(await metric(muster, 'muster_http_rejected_total{listener="device",why="request_bound"}')).toBeGreaterThan(
      0,
    );
    expect(await metric(muster, 'muster_http_rejected_total{listener="api",why="request_bound"}')).toBe(0);
  });
});

onEachBackend('a full house of held polls', (backend) => {
  async function daemonOf(muster: Muster, apiKey: string) {
    const credential = await enroll(muster, await createApp(muster, apiKey));
    return { credential, etag: (await poll(muster, credential)).headers.get('etag') ?? '' };
  }

  test('takes no slot of other requests, and one change releases and answers all', async () => {
    const polls = 100;
    await using muster = await backend.fresh({
      env: { MUSTER_DEVICE_CONCURRENCY: '50', MUSTER_DEVICE_RATE_PER_MINUTE: '100000' },
    });
    const owner = await tenant(muster);
    await setOtel(muster, owner.apiKey);
    // All daemons are there before the first poll is held: none may be over before the last one is there.
    const daemons: Awaited<ReturnType<typeof daemonOf>>[] = [];
    while (daemons.length < polls / 2) daemons.push(await daemonOf(muster, owner.apiKey));
    const held: ReturnType<typeof poll>[] = [];
    // The polls come in groups that fit: polls that are held already do not count. A credential may have two.
    while (daemons.length > held.length / 2) {
      for (const { credential, etag } of daemons.slice(held.length / 2, held.length / 2 + 12)) {
        for (let of = 0; of < 2; of += 1) {
          held.push(poll(muster, credential, { 'if-none-match': etag, prefer: 'wait=50' }));
        }
      }
      await until(async () => (await metric(muster, 'muster_held_polls')) === held.length);
    }
    await setOtel(muster, owner.apiKey, { evidenceLevel: 'full' });
    const [asked, answers] = await Promise.all([poll(muster, daemons[0]?.credential ?? ''), Promise.all(held)]);
    expect(asked.status).toBe(200);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body['revision']))).toEqual(new Set([2]));
    expect(await metric(muster, 'muster_held_polls')).toBe(0);
  });
});
