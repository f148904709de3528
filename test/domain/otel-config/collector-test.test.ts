import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { selfSigned } from '../../support/http/certificates.ts';
import { ask, panelMuster, signedIn, type Browser, type PanelMuster } from '../../support/panel/panel-users.ts';
import { codeOf } from '../../support/panel/visitor.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { call, Muster, OPERATOR_TOKEN, tenant, type MusterOptions } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* A test of the collector, as the owners of an account make it in the panel. */

const place = scratchDirectory('collector-test');
const known = selfSigned(place, 'known');
const unknown = selfSigned(place, 'unknown');
const authorities = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...authorities, known.cert]));
afterAll(() => {
  setDefaultCACertificates(authorities);
  rmSync(place, { recursive: true });
});

const SECRET = 'wt7-0e9f5c';
const OPEN = { env: { MUSTER_EGRESS_ALLOW: '127.0.0.0/8' } };

interface Collector extends AsyncDisposable {
  readonly url: string;
  /** Method, path and header of each request. */
  readonly seen: string[];
  status: number | 'silence';
}

async function collector(tls?: { readonly cert: string; readonly key: string }): Promise<Collector> {
  const seen: string[] = [];
  const server: Server = (tls ? createTlsServer(tls) : createServer()).on('request', (request, response) => {
    const { method, url, headers } = request;
    seen.push(`${method} ${url} ${String(headers['x-api-key'] ?? headers.authorization)}`);
    const { status } = it;
    if (status === 'silence') return;
    response.writeHead(status, { location: '/elsewhere' }).end(`refused: ${headers.authorization}`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const it: Collector = {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    status: 200,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return it;
}

/** An account with an owner, and the panel in which the owner tests. */
interface Owned {
  readonly accountId: string;
  readonly owner: Browser;
  /** Stores an address with a header. */
  store(endpoint: string): Promise<void>;
  test(by?: Browser, at?: PanelMuster): ReturnType<typeof ask>;
}

async function owned(panel: PanelMuster): Promise<Owned> {
  const { accountId, apiKey } = await tenant(panel.muster);
  const owner = await signedIn(panel.store, { name: 'Olga', accounts: [{ accountId, role: 'owner' }] });
  return {
    accountId,
    owner,
    async store(endpoint) {
      const body = { enabled: true, endpoint, authHeader: `x-api-key: ${SECRET}` };
      const put = { method: 'PUT', token: apiKey, body };
      expect((await call(`${panel.muster.api}/v1/otel-config`, put)).status).toBe(200);
    },
    test: (by = owner, at = panel) => ask(at, by, `/accounts/${accountId}/otel-config/test`, { method: 'POST' }),
  };
}

const NOTHING = { status: null, reason: null, tlsError: null };
const auditOf = async (panel: PanelMuster, { owner, accountId }: Owned) =>
  await ask(panel, owner, `/accounts/${accountId}/audit`);

onEachBackend('a test of the collector', (backend) => {
  test('tells what came of it; the audit and the metrics have it, and nothing has the header', async () => {
    await using panel = await panelMuster(backend, OPEN);
    await using plain = await collector();
    await using secure = await collector(known);
    await using strange = await collector(unknown);
    const shown: string[] = [];
    const tried = async (endpoint: string, status = 200): Promise<Record<string, unknown>> => {
      for (const one of [plain, secure, strange]) one.status = status;
      const account = await owned(panel);
      await account.store(endpoint);
      const asked = await account.test();
      expect([endpoint, asked.status]).toEqual([endpoint, 200]);
      const audit = await auditOf(panel, account);
      const { outcome, status: answer, reason } = asked.body;
      expect(audit.body).toMatchObject({
        entries: [
          {
            action: 'otel.tested',
            actor: `user:${account.owner.userId}`,
            detail: {
              revision: 1,
              outcome,
              ...(answer !== null && { status: answer }),
              ...(reason !== null && { why: reason }),
            },
          },
          { action: 'otel.stored' },
          {},
          {},
        ],
      });
      shown.push(asked.text, audit.text);
      return asked.body;
    };
    expect(await tried(plain.url)).toEqual({ ...NOTHING, outcome: 'reached', status: 200, revision: 1 });
    expect(await tried(`${secure.url}/otlp/`, 204)).toMatchObject({ outcome: 'reached', status: 204 });
    expect(await tried(`${plain.url}/v1/logs`, 401)).toMatchObject({ outcome: 'header-refused', status: 401 });
    expect(await tried(plain.url, 403)).toMatchObject({ outcome: 'header-refused', status: 403 });
    expect(await tried(plain.url, 302)).toMatchObject({ outcome: 'not-reached', status: 302, reason: null });
    expect(await tried(plain.url, 503)).toMatchObject({ outcome: 'not-reached', status: 503 });
    const { tlsError, ...fault } = await tried(strange.url);
    expect(fault).toEqual({ outcome: 'tls-fault', status: null, reason: null, revision: 1 });
    expect(tlsError).toMatch(/self-signed certificate/);
    const refused = { ...NOTHING, outcome: 'not-reached', reason: 'connection-refused' };
    expect(await tried('http://127.0.0.1:1')).toMatchObject(refused);
    expect(await tried('http://10.0.0.7:4318')).toMatchObject({ ...NOTHING, outcome: 'not-allowed' });
    const traces = `POST /v1/traces ${SECRET}`;
    expect(plain.seen).toEqual([traces, `POST /v1/logs ${SECRET}`, traces, traces, traces]);
    expect([...secure.seen, ...strange.seen]).toEqual([`POST /otlp/v1/traces ${SECRET}`]);

    const metrics = (await call(`${panel.muster.ops}/metrics`)).text;
    const counted = [...metrics.matchAll(/^muster_collector_tests_total\{outcome="([^"]+)"\} (\d+)/gm)];
    expect(counted.map(([, outcome, count]) => `${outcome} ${count}`)).toEqual([
      'reached 2',
      'header-refused 2',
      'not-reached 3',
      'tls-fault 1',
      'not-allowed 1',
      'withdrawn 0',
    ]);
    for (const text of [...shown, metrics, panel.muster.logged.join('\n')]) expect(text).not.toContain(SECRET);
  });

  test('the service itself, its store and all that is inside are refused; nothing of them is told', async () => {
    await using panel = await panelMuster(backend, OPEN);
    await using inside = await collector();
    const { api, device, ops, panel: pages } = panel.muster.service;
    const places = [api, device, ops, pages].map(({ port }) => `http://127.0.0.1:${port}`);
    const etcd = backend.place().store?.replace('etcd:', '') ?? places[0];
    for (const endpoint of [...places, `http://localhost:${api.port}`, `${etcd}`]) {
      const account = await owned(panel);
      await account.store(endpoint);
      expect([endpoint, (await account.test()).body['outcome']]).toEqual([endpoint, 'not-allowed']);
    }
    await using closed = await panelMuster(backend);
    const account = await owned(closed);
    await account.store(inside.url);
    expect((await account.test()).body).toEqual({ ...NOTHING, outcome: 'not-allowed', revision: 1 });
    expect(inside.seen).toEqual([]);
  });

  test('needs an owner, a fresh proof, the entitlement and an address; without them no turn is taken', async () => {
    await using panel = await panelMuster(backend, OPEN);
    await using there = await collector();
    const account = await owned(panel);
    const { accountId, owner } = account;
    const refused = async (by?: Browser): Promise<unknown> => {
      const asked = await account.test(by);
      return [asked.status, codeOf(asked)];
    };
    expect(await refused()).toEqual([409, 'conflict']);
    await account.store(there.url);
    const viewer = await signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    expect(await refused(viewer)).toEqual([403, 'forbidden']);
    const stale = { proof: { at: Date.now() - LIMITS.freshProofMs - 1, by: 'password' as const } };
    expect(await refused(await signedIn(panel.store, owner.userId, stale))).toEqual([403, 'proof_required']);
    const entitle = async (entitlement: string): Promise<void> => {
      const changed = { method: 'PATCH', token: OPERATOR_TOKEN, body: { entitlement } };
      expect((await call(`${panel.muster.ops}/operator/v1/accounts/${accountId}`, changed)).status).toBe(200);
    };
    await entitle('standard');
    expect(await refused()).toEqual([403, 'enterprise_required']);
    await entitle('enterprise');
    expect(there.seen).toEqual([]);
    const operator = await signedIn(panel.store, { name: 'Otto', operator: true });
    expect((await account.test(operator)).body['outcome']).toBe('reached');
    const [entry] = (await auditOf(panel, account)).body['entries'] as { actor: string }[];
    expect(entry?.actor).toBe(`user:${operator.userId}`);
  });

  test('an account has one in ten seconds, over all replicas; another account has its own', async () => {
    const clock = new FakeClock(Date.now());
    const place = backend.place();
    const options = { ...OPEN, clock, env: { ...OPEN.env, ...place.env }, ...(place.store && { store: place.store }) };
    const start = { fresh: (given?: MusterOptions) => Muster.start({ ...options, ...given }) };
    await using panel = await panelMuster(start, options);
    await using second = place.store === undefined ? undefined : await panelMuster(start, options);
    await using there = await collector();
    const [account, other] = [await owned(panel), await owned(panel)];
    await account.store(there.url);
    await other.store(there.url);
    const at = [panel, second ?? panel];
    const together = await Promise.all([...at, ...at, ...at].map((one) => account.test(account.owner, one)));
    const statuses = together.map(({ status }) => status).toSorted((one, another) => one - another);
    expect(statuses).toEqual([200, 429, 429, 429, 429, 429]);
    for (const limited of together.filter(({ status }) => status === 429)) {
      expect([codeOf(limited), limited.headers.get('retry-after')]).toEqual(['rate_limited', '10']);
    }
    expect((await other.test()).status).toBe(200);
    clock.advance(LIMITS.collectorTestEveryMs - 1);
    expect((await account.test()).headers.get('retry-after')).toBe('1');
    clock.advance(1);
    expect((await account.test()).status).toBe(200);
    expect(there.seen).toHaveLength(3);
  });

  test('a collector that is silent ends with the time; a session that ends meanwhile still leaves the entry', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { ...OPEN, clock });
    await using silent = await collector();
    silent.status = 'silence';
    const account = await owned(panel);
    await account.store(silent.url);
    const asked = account.test();
    await until(() => silent.seen.length === 1);
    const { userId } = account.owner;
    const again = await signedIn(panel.store, userId);
    expect((await ask(panel, account.owner, '/sign-out', { method: 'POST' })).status).toBe(200);
    clock.advance(LIMITS.egressCallMs);
    expect((await asked).body).toMatchObject({ outcome: 'not-reached', status: null, reason: 'no-answer' });
    expect((await auditOf(panel, { ...account, owner: again })).body).toMatchObject({
      entries: [{ action: 'otel.tested', actor: `user:${userId}`, detail: { why: 'no-answer' } }, {}, {}, {}],
    });
  });

  test('nothing is sent of a configuration that was purged, or has another header, as the test began', async () => {
    const race = new BeforeCommit(KEYS.collectorTest.under());
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { ...OPEN, clock, wrapStore: race.wrapStore });
    await using there = await collector();
    const { accountId, apiKey } = await tenant(panel.muster);
    const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const otel = async (method: string, authHeader?: string): Promise<void> => {
      const body = { enabled: true, endpoint: there.url, authHeader };
      const changed = { method, token: apiKey, ...(authHeader !== undefined && { body }) };
      expect((await call(`${panel.muster.api}/v1/otel-config`, changed)).status).toBeLessThan(300);
    };
    const test = () => ask(panel, owner, `/accounts/${accountId}/otel-config/test`, { method: 'POST' });
    await otel('PUT', `x-api-key: ${SECRET}`);
    race.next = async () => await otel('PUT', 'x-api-key: another');
    expect([(await test()).body['revision'], race.isDone]).toEqual([2, true]);
    expect(there.seen).toEqual(['POST /v1/traces another']);
    clock.advance(LIMITS.collectorTestEveryMs);
    race.next = async () => await otel('DELETE');
    const late = await test();
    expect([late.status, codeOf(late), race.isDone]).toEqual([409, 'conflict', true]);
    expect(there.seen).toHaveLength(1);
  });
});
