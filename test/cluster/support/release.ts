import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { call } from '../../support/service/muster.ts';
import type { Cluster } from './cluster.ts';
import { eventually } from './control-plane/program.ts';

const CHART = join(import.meta.dirname, '../../../charts/muster');
const RELEASE = 'muster';
const WAIT = ['--wait', '--timeout=600s'];
const PODS = `app.kubernetes.io/instance=${RELEASE},muster.dev/ops=true`;
const COMPLAINT = /"level":"(?:warn|error)"|slow or failed/;
const COMPLAINTS_MAX = 40;
/** As a rule the first time tells. */
const TEST_MS = 60_000;

export interface Pod {
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  readonly address: string;
  readonly ready: boolean;
}

interface ReleaseOptions {
  readonly namespace: string;
  /** Paths of values files, and values; the later ones win. */
  readonly values: readonly (string | object)[];
  readonly helm?: 3 | 4;
  /** The chart's folder; by default that of this tree. */
  readonly chart?: string;
}

/** The chart in a namespace that enforces `restricted`; spoken to by way of its Services. */
export class Release {
  readonly namespace: string;
  readonly #cluster: Cluster;
  readonly #options: ReleaseOptions;

  private constructor(cluster: Cluster, options: ReleaseOptions) {
    this.namespace = options.namespace;
    this.#cluster = cluster;
    this.#options = options;
  }

  /** The same release by another helm, of another chart, or with other values. */
  by(options: Partial<Omit<ReleaseOptions, 'namespace'>>): Release {
    return new Release(this.#cluster, { ...this.#options, ...options });
  }

  /** Makes the namespace, as an administrator does before. Nothing is installed yet. */
  static async prepare(cluster: Cluster, options: ReleaseOptions): Promise<Release> {
    await restrictedNamespace(cluster, options.namespace);
    return new Release(cluster, options);
  }

  /** Makes a Secret out of files, by their keys in it. */
  async secretOf(name: string, files: Readonly<Record<string, string>>): Promise<void> {
    const from = Object.entries(files).map(([key, path]) => `--from-file=${key}=${path}`);
    await this.kubectl(['create', 'secret', 'generic', name, ...from]);
  }

  /** Makes a Secret out of texts, by their keys in it. */
  async secretOfTexts(name: string, stringData: Readonly<Record<string, string>>): Promise<void> {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData };
    await this.kubectl(['create', '--filename=-'], JSON.stringify(secret));
  }

