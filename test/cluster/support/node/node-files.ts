import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onPath, toolPath } from '../control-plane/tools.ts';
import type { KeyPair } from './authority.ts';
import type { NodeNetwork } from './network.ts';

const PAUSE_IMAGE = 'localhost/pause:1';

/** The folder in which Debian's package has the network plugins. */
const PLUGINS = '/usr/lib/cni';

/** Everything that a node's programs are told in files. */
export interface NodeFiles {
  readonly folder: string;
  /** A folder with a short path for sockets and mounts. */
  readonly state: string;
  readonly network: NodeNetwork;
  readonly cgroup: string;
  readonly podRange: string;
  /** The path of the cluster's authority. */
  readonly authority: string;
  readonly serving: KeyPair;
  readonly proxyKubeconfig: string;
  /** The address of the cluster's name server. */
  readonly dns: string;
}

export const socketOf = ({ state }: NodeFiles): string => join(state, 'containerd.sock');

export function writeNodeFiles(files: NodeFiles): void {
  mkdirSync(join(files.folder, 'cni'), { recursive: true });
  mkdirSync(files.state, { recursive: true });
  const write = (name: string, content: string | object): void =>
    writeFileSync(join(files.folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  write('cni/10-bridge.conflist', bridge(files));
  write('containerd.toml', containerd(files));
  write('kubelet.yaml', kubelet(files));
  write('kube-proxy.yaml', proxy(files));
}

function bridge({ network, state }: NodeFiles): object {
  const addresses = { type: 'host-local', ranges: [[{ subnet: network.pods }]], dataDir: join(state, 'addresses') };
  return {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        ipMasq: false,
        hairpinMode: true,
        ipam: { ...addresses, routes: [{ dst: '0.0.0.0/0' }] },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
}

function containerd(files: NodeFiles): string {
  const runc = onPath('runc') ?? 'runc';
  return `version = 3
root = "${files.folder}/containerd"
state = "${files.state}/containerd"
[grpc]
  address = "${socketOf(files)}"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "${PAUSE_IMAGE}"
[plugins.'io.containerd.cri.v1.runtime']
  # Their mounts go with the node's folder then.
  netns_mounts_under_state_dir = true
  # A machine may keep these from its root.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["${PLUGINS}"]
    conf_dir = "${files.folder}/cni"
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = "runc"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      runtime_path = "${toolPath('containerd-shim-runc-v2')}"
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
        BinaryName = "${runc}"
        SystemdCgroup = false
`;
}

function kubelet(files: NodeFiles): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: files.cgroup,
    containerRuntimeEndpoint: `unix://${socketOf(files)}`,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: files.authority },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: files.serving.certificate,
    tlsPrivateKeyFile: files.serving.key,
    clusterDomain: 'cluster.local',
    clusterDNS: [files.dns],
    resolvConf: '',
    failSwapOn: false,
    oomScoreAdj: 0,
    maxOpenFiles: OPEN_FILES,
    // The disk and memory are those of the whole machine, and what else fills them is no business of the node's.
    evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '0%', 'imagefs.available': '0%' },
    imageGCHighThresholdPercent: 100,
    podLogsDir: join(files.folder, 'logs'),
  };
}

const OPEN_FILES = 10_000;

function proxy({ network, podRange, proxyKubeconfig }: NodeFiles): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'iptables',
    clusterCIDR: podRange,
    hostnameOverride: nodeName(network.number),
    healthzBindAddress: `${network.address}:10256`,
    metricsBindAddress: '127.0.0.1:10249',
    clientConnection: { kubeconfig: proxyKubeconfig },
    // The machine's own limits stay as they are.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  };
}

export const nodeName = (number: number): string => `node${number}`;
