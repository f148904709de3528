import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Kubectl } from './api-access.ts';
import { clear, settleFolder } from './clearing.ts';
import { ControlPlane } from './control-plane/control-plane.ts';
import { Program } from './control-plane/program.ts';
import { takeSlot, type Slot } from './control-plane/slot.ts';
import { toolPath } from './control-plane/tools.ts';
import { cgroupOf, joinCgroup, makeCgroup } from './node/cgroups.ts';
import { pauseArchive } from './node/image.ts';
import { saveKernelSettings } from './node/kernel.ts';
import { enter, layNetwork, nodeNetwork, type NodeNetwork } from './node/network.ts';
import { answers, Node } from './node/node.ts';

interface ClusterOptions {
  readonly nodes: 1 | 2;
}

/**
 * A real cluster on this machine, beside whatever else runs there. Pods and Services are reached at their addresses,
 * and they reach this machine at `hostAddress`. Nothing of it stays; what a crash leaves is cleared by the next one.
 */
export class Cluster implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly kubectl: Kubectl;
  readonly nodes: readonly Node[];
  readonly hostAddress: string;
  readonly #slot: Slot;
  readonly #first: NodeNetwork;
  readonly #dns: Program;

  private constructor(slot: Slot, plane: ControlPlane, options: ClusterOptions) {
    this.#slot = slot;
    this.plane = plane;
    this.kubectl = plane.kubectl;
    this.hostAddress = slot.hostAddress;
    const first = nodeNetwork(slot, 1);
    this.#first = first;
    const networks = Array.from({ length: options.nodes }, (_, index) => nodeNetwork(slot, index + 1));
    this.nodes = networks.map((network) => new Node(slot, network, plane, first.address));
    const corefile = join(plane.directory, 'Corefile');
    writeFileSync(corefile, nameServer(first.address, plane.kubeconfig));
    this.#dns = new Program({
      name: 'coredns',
      command: ['nsenter', ...enter(first).slice(1), toolPath('coredns'), '-conf', corefile],
      log: join(plane.directory, 'coredns.log'),
    });
  }

  static async start(options: ClusterOptions): Promise<Cluster> {
    const slot = await takeSlot(clear);
    try {
      return await started(slot, options, (plane) => new Cluster(slot, plane, options));
    } catch (error) {
      await clear(slot);
      throw error;
    }
  }

  /** Makes the archive's images known to every node; pods that use them say `imagePullPolicy: Never`. */
  async load(archive: string): Promise<void> {
    for (const node of this.nodes) await node.load(archive);
  }

  /** Gives a process beside the nodes, such as an etcd, as much of a busy machine as a node has. */
  favour(pid: number): void {
    const group = cgroupOf(this.#slot, 0);
    makeCgroup(group);
    joinCgroup(group, pid);
  }

  /** The rest of the start: the name server, and the nodes one after the other. */
  async startNodes(): Promise<void> {
    await this.#dns.start(() => answers(`http://${this.#first.address}:8081/health`));
    const archive = await pauseArchive();
    for (const node of this.nodes) await node.start(archive);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await clear(this.#slot);
    await this.plane[Symbol.asyncDispose]();
  }
}

async function started(
  slot: Slot,
  { nodes }: ClusterOptions,
  make: (plane: ControlPlane) => Cluster,
): Promise<Cluster> {
  saveKernelSettings();
  const networks = Array.from({ length: nodes }, (_, index) => nodeNetwork(slot, index + 1));
  layNetwork(slot, networks);
  const first = nodeNetwork(slot, 1);
  const plane = await ControlPlane.start({
    inside: { enter: enter(first), address: first.address },
    serviceRange: slot.serviceRange,
    podRange: slot.podRange,
    scheduler: true,
    // This comes first: a crash while it starts would else leave files that nobody knows of.
    onDirectory: (directory) => settleFolder(slot, directory),
  });
  const cluster = make(plane);
  await cluster.startNodes();
  return cluster;
}

const nameServer = (address: string, kubeconfig: string): string => `.:53 {
  bind ${address}
  errors
  health ${address}:8081
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${kubeconfig}
    pods insecure
  }
  cache 5
}
`;