  /** @param set values besides those of every test, as `--set` takes them */
  install(...set: readonly string[]): Promise<string> {
    return this.helm('install', RELEASE, this.#chart, ...this.#valuesFlags(), ...WAIT, ...settings(set));
  }

  upgrade(...set: readonly string[]): Promise<string> {
    return this.helm('upgrade', RELEASE, this.#chart, ...this.#valuesFlags(), ...WAIT, ...settings(set));
  }

  rollback(revision: number): Promise<string> {
    return this.helm('rollback', RELEASE, String(revision), ...WAIT);
  }

  uninstall(): Promise<string> {
    return this.helm('uninstall', RELEASE, ...WAIT);
  }

  /** Resolves when `helm test` passes. It says no, too, where a pod of a busy machine is not ready for a moment. */
  async testPasses(): Promise<void> {
    let said = '';
    const passes = async (): Promise<boolean> => {
      const failed = await this.helm('test', RELEASE, '--timeout=120s').then(
        () => undefined,
        () => this.kubectl(['logs', `${RELEASE}-test`]).catch(String),
      );
      said = failed ?? '';
      return failed === undefined;
    };
    await eventually(() => `helm test passes. Its pod said last:\n${said}`, passes, { withinMs: TEST_MS });
  }

  helm(...args: readonly string[]): Promise<string> {
    return this.#cluster.plane.helm(this.#options.helm ?? 3, [...args, '--namespace', this.namespace]);
  }

  kubectl(args: readonly string[], input?: string): Promise<string> {
    return this.#cluster.kubectl([...args, '--namespace', this.namespace], input);
  }

  /** Applies a custom resource. */
  async apply(kind: string, name: string, spec: object): Promise<void> {
    const resource = { apiVersion: 'muster.dev/v1beta1', kind, metadata: { name }, spec };
    await this.kubectl(['apply', '--filename=-'], JSON.stringify(resource));
  }

  /** Resolves when the custom resource, `kind/name`, is ready. */
  async ready(resource: string): Promise<void> {
    await this.kubectl(['wait', '--for=condition=Ready', resource, '--timeout=300s']);
  }

  /** A field of a resource by its JSONPath. */
  field(resource: string, path: string): Promise<string> {
    return this.kubectl(['get', resource, `--output=jsonpath={${path}}`]);
  }

  /** The URLs of the Services at their own addresses. */
  async addresses(): Promise<{ readonly api: string; readonly device: string; readonly ops: string }> {
    const [api, device, ops] = await Promise.all([this.#url('api'), this.#url('device'), this.#url('ops')]);
    return { api, device, ops };
  }

  /** The URL of the panel's Service, where the values have one. */
  panel(): Promise<string> {
    return this.#url('panel');
  }

  /** The token in the Secret that the chart made. */
  async operatorToken(): Promise<string> {
    return (await this.secret('muster-secrets'))['operator-token']?.trim() ?? '';
  }

  /** API keys of so many accounts, which it makes. */
  async apiKeys(count: number): Promise<string[]> {
    const [{ ops }, token] = await Promise.all([this.addresses(), this.operatorToken()]);
    const made = Array.from({ length: count }, async () => {
      const url = `${ops}/operator/v1/accounts`;
      const account = await call(url, { method: 'POST', token, body: { name: 'load', entitlement: 'standard' } });
      const key = await call(`${url}/${String(account.body['accountId'])}/api-keys`, { method: 'POST', token });
      if (key.status !== 201) throw new Error(`POST api-keys: ${account.status} ${key.status} ${key.text}`);
      return String(key.body['apiKey']);
    });
    return await Promise.all(made);
  }

  /** The content of a Secret; of none, where it is not there. */
  async secret(name: string): Promise<Readonly<Record<string, string>>> {
    const found = await this.kubectl(['get', 'secret', name, '--ignore-not-found', '--output=json']);
    const { data = {} } = found === '' ? {} : (JSON.parse(found) as { data?: Record<string, string> });
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  }

  /** The pods of the Deployments that are not on their way out. */
  async pods(): Promise<readonly Pod[]> {
    const all = await this.#allPods();
    return all.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(podOf);
  }

  /** Resolves when no pod of the Deployments is on its way out any more. */
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

  /**
   * The pod whose controller leads now.
   * @param node the leader is looked for among the pods of this node alone
   */
  async leader(node?: string): Promise<Pod> {
    let leader: Pod | undefined;
    await eventually('one controller leads', async () => {
      const pods = (await this.pods()).filter((pod) => node === undefined || pod.node === node);
      const leading = await Promise.all(pods.map(leads));
      leader = pods.find((_, index) => leading[index]);
      return leader !== undefined;
    });
    if (!leader) throw new Error('unreachable: somebody leads');
    return leader;
  }

  async #allPods(): Promise<PodList['items']> {
    const found = JSON.parse(await this.kubectl(['get', 'pods', `--selector=${PODS}`, '--output=json'])) as PodList;
    return found.items;
  }

  get #chart(): string {
    return this.#options.chart ?? CHART;
  }

  /** Values that are none of a file are written to one. */
  #valuesFlags(): string[] {
    return this.#options.values.flatMap((values, index) => {
      if (typeof values === 'string') return ['--values', values];
      const file = join(this.#cluster.plane.directory, `values-${this.namespace}-${index}.json`);
      writeFileSync(file, JSON.stringify(values));
      return ['--values', file];
    });
  }

  /** What the pods that are there have logged of requests that were slow or failed, and above `info`. */
  async complaints(): Promise<string> {
    const logs = await this.kubectl(['logs', `--selector=${PODS}`, '--tail=-1', '--prefix']).catch(String);
    const lines = logs.split('\n').filter((line) => COMPLAINT.test(line));
    return lines.slice(-COMPLAINTS_MAX).join('\n');
  }

  /** The name by which the pods refer to their image. */
  image(): Promise<string> {
    return this.field(`deployment/${RELEASE}`, '.spec.template.spec.containers[0].image');
  }

  async #url(listener: 'api' | 'device' | 'ops' | 'panel'): Promise<string> {
    const path = '--output=jsonpath={.spec.clusterIP}:{.spec.ports[0].port}';
    return `http://${await this.kubectl(['get', 'service', `${RELEASE}-${listener}`, path])}`;
  }
}

/** A namespace that takes such pods alone as Pod Security's `restricted` allows. */
export async function restrictedNamespace(cluster: Cluster, name: string): Promise<void> {
  await cluster.kubectl(['create', 'namespace', name]);
  await cluster.kubectl(['label', 'namespace', name, 'pod-security.kubernetes.io/enforce=restricted']);
}

/** Gives a Service of type LoadBalancer an address, as soon as it is there: helm waits for one. */
export async function giveAddress(cluster: Cluster, namespace: string, service: string): Promise<void> {
  const what = ['service', service, `--namespace=${namespace}`];
  await eventually(
    `the Service ${service} is there`,
    async () => (await cluster.kubectl(['get', ...what, '--ignore-not-found', '--output=name'])) !== '',
    { lookMs: 1000 },
  );
  const status = JSON.stringify({ status: { loadBalancer: { ingress: [{ ip: cluster.hostAddress }] } } });
  await cluster.kubectl(['patch', ...what, '--subresource=status', '--type=merge', '--patch', status]);
}

const settings = (set: readonly string[]): string[] => set.flatMap((setting) => ['--set', setting]);

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
