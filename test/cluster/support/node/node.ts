import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { command } from '../control-plane/command.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { eventually, Program } from '../control-plane/program.ts';
import type { Slot } from '../control-plane/slot.ts';
import { toolPath, type Tool } from '../control-plane/tools.ts';
import { cgroupOf, makeCgroup, processesIn } from './cgroups.ts';
import { kill } from './kill.ts';
import { enter, plug, processesOf, unplug, type NodeNetwork } from './network.ts';
import { nodeName, socketOf, writeNodeFiles, type NodeFiles } from './node-files.ts';

/** A node: containerd, kubelet and kube-proxy in a network namespace of their own. */
export class Node {
  readonly name: string;
  readonly address: string;
  readonly containerd: Program;
  readonly kubelet: Program;
  readonly proxy: Program;
  readonly #files: NodeFiles;
  readonly #plane: ControlPlane;
  readonly #slot: Slot;

  constructor(slot: Slot, network: NodeNetwork, plane: ControlPlane, dns: string) {
    this.name = nodeName(network.number);
    this.address = network.address;
    this.#plane = plane;
    this.#slot = slot;
    this.#files = filesOf(slot, network, plane, dns);
    const { folder } = this.#files;
    const kubeconfig = plane.access(`kubelet-${this.name}`, `/O=system:nodes/CN=system:node:${this.name}`);
    const program = (tool: Tool, ...args: string[]): Program =>
      new Program({
        name: `${tool} of ${this.name}`,
        command: ['nsenter', ...enter(network).slice(1), toolPath(tool), ...args],
        log: join(plane.directory, `${tool}-${this.name}.log`),
      });
    this.containerd = program('containerd', '--config', join(folder, 'containerd.toml'));
    this.kubelet = program(
      'kubelet',
      `--config=${join(folder, 'kubelet.yaml')}`,
      `--kubeconfig=${kubeconfig}`,
      `--hostname-override=${this.name}`,
      `--node-ip=${network.address}`,
      `--root-dir=${join(folder, 'kubelet')}`,
      `--cert-dir=${join(folder, 'kubelet-certificates')}`,
    );
    this.proxy = program('kube-proxy', `--config=${join(folder, 'kube-proxy.yaml')}`);
  }

  /** Resolves when pods may come. */
  async start(pauseArchive: string): Promise<void> {
    makeCgroup(this.#files.cgroup);
    writeNodeFiles(this.#files);
    await this.containerd.start(() => this.#ctr('version').then(YES, NO));
    await this.load(pauseArchive);
    await this.#join();
  }

  /**
   * The power fails: the kubelet, containerd and all pods end at once, and nobody answers at their addresses. The disk
   * stays. Of the second node: the first one has the control plane.
   */
  async cutPower(): Promise<void> {
    const { network, cgroup } = this.#files;
    if (network.number === 1) throw new Error('the first node has the control plane');
    unplug(network);
    for (const pid of [...processesOf(network), ...processesIn(cgroup)]) kill(pid);
    await eventually(`no process of ${this.name} is left`, () => {
      const left = [...processesOf(network), ...processesIn(cgroup)];
      for (const pid of left) kill(pid);
      return left.length === 0;
    });
    await Promise.all([this.containerd, this.kubelet, this.proxy].map((program) => program.kill()));
  }

  /** Power is back; resolves when pods may come. */
  async restorePower(): Promise<void> {
    plug(this.#files.network, this.#slot);
    await this.containerd.start(() => this.#ctr('version').then(YES, NO));
    await this.#join();
  }

  async #join(): Promise<void> {
    await this.kubelet.start(async () => (await this.#status()) === 'True');
    // It waits for its node's name and addresses, which the kubelet makes known.
    await this.proxy.start(() => answers(`http://${this.address}:10256/healthz`));
  }

  /** Puts the images of an archive where pods of this node find them. */
  async load(archive: string): Promise<void> {
    await this.#ctr('images', 'import', archive);
  }

  /** Kills what runs in the containers of a pod, as the kernel does where memory runs out. The pod itself stays. */
  crash(podUid: string): void {
    const ofPod = processesIn(this.#files.cgroup).filter((pid) => procFile(pid, 'cgroup').includes(podUid));
    for (const pid of ofPod) if (!procFile(pid, 'cmdline').startsWith('/pause')) kill(pid);
  }

  #ctr(...args: string[]): Promise<string> {
    return command(toolPath('ctr'), ['--address', socketOf(this.#files), '--namespace', 'k8s.io', ...args]);
  }

  #status(): Promise<string> {
    const ready = '--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}';
    return this.#plane.kubectl(['get', 'node', this.name, '--ignore-not-found', ready]);
  }
}

/** Nothing of a process that has ended meanwhile. */
function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

function filesOf(slot: Slot, network: NodeNetwork, plane: ControlPlane, dns: string): NodeFiles {
  const name = nodeName(network.number);
  const hosts = [`DNS:${name}`, `IP:${network.address}`];
  return {
    folder: join(plane.directory, name),
    state: join(slot.folder, name),
    network,
    cgroup: cgroupOf(slot, network.number),
    podRange: slot.podRange,
    authority: plane.authority.certificate,
    serving: plane.authority.issue({ name: `serving-${name}`, subject: `/CN=system:node:${name}`, hosts }),
    proxyKubeconfig: plane.access(`kube-proxy-${name}`, '/CN=system:kube-proxy'),
    dns,
  };
}

const YES = (): boolean => true;
const NO = (): boolean => false;

/** Whether the address answers that all is well. */
export const answers = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) }).then(({ ok }) => ok, NO);

const ANSWER_MS = 5_000;
