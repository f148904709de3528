import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EtcdCluster } from '../../support/etcd/etcd.ts';
import type { Cluster } from './cluster.ts';
import { eventually } from './control-plane/program.ts';
import type { Image } from './node/image.ts';

const CHART = join(import.meta.dirname, '../../../charts/muster');
const RELEASE = 'muster';
const NAMESPACE = 'fleet';
const WAIT = ['--wait', '--timeout=600s'];

export interface Pod {
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  readonly address: string;
  readonly ready: boolean;
}

/**
 * The chart in a namespace that enforces `restricted`, on an etcd with mutual TLS; spoken to by way of its Services.
 */
export class Release {
  readonly namespace: string = NAMESPACE;
  readonly #cluster: Cluster;
  readonly #helm: 3 | 4;
  readonly #values: string;

  private constructor(cluster: Cluster, helm: 3 | 4) {
    this.#cluster = cluster;
    this.#helm = helm;
    this.#values = join(cluster.plane.directory, 'values.json');
  }

  /** The same release by another helm. */
  by(helm: 3 | 4): Release {
    return new Release(this.#cluster, helm);
  }

  /** Makes what an administrator makes before: namespace and certificates. Nothing is installed yet. */
  static async prepare(cluster: Cluster, image: Image, etcd: EtcdCluster, helm: 3 | 4 = 3): Promise<Release> {
    const release = new Release(cluster, helm);
    writeFileSync(release.#values, JSON.stringify(values(image, etcd)));
    await cluster.kubectl(['create', 'namespace', NAMESPACE]);
    await cluster.kubectl(['label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted']);
    const file = (key: string, name: string): string => `--from-file=${key}=${join(etcd.directory, name)}`;
    const files = [file('ca.crt', 'ca.crt'), file('tls.crt', 'client.crt'), file('tls.key', 'client.key')];
    await release.kubectl(['create', 'secret', 'generic', 'etcd-tls', ...files]);
    return release;
  }

  /** @param set values besides those of every test, as `--set` takes them */
  install(...set: readonly string[]): Promise<string> {
    return this.#installOf(CHART, set);
  }

  /**
   * The chart as if it were one before: another version, without a disruption budget, with a default of another day.
   */
  installPrevious(...set: readonly string[]): Promise<string> {
    const chart = join(this.#cluster.plane.directory, 'previous-chart');
    cpSync(CHART, chart, { recursive: true });
    rmSync(join(chart, 'templates/availability.yaml'));
    for (const [file, now, before] of BEFORE) {
      const text = readFileSync(join(chart, file), 'utf8');
      if (!now.test(text)) throw new Error(`${file} has no ${now.source}`);
      writeFileSync(join(chart, file), text.replace(now, before));
    }
    return this.#installOf(chart, set);
  }

  upgrade(...set: readonly string[]): Promise<string> {
    return this.helm('upgrade', RELEASE, CHART, '--values', this.#values, ...WAIT, ...settings(set));
  }

  rollback(revision: number): Promise<string> {
    return this.helm('rollback', RELEASE, String(revision), ...WAIT);
  }

  uninstall(): Promise<string> {
    return this.helm('uninstall', RELEASE, ...WAIT);
  }

  /** `helm test`: its Job's verdict. */
  test(): Promise<string> {
    return this.helm('test', RELEASE, '--timeout=600s');
  }

  helm(...args: readonly string[]): Promise<string> {
    return this.#cluster.plane.helm(this.#helm, [...args, '--namespace', NAMESPACE]);
  }

  kubectl(args: readonly string[], input?: string): Promise<string> {
    return this.#cluster.kubectl([...args, '--namespace', NAMESPACE], input);
  }

  /** The URLs of the Services at their own addresses. */
  async addresses(): Promise<{ readonly api: string; readonly device: string; readonly ops: string }> {
    const [api, device, ops] = await Promise.all([this.#url('api'), this.#url('device'), this.#url('ops')]);
    return { api, device, ops };
  }

  /** The token in the Secret that the chart made. */
  async operatorToken(): Promise<string> {
    return (await this.secret('muster-secrets'))['operator-token']?.trim() ?? '';
  }

  /** The content of a Secret; of none, where it is not there. */
  async secret(name: string): Promise<Readonly<Record<string, string>>> {
    const found = await this.kubectl(['get', 'secret', name, '--ignore-not-found', '--output=json']);
    const { data = {} } = found === '' ? {} : (JSON.parse(found) as { data?: Record<string, string> });
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  }

  /** The pods of the Deployment that are not on their way out. */
  async pods(): Promise<readonly Pod[]> {
    const all = await this.#allPods();
    return all.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(podOf);
  }

  /** Resolves when no pod of the Deployment is on its way out any more. */
  async nobodyLeaves(): Promise<void> {
    await eventually('the pods that were told to end have ended', async () =>
      (await this.#allPods()).every(({ metadata }) => metadata.deletionTimestamp === undefined),
    );
  }

  /** Resolves when so many pods are ready and no others are there. */
  async settled(count: number): Promise<readonly Pod[]> {
    let pods: readonly Pod[] = [];
    await eventually(`${count} pods are ready`, async () => {
      pods = await this.pods();
      return pods.length === count && pods.every(({ ready }) => ready);
    });
    return pods;
  }

  /** The pod whose controller leads now. */
  async leader(): Promise<Pod> {
    let leader: Pod | undefined;
    await eventually('one controller leads', async () => {
      const pods = await this.pods();
      const leading = await Promise.all(pods.map(leads));
      leader = pods.find((_, index) => leading[index]);
      return leader !== undefined;
    });
    if (!leader) throw new Error('unreachable: somebody leads');
    return leader;
  }

  async #allPods(): Promise<PodList['items']> {
    const labels = 'app.kubernetes.io/component=all';
    const found = JSON.parse(await this.kubectl(['get', 'pods', `--selector=${labels}`, '--output=json'])) as PodList;
    return found.items;
  }

  #installOf(chart: string, set: readonly string[]): Promise<string> {
    return this.helm('install', RELEASE, chart, '--values', this.#values, ...WAIT, ...settings(set));
  }

  /** The name by which the pods refer to their image. */
  image(): Promise<string> {
    const path = '--output=jsonpath={.spec.template.spec.containers[0].image}';
    return this.kubectl(['get', 'deployment', RELEASE, path]);
  }

  async #url(listener: 'api' | 'device' | 'ops'): Promise<string> {
    const path = '--output=jsonpath={.spec.clusterIP}:{.spec.ports[0].port}';
    return `http://${await this.kubectl(['get', 'service', `${RELEASE}-${listener}`, path])}`;
  }
}

/** The differences of the files of the chart before. */
const BEFORE: readonly [file: string, now: RegExp, before: string][] = [
  ['Chart.yaml', /^version: .*$/m, 'version: 0.0.9'],
  ['values.yaml', /^ {2}clusterRole: true$/m, '  clusterRole: false'],
];

const settings = (set: readonly string[]): string[] => set.flatMap((setting) => ['--set', setting]);

function values({ name }: Image, etcd: EtcdCluster): object {
  const [repository = '', tag = ''] = name.split(':');
  return {
    image: { repository, tag, pullPolicy: 'Never' },
    store: { type: 'etcd', etcd: { endpoints: etcd.urls, tls: { existingSecret: 'etcd-tls' } } },
    // Two nodes share what this machine has.
    resources: { requests: { cpu: '20m', memory: '128Mi' }, limits: { memory: '1Gi' } },
  };
}

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
    readonly spec: { readonly nodeName?: string };
    readonly status: {
      readonly podIP?: string;
      readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    };
  }[];
}

const podOf = ({ metadata, spec, status }: PodList['items'][number]): Pod => ({
  name: metadata.name,
  uid: metadata.uid,
  node: spec.nodeName ?? '',
  address: status.podIP ?? '',
  ready: (status.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True'),
});

async function leads({ address }: Pod): Promise<boolean> {
  if (address === '') return false;
  const metrics = await fetch(`http://${address}:8082/metrics`, { signal: AbortSignal.timeout(METRICS_MS) }).then(
    (answer) => answer.text(),
    () => '',
  );
  return /^muster_controller_leading 1$/m.test(metrics);
}

const METRICS_MS = 5_000;
