import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { selfSigned } from '../../support/http/certificates.ts';
import { ask, panelMuster, signedIn, type PanelMuster } from '../../support/panel/panel-users.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { call, Muster, tenant, type MusterOptions } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyForRequests, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* O10: a configuration that is purged, or changed, while a test of its collector has not sent the header yet. */

const place = scratchDirectory('withdrawn-test');
const known = selfSigned(place, 'known');
const authorities = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...authorities, known.cert]));
afterAll(() => {
  setDefaultCACertificates(authorities);
  rmSync(place, { recursive: true });
});

/** A collector that makes no handshake of TLS until its gate is opened. */
interface GatedCollector extends AsyncDisposable {
  readonly url: string;
  /** Whoever has connected, and is connected still. */
  readonly connected: ReadonlySet<Socket>;
  /** The header of each request. */
  readonly seen: readonly unknown[];
  readonly open: () => void;
}

async function gatedCollector(): Promise<GatedCollector> {
  const seen: unknown[] = [];
  const connected = new Set<Socket>();
  const gate = Promise.withResolvers<void>();
  const tls = createTlsServer(known, ({ headers }, response) => {
    seen.push(headers['x-api-key']);
    response.end();
  });
  tls.on('tlsClientError', () => undefined);
  const server = createTcpServer({ pauseOnConnect: true }, (socket) => {
    connected.add(socket);
    socket.on('error', () => undefined).once('close', () => connected.delete(socket));
    void gate.promise.then(() => {
      tls.emit('connection', socket);
      socket.resume();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connected,
    seen,
    open: () => gate.resolve(),
    async [Symbol.asyncDispose]() {
      for (const socket of connected) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Begun {
  readonly answer: ReturnType<typeof ask>;
  /** Changes the configuration at a replica. */
  readonly otel: (method: 'PUT' | 'DELETE', authHeader?: string, at?: PanelMuster) => Promise<void>;
  readonly apiKey: string;
}

/** A test of the collector whose connection waits at the gate. */
async function begun(panel: PanelMuster, there: GatedCollector): Promise<Begun> {
  const { accountId, apiKey } = await tenant(panel.muster);
  const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
  const otel: Begun['otel'] = async (method, authHeader = 'x-api-key: wt7-secret', at = panel) => {
    const body = { enabled: true, endpoint: there.url, authHeader };
    const sent = { method, token: apiKey, ...(method === 'PUT' && { body }) };
    expect((await call(`${at.muster.api}/v1/otel-config`, sent)).status).toBe(200);
  };
  await otel('PUT');
  const answer = ask(panel, owner, `/accounts/${accountId}/otel-config/test`, { method: 'POST' });
  await until(() => there.connected.size === 1);
  return { answer, otel, apiKey };
}

const WITHDRAWN = { outcome: 'withdrawn', status: null, reason: null, tlsError: null, revision: 1 };

onEachBackend('a test whose configuration is not there any more', (backend) => {
  const options = (): MusterOptions => {
    const { store, env } = backend.place();
    const given = { clock: new FakeClock(Date.now()), env: { MUSTER_EGRESS_ALLOW: '127.0.0.0/8', ...env } };
    return { ...given, ...(store !== undefined && { store }) };
  };
  const startAt = (given: MusterOptions) => panelMuster({ fresh: (more) => Muster.start({ ...given, ...more }) });

  test.each([
    ['a purge', 'DELETE', undefined],
    ['another header', 'PUT', 'x-api-key: another'],
  ] as const)('%s during the handshake ends it at once; the header is never sent', async (_what, method, header) => {
    await using panel = await startAt(options());
    await using there = await gatedCollector();
    const { answer, otel } = await begun(panel, there);
    await otel(method, header);
    const { status, body } = await answer;
    expect([status, body]).toEqual([200, WITHDRAWN]);
    there.open();
    await until(() => there.connected.size === 0);
    expect(there.seen).toEqual([]);
  });

  test('it is so where the watch tells nothing, and where another replica has purged it', async () => {
    const given = options();
    let faulty: FaultyStore | undefined;
    const wrapStore: NonNullable<MusterOptions['wrapStore']> = (store) => (faulty = faultyForRequests(store));
    await using panel = await panelMuster({ fresh: (more) => Muster.start({ ...given, ...more }) }, { wrapStore });
    await using second = given.store === undefined ? undefined : await startAt(given);
    await using there = await gatedCollector();
    const { answer, otel } = await begun(panel, there);
    if (faulty) faulty.deaf = true;
    await otel('DELETE', undefined, second ?? panel);
    there.open();
    expect((await answer).body).toEqual(WITHDRAWN);
    await until(() => there.connected.size === 0);
    expect([there.seen, (faulty?.missed ?? 0) > 0]).toEqual([[], true]);
  });

  test('what changes the account, and not its configuration, ends nothing', async () => {
    await using panel = await startAt(options());
    await using there = await gatedCollector();
    const { answer, otel, apiKey } = await begun(panel, there);
    const made = await call(`${panel.muster.api}/v1/apps`, { method: 'POST', token: apiKey, body: {} });
    expect(made.status).toBe(201);
    await otel('PUT');
    there.open();
    expect((await answer).body).toMatchObject({ outcome: 'reached', status: 200, revision: 1 });
    expect(there.seen).toEqual(['wt7-secret']);
  });

  test('a store that does not tell whether it is still there has nothing sent', async () => {
    let faulty: FaultyStore | undefined;
    const wrapStore: NonNullable<MusterOptions['wrapStore']> = (store) => (faulty = faultyForRequests(store));
    await using panel = await panelMuster({ fresh: (more) => Muster.start({ ...options(), ...more }) }, { wrapStore });
    await using there = await gatedCollector();
    const { answer } = await begun(panel, there);
    faulty?.outage(true);
    there.open();
    expect((await answer).status).toBe(502);
    faulty?.outage(false);
    await until(() => there.connected.size === 0);
    expect(there.seen).toEqual([]);
  });
});
