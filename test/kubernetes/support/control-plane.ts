import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findEtcd } from '../../support/etcd-binary.ts';
import { freePorts } from '../../support/free-ports.ts';
import { Authority } from './authority.ts';
import { command } from './command.ts';
import { controlPlaneCommands, type Place } from './control-plane-commands.ts';
import { kubeconfig } from './kubeconfig.ts';
import { Program } from './program.ts';
import { toolPath } from './tools.ts';

export interface ControlPlaneOptions {
  /** A network namespace instead of the machine's own network; in there the ports are all free. */
  readonly inside?: { readonly enter: readonly string[]; readonly address: string };
  /** Of the Services' addresses, as `10.96.0.0/16`; only matters where there are nodes. */
  readonly serviceRange?: string;
  /** Of the pods' addresses. */
  readonly podRange?: string;
  /** Pods get nodes. */
  readonly scheduler?: boolean;
  /** Further flags of kube-apiserver. */
  readonly apiServerFlags?: readonly string[];
  /** Told of the folder before anything is started. */
  readonly onDirectory?: (directory: string) => void;
}

/** kubectl with the rights that its kubeconfig gives; resolves to its standard output, throws CommandError. */
export type Kubectl = (args: readonly string[], input?: string) => Promise<string>;

/**
 * A real Kubernetes API with its controllers: etcd, kube-apiserver (RBAC, Pod Security and Node admission on) and
 * kube-controller-manager, on ports and in a folder of their own. Deployments make pods here, and nobody runs them.
 */
export class ControlPlane implements AsyncDisposable {
  readonly directory: string;
  readonly authority: Authority;
  /** Where its API is, with a certificate for 127.0.0.1 too, for a proxy in between. */
  readonly server: string;
  /** The path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly kubectl: Kubectl;
  readonly #programs: ReturnType<typeof programs>;

  private constructor(directory: string, authority: Authority, place: Place) {
    this.directory = directory;
    this.authority = authority;
    this.server = `https://${place.address}:${place.apiPort}`;
    const user = authority.issue({ name: 'admin', subject: '/O=system:masters/CN=admin' });
    this.kubeconfig = this.#keep('admin', { user });
    this.kubectl = this.kubectlWith(this.kubeconfig);
    const ofComponent = (component: string): string => this.access(`kube-${component}`, `/CN=system:kube-${component}`);
    this.#programs = programs(directory, controlPlaneCommands({ directory, authority, place, ofComponent }));
  }

  static async start(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
    const directory = mkdtempSync(join(tmpdir(), 'muster-kubernetes-'));
    options.onDirectory?.(directory);
    const [apiPort = 0, etcdPort = 0, peerPort = 0] = options.inside ? [6443, 2379, 2380] : await freePorts(3);
    const place: Place = {
      enter: options.inside?.enter ?? [],
      address: options.inside?.address ?? '127.0.0.1',
      serviceRange: options.serviceRange ?? '10.96.0.0/16',
      podRange: options.podRange ?? '10.244.0.0/16',
      apiServerFlags: options.apiServerFlags ?? [],
      etcd: findEtcd() ?? 'etcd',
      apiPort,
      etcdPort,
      peerPort,
    };
    const started = new ControlPlane(directory, new Authority(directory), place);
    try {
      await started.#start(options.scheduler ?? false);
    } catch (error) {
      await started[Symbol.asyncDispose]();
      throw error;
    }
    return started;
  }

  /** kube-apiserver ends, at once: who watches loses the connection, and new ones are refused. */
  async stopApiServer(): Promise<void> {
    await this.#programs.apiServer.kill();
  }

  /** At the same address again, with all that it stored. */
  async startApiServer(): Promise<void> {
    const ca = this.authority.pem;
    await this.#programs.apiServer.start(async () => (await statusOf(`${this.server}/readyz`, ca)) === 200);
  }

  /** kube-apiserver, to be frozen and thawed. */
  get apiServer(): Program {
    return this.#programs.apiServer;
  }

  /** kubectl with another kubeconfig, as `serviceAccount` gives one. */
  kubectlWith(path: string): Kubectl {
    const env = { KUBECONFIG: path, KUBECACHEDIR: join(this.directory, 'kubectl-cache') };
    return (args, input) => command(toolPath('kubectl'), args, { input, env });
  }

  /** helm 3 or 4 as the administrator, with caches and plugins of its own: none. */
  helm(major: 3 | 4, args: readonly string[]): Promise<string> {
    const home = join(this.directory, `helm${major}`);
    const env = { KUBECONFIG: this.kubeconfig, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };
    return command(toolPath(`helm${major}`), args, { env });
  }

  /**
   * The path of a kubeconfig with a service account's rights.
   * @param server another way to the API: `https://127.0.0.1:<port of a proxy>`
   */
  async serviceAccount(namespace: string, name: string, server: string = this.server): Promise<string> {
    const token = (await this.kubectl(['create', 'token', name, '--namespace', namespace])).trim();
    return this.#keep(`${namespace}-${name}`, { user: { token }, server });
  }

  /** The path of a kubeconfig with the administrator's rights, by way of a proxy. */
  administrator(name: string, server: string): string {
    const user = { certificate: join(this.directory, 'admin.crt'), key: join(this.directory, 'admin.key') };
    return this.#keep(name, { user, server });
  }

  /** The path of a kubeconfig with a certificate for the subject. */
  access(name: string, subject: string): string {
    return this.#keep(name, { user: this.authority.issue({ name, subject }) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Object.values(this.#programs).map((program) => program.kill()));
    rmSync(this.directory, { recursive: true, force: true });
  }

  async #start(withScheduler: boolean): Promise<void> {
    const { etcd, controllerManager, scheduler } = this.#programs;
    await etcd.start(async () => etcd.logged().includes('serving client traffic'));
    await this.startApiServer();
    // Pods are admitted once their namespace has its service account, which is the controllers' work.
    await controllerManager.start(() => this.#has(['serviceaccount', 'default', '--namespace', 'default']));
    if (withScheduler) await scheduler.start(() => Promise.resolve(scheduler.running));
  }

  async #has(object: readonly string[]): Promise<boolean> {
    return (await this.kubectl(['get', ...object, '--ignore-not-found', '--output=name'])) !== '';
  }

  #keep(name: string, access: { user: Parameters<typeof kubeconfig>[0]['user']; server?: string }): string {
    const path = join(this.directory, `${name}.kubeconfig`);
    const authority = this.authority.certificate;
    writeFileSync(path, kubeconfig({ server: this.server, authority, ...access }), { mode: 0o600 });
    return path;
  }
}

function programs(
  directory: string,
  commands: ReturnType<typeof controlPlaneCommands>,
): Record<keyof typeof commands, Program> {
  const program = (name: keyof typeof commands): Program =>
    new Program({ name, command: commands[name], log: join(directory, `${name}.log`) });
  return {
    etcd: program('etcd'),
    apiServer: program('apiServer'),
    controllerManager: program('controllerManager'),
    scheduler: program('scheduler'),
  };
}

/** Undefined where nobody answers. */
function statusOf(url: string, ca: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const request = get(url, { ca, agent: false, timeout: 5_000 }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(undefined));
  });
}
