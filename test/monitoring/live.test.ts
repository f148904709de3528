import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { BOARDS } from '../../deploy/dashboards/boards.ts';
import { createMetrics } from '../../src/metrics/service-metrics.ts';
import { selfSigned } from '../support/http/certificates.ts';
import { cataloguedLabels } from '../support/monitoring/metrics-catalogue.ts';
import { findPrometheus } from '../support/monitoring/prometheus-binary.ts';
import { Prometheus } from '../support/monitoring/prometheus.ts';
import { alerts, records, ruleFiles } from '../support/monitoring/rules.ts';
import { withAuditLog } from '../support/monitoring/with-audit-log.ts';
import { LightTraffic } from '../support/service/light-traffic.ts';
import { Muster } from '../support/service/muster.ts';
import type { Backend } from '../support/store/backends.ts';
import { etcdBackend } from '../support/store/backends.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { until } from '../support/time/until.ts';

/*
 * A real Prometheus scrapes running services under light traffic, with the rules loaded. Every query of a board, every
 * recorded series and every alert's expression must find data there, with the labels that are really there.
 */

const ROUNDS_MAX = 60;
const SETUP_MS = 600_000;

/** What an account stores is written down again after a part of its quota, so that a little growth is seen. */
const SMALL_QUOTA = { MUSTER_ACCOUNT_QUOTA_MB: '1' };

/** The series that only a process with that role or listener has; they are scraped under a job of their own. */
const APART = /muster_(?:certificate|kubernetes)_/;

/** The query of a panel, with All chosen but for the job. */
const shown = (expr: string, job: string): string =>
  expr
    .replaceAll('$__rate_interval', '1m')
    .replaceAll('$job', job)
    .replaceAll(/\$(?:cluster|namespace|instance)\b/g, '.*')
    .replaceAll('[30d:1h]', '[1m:1s]');

/** An alert that would tell 0 or 1 in place of firing or not, now in place of long ago: both sides must have data. */
const judged = (expr: string): string =>
  expr
    .replaceAll(/ (==|!=|>=|<=|>|<) (?!bool\b)/g, ' $1 bool ')
    .replaceAll(/ offset \w+/g, '')
    .replaceAll(/\[\w+:\w+\]/g, '[1m:1s]');

const etcd = inject('etcd');
const JOBS = ['muster-sqlite', ...(etcd === undefined ? [] : ['muster-etcd'])];

describe.skipIf(!findPrometheus())('under light traffic', () => {
  const opened = new AsyncDisposableStack();
  const replicas: Muster[] = [];
  const traffic: LightTraffic[] = [];
  let prometheus: Prometheus;
  let operator: ReturnType<typeof kubernetesMetrics>;

  beforeAll(async () => {
    const midnight = new Date().setUTCHours(0, 0, 0, 0);
    const sqlite = new FakeClock(midnight - 10_000);
    const single = opened.use(await Muster.start({ clock: sqlite, env: { ...SMALL_QUOTA, ...withAuditLog(opened) } }));
    replicas.push(single);
    traffic.push(await LightTraffic.start(single, sqlite));
    const targets: Record<string, string[]> = { 'muster-sqlite': [addressOf(single)] };
    if (etcd !== undefined) {
      const clock = new FakeClock(midnight - 10_000);
      const pair = await twoReplicas(etcdBackend(etcd), clock, opened);
      replicas.push(...pair.all);
      traffic.push(await LightTraffic.start(pair.leader, clock));
      targets['muster-etcd'] = pair.all.map((replica) => addressOf(replica));
    }
    targets['muster-tls'] = [addressOf(await withTls(opened))];
    operator = kubernetesMetrics();
    targets['muster-kubernetes'] = [await exported(operator, opened)];
    prometheus = opened.use(
      await Prometheus.start({
        binary: findPrometheus()?.prometheus ?? '',
        targets,
        ruleFiles: ruleFiles.map(({ path }) => path),
      }),
    );
    await Promise.all(traffic.map((each) => each.overMidnight()));
    await Promise.all(traffic.map((each) => each.grown()));
    await Promise.all(traffic.map((each) => each.counted()));
    await Promise.all(traffic.map((each) => each.limit()));
    await scraped(prometheus);
  }, SETUP_MS);
  afterAll(() => opened.disposeAsync(), SETUP_MS);

  /** Traffic goes on until each of these finds a number. @returns what never did */
  async function withoutData(queries: readonly string[]): Promise<string[]> {
    let missing = [...queries];
    for (let round = 0; round < ROUNDS_MAX && missing.length > 0; round += 1) {
      // The remains of an earlier round are found at once.
      if (round > 0) {
        operator.happen();
        await Promise.all(traffic.map((each) => each.round()));
        await scraped(prometheus);
      }
      const found = await Promise.all(missing.map((query) => prometheus.query(query)));
      missing = missing.filter((_, index) => !found[index]?.some(({ value }) => !Number.isNaN(value)));
    }
    return missing;
  }

  describe.each(BOARDS)('$title', ({ rows }) => {
    const queries = rows.flatMap(({ panels }) =>
      panels.flatMap(({ targets, mayBeEmpty }) => (mayBeEmpty === undefined ? targets.map(({ expr }) => expr) : [])),
    );

    test('every panel has data', { timeout: SETUP_MS }, async () => {
      expect(await withoutData(queries.map((expr) => shown(expr, '.*')))).toEqual([]);
    });

    test('a panel that may be empty says why, and its query is one', { timeout: SETUP_MS }, async () => {
      const panels = rows.flatMap((row) => row.panels).filter(({ mayBeEmpty }) => mayBeEmpty !== undefined);
      for (const { mayBeEmpty, targets } of panels) {
        expect(mayBeEmpty).toMatch(/^(?:while|before|where) \w+/);
        for (const { expr } of targets) await prometheus.query(shown(expr, '.*'));
      }
    });

    test.each(JOBS)('every panel has data of %s alone', { timeout: SETUP_MS }, async (job) => {
      const its = queries.filter((expr) => !APART.test(expr));
      expect(await withoutData(its.map((expr) => shown(expr, job)))).toEqual([]);
    });
  });

  test('every recorded series has data, and no rule fails', { timeout: SETUP_MS }, async () => {
    expect(await withoutData(records.map(({ record }) => record))).toEqual([]);
    const rules = await prometheus.rules();
    expect(rules).toHaveLength(records.length + alerts.length);
    expect(rules.filter(({ health, lastError = '' }) => health !== 'ok' || lastError !== '')).toEqual([]);
  });

  test('every alert finds what it judges, with labels that meet', { timeout: SETUP_MS }, async () => {
    expect(await withoutData(alerts.map(({ expr }) => judged(expr)))).toEqual([]);
  });

  test('what is well alerts nobody', { timeout: SETUP_MS }, async () => {
    const fires = await prometheus.query('ALERTS{alertstate="firing",severity="critical"}');
    const names = fires.map(({ labels }) => labels['alertname'] ?? '');
    // The certificate here is of a day, and how fast this machine is says nothing of the rules.
    expect(names.filter((name) => !/^Muster(?:CertificateExpires|Latency\w+)$/.test(name))).toEqual([]);
  });

  test('a label has no value that docs/METRICS.md does not tell', async () => {
    const told = cataloguedLabels();
    const texts = await Promise.all(replicas.map(async ({ ops }) => (await fetch(`${ops}/metrics`)).text()));
    const seen = texts.flatMap((text) => [...text.matchAll(/^(muster_\w+?)(?:_bucket|_count|_sum)?\{(.*)\} /gm)]);
    const untold = seen.flatMap(([, name = '', labels = '']) =>
      [...labels.matchAll(/(\w+)="([^"]*)"/g)]
        .filter(([, label]) => label !== 'le' && label !== 'account' && name !== 'muster_build_info')
        .filter(([, label, value = '']) => {
          const set = told.find((set) => set.label === label && set.series.includes(name));
          return set?.values.includes(value) !== true;
        })
        .map(([, label, value]) => `${name} ${label} ${value}`),
    );
    expect(seen.length).toBeGreaterThan(100);
    expect([...new Set(untold)]).toEqual([]);
  });
});

