import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findEtcd } from '../../../support/etcd/etcd-binary.ts';
import { freePorts } from '../../../support/service/free-ports.ts';
import { ApiAccess } from '../api-access.ts';
import { Authority } from '../node/authority.ts';
import { controlPlaneCommands, type Place } from './control-plane-commands.ts';
import { Program } from './program.ts';

interface ControlPlaneOptions {
  /** A network namespace instead of the machine's own network; in there the ports are all free. */
  readonly inside?: { readonly enter: readonly string[]; readonly address: string };
  /** The range of the Services' addresses, as in `10.96.0.0/16`; it matters only where there are nodes. */
  readonly serviceRange?: string;
  /** The range of the pods' addresses. */
  readonly podRange?: string;
  /** Pods get nodes. */
  readonly scheduler?: boolean;
  /** Further flags of kube-apiserver. */
  readonly apiServerFlags?: readonly string[];
  /** Called with the folder before anything is started. */
  readonly onDirectory?: (directory: string) => void;
}

/**
 * A real Kubernetes API with its controllers: etcd, kube-apiserver (RBAC, Pod Security and Node admission on) and
 * kube-controller-manager, on ports and in a folder of their own. Deployments make pods here, and nobody runs them.
 */
export class ControlPlane extends ApiAccess {
  readonly #programs: ReturnType<typeof programs>;

  private constructor(directory: string, authority: Authority, place: Place) {
    super(directory, authority, `https://${place.address}:${place.apiPort}`);
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

  /** Starts it again at the same address, with its stored objects. */
  async startApiServer(): Promise<void> {
    const ca = this.authority.pem;
    await this.#programs.apiServer.start(async () => (await statusOf(`${this.server}/readyz`, ca)) === 200);
  }

  /** kube-apiserver, to be frozen and thawed. */
  get apiServer(): Program {
    return this.#programs.apiServer;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await Promise.all(Object.values(this.#programs).map((program) => program.kill()));
    rmSync(this.directory, { recursive: true, force: true });
  }

  async #start(withScheduler: boolean): Promise<void> {
    const { etcd, controllerManager, scheduler } = this.#programs;
    await etcd.start(async () => etcd.logged().includes('serving client traffic'));
    await this.startApiServer();
    // Pods are admitted once their namespace has its service account, which is the controllers' work.
    const account = '/api/v1/namespaces/default/serviceaccounts/default';
    await controllerManager.start(async () => (await this.ask('GET', account)).status === 200);
    if (withScheduler) await scheduler.start(() => Promise.resolve(scheduler.running));
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
