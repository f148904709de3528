import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findEtcd } from '../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../support/etcd/etcd.ts';
import { findPrometheus } from '../support/monitoring/prometheus-binary.ts';
import { Prometheus } from '../support/monitoring/prometheus.ts';
import { scaledRules } from '../support/monitoring/scaled-rules.ts';
import { forgedKey } from '../support/records/forged-keys.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { freePorts } from '../support/service/free-ports.ts';
import { MusterProcess } from '../support/service/muster-process.ts';
import { call, KEY_FILE_TEXT, tenant, type Tenant } from '../support/service/muster.ts';
import { until } from '../support/time/until.ts';

/*
 * Real faults of two replicas on one etcd, before a real Prometheus with the rules of the chart, whose durations are
 * divided by 60: each alert fires, and ends.
 */

const DIVIDED_BY = 60;
const SETUP_MS = 600_000;
const binaries = findPrometheus();
const etcdBinary = findEtcd();

describe.skipIf(!binaries || etcdBinary === undefined)('an alert on a real fault', { timeout: SETUP_MS }, () => {
  const opened = new AsyncDisposableStack();
  let etcd: EtcdCluster;
  let prometheus: Prometheus;
  let owner: Tenant;
  const replicas: MusterProcess[] = [];
  let starts: (() => Promise<MusterProcess>)[] = [];

  beforeAll(async () => {
    const folder = scratchDirectory('muster-faults');
    opened.defer(() => rmSync(folder, { recursive: true, force: true }));
    etcd = opened.use(await EtcdCluster.start({ binary: etcdBinary ?? '', unsafeNoFsync: true }));
    writeFileSync(join(folder, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
    const ports = await freePorts(2);
    starts = ports.map(
      (port, index) => () =>
        MusterProcess.start({
          MUSTER_DATA_DIR: join(folder, `replica-${index}`),
          MUSTER_KEY_FILE: join(folder, 'keys'),
          MUSTER_STORE: `etcd:${etcd.urls.join(',')}`,
          MUSTER_OPS_LISTEN: `127.0.0.1:${port}`,
        }),
    );
    for (const start of starts) replicas.push(await start());
    opened.defer(async () => {
      for (const replica of replicas) await replica[Symbol.asyncDispose]();
    });
    prometheus = opened.use(
      await Prometheus.start({
        binary: binaries?.prometheus ?? '',
        targets: { muster: ports.map((port) => `127.0.0.1:${port}`) },
        ruleFiles: scaledRules(folder, DIVIDED_BY),
      }),
    );
    owner = await tenant(replicas[0] ?? expect.unreachable('it was started'));
    await until(async () => (await prometheus.query('count(muster_build_info) == 2')).length === 1);
  }, SETUP_MS);
  afterAll(() => opened.disposeAsync(), SETUP_MS);

  const [one, other] = [
    () => replicas[0] ?? expect.unreachable('one'),
    () => replicas[1] ?? expect.unreachable('other'),
  ];
  const firing = async (alert: string): Promise<readonly Readonly<Record<string, string>>[]> =>
    (await prometheus.query(`ALERTS{alertname="${alert}",alertstate="firing"}`)).map(({ labels }) => labels);
  /** @param act goes on until then */
  const untilFires = (alert: string, act = async (): Promise<unknown> => undefined): Promise<void> =>
    until(async () => {
      await act();
      return (await firing(alert)).length > 0;
    });
  const untilEnds = (alert: string): Promise<void> => until(async () => (await firing(alert)).length === 0);
  const start = async (index: number): Promise<void> => {
    replicas[index] = await (starts[index] ?? expect.unreachable('there are two'))();
  };

  test.concurrent('MusterAccountsLimited names the account, and ends when it asks no more', async () => {
    await untilFires('MusterAccountsLimited', () =>
      Promise.all(
        [one(), other()].flatMap(({ api }) =>
          Array.from({ length: 40 }, () => call(`${api}/v1/apps`, { token: owner.apiKey })),
        ),
      ),
    );
    expect(await firing('MusterAccountsLimited')).toMatchObject([{ account: owner.accountId }]);
    await untilEnds('MusterAccountsLimited');
  });

  test.concurrent('MusterAuthenticationFailing: somebody tries secrets', async () => {
    const wrong = forgedKey(owner.apiKey);
    await untilFires('MusterAuthenticationFailing', async () => {
      for (let n = 0; n < 25; n += 1) await call(`${one().api}/v1/apps`, { token: wrong });
    });
    expect(await firing('MusterAuthenticationFailing')).toMatchObject([{ credential: 'api_key' }]);
    await untilEnds('MusterAuthenticationFailing');
  });

  test('MusterReplicaDown and MusterReplicasMissing: one of two is killed, and comes back', async () => {
    await other().end('SIGKILL');
    await untilFires('MusterReplicaDown');
    await untilFires('MusterReplicasMissing');
    await start(1);
    await untilEnds('MusterReplicaDown');
    await untilEnds('MusterReplicasMissing');
  });

  test('MusterDown: both are killed, and one comes back', async () => {
    for (const replica of replicas) await replica.end('SIGKILL');
    await untilFires('MusterDown');
    await start(0);
    await untilEnds('MusterDown');
    await start(1);
  });

  test('MusterStoreDown, MusterNoLeader and MusterReplicaWithoutStore: etcd is stopped, and started', async () => {
    await until(async () => (await prometheus.query('sum(muster_controller_leading) == 1')).length === 1);
    await etcd.member.kill();
    await untilFires('MusterStoreDown');
    await untilFires('MusterNoLeader');
    await untilFires('MusterReplicaWithoutStore');
    await etcd.member.start();
    for (const alert of ['MusterStoreDown', 'MusterNoLeader', 'MusterReplicaWithoutStore']) await untilEnds(alert);
  });
});
