import { describe, expect, test } from 'vitest';
import { LISTENER_NAMES } from '../../../src/config/listeners.ts';
import { connectRaw, header, type RawAnswer, type RawConnection } from '../../support/http/raw-http.ts';
import { metric } from '../../support/service/daemon.ts';
import { createApp, enroll, Muster, OPERATOR_TOKEN, poll, tenant } from '../../support/service/muster.ts';

/* How long a listener keeps a connection without a request, and who has room meanwhile. */

const PATHS = {
  api: '/v1/apps',
  device: '/device/v1/config',
  ops: '/operator/v1/accounts',
  panel: '/',
} as const;

async function ask(connection: RawConnection, path: string, token: string): Promise<RawAnswer> {
  await connection.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  return await connection.answer();
}

/** The idle time in seconds that a listener tells a client. */
async function told(muster: Muster, listener: (typeof LISTENER_NAMES)[number], token: string): Promise<number> {
  await using connection = await connectRaw(muster.service[listener].port);
  const answer = await ask(connection, PATHS[listener], token);
  return Number(/^timeout=(\d+)$/.exec(header(answer, 'keep-alive') ?? '')?.[1]);
}

test('a daemon’s connection is kept for twice the interval that the daemon is told, at the least', async () => {
  for (const base of ['1', '60', '3600']) {
    await using muster = await Muster.start({ env: { MUSTER_POLL_INTERVAL_SECONDS: base } });
    const { apiKey } = await tenant(muster);
    for (let count = 0; count < 5; count += 1) {
      const credential = await enroll(muster, await createApp(muster, apiKey));
      const interval = Number((await poll(muster, credential)).body['pollIntervalSeconds']);
      expect(await told(muster, 'device', credential)).toBeGreaterThanOrEqual(2 * interval);
    }
    expect(await told(muster, 'api', apiKey)).toBe(65);
    expect(await told(muster, 'ops', OPERATOR_TOKEN)).toBe(65);
  }
});

describe('behind proxies that are named', () => {
  const PROXIED = { MUSTER_TRUSTED_PROXIES: '127.0.0.0/8' };

  test('each listener keeps connections longer than they do, also those that have not authenticated', async () => {
    await using muster = await Muster.start({ env: PROXIED });
    for (const listener of LISTENER_NAMES)
      expect([listener, await told(muster, listener, 'none')]).toEqual([listener, 620]);
  });

  test('each listener has a setting of its own', async () => {
    const seconds = { api: 601, device: 602, ops: 603, panel: 604 };
    const env: Record<string, string> = { ...PROXIED };
    for (const name of LISTENER_NAMES) env[`MUSTER_${name.toUpperCase()}_IDLE_SECONDS`] = String(seconds[name]);
    await using muster = await Muster.start({ env });
    for (const name of LISTENER_NAMES) expect([name, await told(muster, name, 'none')]).toEqual([name, seconds[name]]);
  });
});

test('a stranger’s connection is kept for 5 s, however long others’ are', async () => {
  await using muster = await Muster.start({ env: { MUSTER_POLL_INTERVAL_SECONDS: '86400' } });
  expect(await told(muster, 'device', 'none')).toBe(5);
});

const PLACES = 12;
// Nobody’s idle time comes to its end in this test: it is the bound that makes room.
test.each(['api', 'device', 'ops'] as const)(
  'where all %s connections are kept for a week, a newcomer has the place of the one that has been idle longest',
  async (name) => {
    await using muster = await Muster.start({
      env: { [`MUSTER_${name.toUpperCase()}_IDLE_SECONDS`]: '604800' },
      // fetch has a few of the ops listener's, which Muster.start and the metrics use.
      bounds: { [name]: { concurrencyMax: 100, connectionsMax: PLACES } },
    });
    const { apiKey } = await tenant(muster);
    const token = {
      api: apiKey,
      device: await enroll(muster, await createApp(muster, apiKey)),
      ops: OPERATOR_TOKEN,
    }[name];
    await using opened = new AsyncDisposableStack();
    const join = async (): Promise<RawConnection> => {
      const connection = opened.use(await connectRaw(muster.service[name].port));
      const answer = await ask(connection, PATHS[name], token);
      expect([answer.status, header(answer, 'keep-alive')]).toEqual([200, 'timeout=604800']);
      return connection;
    };
    const first: RawConnection[] = [];
    while (first.length < PLACES) first.push(await join());
    const newcomers: RawConnection[] = [];
    while (newcomers.length < PLACES / 2) newcomers.push(await join());
    for (const connection of first.slice(0, PLACES / 2)) expect(await connection.rest()).toBe('');
    for (const connection of newcomers) expect((await ask(connection, PATHS[name], token)).status).toBe(200);
    const evicted = `muster_http_rejected_total{listener="${name}",why="connection_evicted"}`;
    expect(await metric(muster, evicted)).toBeGreaterThanOrEqual(PLACES / 2);
  },
);
