import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeviceClient, OperatorClient, OwnerClient } from '#client';
import { makeCredential } from '../src/cli/agent/credential.ts';
import type { Urls } from '../src/cli/connection/service-urls.ts';
import { enrollSimulated } from '../src/cli/simulation/daemon.ts';
import { findEtcd, NO_ETCD } from '../test/support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../test/support/etcd/etcd.ts';
import { findPrometheus, NO_PROMETHEUS } from '../test/support/monitoring/prometheus-binary.ts';
import { Prometheus } from '../test/support/monitoring/prometheus.ts';
import { scaledRules } from '../test/support/monitoring/scaled-rules.ts';
import { freePorts } from '../test/support/service/free-ports.ts';
import { until } from '../test/support/time/until.ts';
import { Replica, type Launch } from './replica.ts';
import type { Settings } from './runbook.ts';

/** The windows and the `for` of the rules are divided by this: an hour of a fault passes in a minute. */
export const DIVIDED_BY = 60;
/** A small one, which a drill fills in a moment. */
const QUOTA_BYTES = 32_000_000;
const DAEMONS = 5;
export const ETCD_PREFIX = 'drill/';

const ENTRIES = {
  itself: join(import.meta.dirname, '../src/main.ts'),
  'with another clock': join(import.meta.dirname, '../test/system/fixtures/moved-wall-clock.ts'),
} as const;

/** The differences of a replica from the others; by default none. */
interface Different {
  readonly entry?: keyof typeof ENTRIES;
  readonly operatorToken?: string;
}

/** Two replicas on an etcd of their own before a Prometheus with the rules of the chart, and an account with daemons. */
export class Stage implements AsyncDisposable {
  readonly etcd: EtcdCluster;
  readonly prometheus: Prometheus;
  readonly settings: Settings;
  readonly owner: OwnerClient;
  readonly apiKey: string;
  readonly daemons: readonly DeviceClient[];
  readonly #launches: readonly Launch[];
  readonly #replicas: Replica[];
  readonly #opened: AsyncDisposableStack;

  private constructor(parts: StageParts) {
    ({
      etcd: this.etcd,
      prometheus: this.prometheus,
      settings: this.settings,
      owner: this.owner,
      apiKey: this.apiKey,
      daemons: this.daemons,
      launches: this.#launches,
      replicas: this.#replicas,
      opened: this.#opened,
    } = parts);
  }

  /** @throws Error where this machine has no etcd or no Prometheus */
  static async open(): Promise<Stage> {
    const [binary, found] = [findEtcd(), findPrometheus()];
    if (binary === undefined) throw new Error(NO_ETCD);
    if (found === undefined) throw new Error(NO_PROMETHEUS);
    await using opened = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), 'muster-drill-'));
    opened.defer(() => rmSync(folder, { recursive: true, force: true }));
    const etcd = opened.use(
      await EtcdCluster.start({ binary, unsafeNoFsync: true, flags: [`--quota-backend-bytes=${QUOTA_BYTES}`] }),
    );
    const operatorToken = randomBytes(32).toString('base64url');
    const launches = await launchesIn(folder, `etcd:${etcd.urls.join(',')}`);
    const replicas: Replica[] = [];
    opened.defer(async () => {
      for (const replica of replicas) await replica[Symbol.asyncDispose]();
    });
    for (const launch of launches) replicas.push(await Replica.start(launch, ENTRIES.itself, operatorToken));
    const prometheus = opened.use(
      await Prometheus.start({
        binary: found.prometheus,
        targets: { muster: launches.map(({ urls }) => new URL(urls.ops).host) },
        ruleFiles: scaledRules(folder, DIVIDED_BY),
      }),
    );
    const [{ urls } = never('there are two')] = launches;
    const account = await peopled(urls, operatorToken);
    await until(async () => (await prometheus.query('count(muster_build_info) == 2')).length === 1);
    const { ops } = urls;
    const settings = { ops, prometheus: prometheus.url, etcd: etcd.member.url, operatorToken, logs: folder };
    return new Stage({
      ...account,
      etcd,
      prometheus,
      launches,
      replicas,
      settings: { ...settings, accountId: account.accountId },
      opened: opened.move(),
    });
  }

  get urls(): readonly Urls[] {
    return this.#launches.map(({ urls }) => urls);
  }

  /** Kills the second replica. */
  async kill(): Promise<void> {
    await this.#replicas[1]?.end('SIGKILL');
  }

  /** Starts the second replica anew. */
  async restart({ entry = 'itself', operatorToken = this.settings.operatorToken }: Different = {}): Promise<void> {
    const launch = this.#launches[1] ?? never('there are two');
    await this.#replicas[1]?.end('SIGTERM');
    this.#replicas[1] = await Replica.start(launch, ENTRIES[entry], operatorToken);
  }

  /** Asks so many times at once, too often for the client. */
  async ask(url: string, token: string, times: number): Promise<void> {
    const headers = { authorization: `Bearer ${token}` };
    await Promise.all(Array.from({ length: times }, async () => (await fetch(url, { headers })).text()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
  }
}

type StageParts = Pick<Stage, 'etcd' | 'prometheus' | 'settings' | 'owner' | 'apiKey' | 'daemons'> & {
  readonly launches: readonly Launch[];
  readonly replicas: Replica[];
  readonly opened: AsyncDisposableStack;
};

async function launchesIn(folder: string, store: string): Promise<readonly Launch[]> {
  const keys = join(folder, 'keys');
  writeFileSync(keys, `1:${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  const launches: Launch[] = [];
  for (const name of ['one', 'other']) {
    const [api = 0, device = 0, ops = 0] = await freePorts(3);
    const at = (port: number): string => `127.0.0.1:${port}`;
    launches.push({
      urls: { api: `http://${at(api)}`, device: `http://${at(device)}`, ops: `http://${at(ops)}` },
      log: join(folder, `${name}.log`),
      env: {
        MUSTER_STORE: store,
        MUSTER_ETCD_PREFIX: ETCD_PREFIX,
        MUSTER_DATA_DIR: join(folder, name),
        MUSTER_KEY_FILE: keys,
        MUSTER_API_LISTEN: at(api),
        MUSTER_DEVICE_LISTEN: at(device),
        MUSTER_OPS_LISTEN: at(ops),
        MUSTER_PANEL_LISTEN: 'off',
        // A minute ahead of the others, for the one replica that has another clock.
        WALL_CLOCK_MOVED_MS: '60000',
      },
    });
  }
  return launches;
}

/** An account whose daemons have its configuration, which they acknowledge. */
async function peopled(urls: Urls, token: string) {
  const operator = new OperatorClient({ url: urls.ops, token });
  const { accountId } = await operator.createAccount({ name: 'drill', entitlement: 'enterprise' });
  const { apiKey } = await operator.createApiKey(accountId, {});
  const owner = new OwnerClient({ url: urls.api, apiKey });
  await owner.storeOtelConfig({ enabled: true, endpoint: 'https://otel.example.com', authHeader: 'Bearer drill' });
  const daemons: DeviceClient[] = [];
  for (let number = 0; number < DAEMONS; number += 1) {
    const credential = makeCredential((bytes) => randomBytes(bytes));
    const daemon = new DeviceClient({ url: urls.device, credential });
    const app = await owner.createApp({ name: `daemon ${number}` });
    await enrollSimulated(daemon, app, { credential, agentVersion: '1.0.0' }, AbortSignal.timeout(60_000));
    daemons.push(daemon);
  }
  return { accountId, apiKey, owner, daemons };
}

function never(why: string): never {
  throw new Error(why);
}