const addressOf = ({ ops }: Muster): string => new URL(ops).host;

/** Every target has been scraped, and every rule evaluated, since this was called. */
async function scraped(prometheus: Prometheus): Promise<void> {
  const oldest = async (): Promise<number> => (await prometheus.query('min(timestamp(up))'))[0]?.value ?? 0;
  const since = Date.now() / 1000;
  await until(async () => (await oldest()) > since + 1);
}

async function twoReplicas(
  backend: Backend,
  clock: FakeClock,
  opened: AsyncDisposableStack,
): Promise<{ readonly leader: Muster; readonly all: readonly Muster[] }> {
  const place = backend.place();
  const env = { ...place.env, ...SMALL_QUOTA, ...withAuditLog(opened) };
  const leader = opened.use(await Muster.start({ ...place, clock, env }));
  const other = opened.use(await Muster.start({ ...place, clock, env: { ...env, MUSTER_RATE_WINDOW: 'shared' } }));
  return { leader, all: [leader, other] };
}

async function withTls(opened: AsyncDisposableStack): Promise<Muster> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-tls-'));
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
  selfSigned(folder, 'api');
  const env = {
    MUSTER_API_TLS_CERT_FILE: join(folder, 'api.crt'),
    MUSTER_API_TLS_KEY_FILE: join(folder, 'api.key'),
  };
  return opened.use(await Muster.start({ env }));
}

/**
 * The series of a process with the role `kubernetes`, as its own registry tells them: the role itself needs a cluster.
 * The other series of that registry are left out: without a service behind them, they tell of a store that is down.
 */
function kubernetesMetrics() {
  const metrics = createMetrics('0.0.0');
  metrics.operatorGauges({
    informerAges: () => [['fleetapps', 30]],
    queued: () => 1,
    namespaces: () => [
      ['followed', 1],
      ['not_granted', 0],
    ],
    contended: () => [['FleetApp', 0]],
    resources: () => [
      ['FleetApp', 'True', 3],
      ['FleetApp', 'False', 1],
    ],
  });
  return {
    text: async () =>
      (await metrics.registry.metrics())
        .split(/^/m)
        .filter((line) => line.includes('muster_kubernetes_'))
        .join(''),
    happen(): void {
      metrics.kubernetesAnswered('GET', 200);
      metrics.reconciled('FleetApp', 'settled', 0.02);
      metrics.reconciled('FleetApp', 'failed', 0.02);
      metrics.reconcileFailed('FleetApp', 'SecretWriteFailed');
      metrics.informerFailed('fleetapps', 'unavailable');
      metrics.bindingForgotten('FleetApp');
    },
  };
}

async function exported({ text }: ReturnType<typeof kubernetesMetrics>, opened: AsyncDisposableStack): Promise<string> {
  const server: Server = createServer((_request, response) => {
    void text().then((body) => response.setHeader('Content-Type', 'text/plain; version=0.0.4').end(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.defer(async () => {
    server.closeAllConnections();
    await once(server.close(), 'close');
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
