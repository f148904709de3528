import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe } from 'vitest';
import { findEtcd } from '../../../support/etcd/etcd-binary.ts';
import { toolsFolder } from '../../../support/run/tools-folder.ts';

const SCRIPT = join(import.meta.dirname, '../../../../.ci/kubernetes/build.sh');

/** The versions that .ci/kubernetes/build.sh builds, by the names that it gives them. */
export const VERSIONS: ReadonlyMap<string, string> = new Map(
  [...readFileSync(SCRIPT, 'utf8').matchAll(/^(\w+)=([\d.]+)$/gm)].map(([, name = '', version = '']) => [
    name,
    version,
  ]),
);

const OF_KUBERNETES = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'kubectl',
] as const;
const OF_CONTAINERD = ['containerd', 'containerd-shim-runc-v2', 'ctr'] as const;

export type Tool =
  | (typeof OF_KUBERNETES)[number]
  | (typeof OF_CONTAINERD)[number]
  | 'coredns'
  | 'helm3'
  | 'helm4'
  | 'pause'
  | 'registry';

/** The path of the program, if it was built. */
export function toolPath(tool: Tool): string {
  const [name, version] = nameAndVersion(tool);
  return join(toolsFolder(), 'bin', `${name}-${version}`);
}

function nameAndVersion(tool: Tool): [name: string, version: string | undefined] {
  if (OF_KUBERNETES.some((name) => name === tool)) return [tool, VERSIONS.get('kubernetes')];
  if (OF_CONTAINERD.some((name) => name === tool)) return [tool, VERSIONS.get('containerd')];
  return [tool.startsWith('helm') ? 'helm' : tool, VERSIONS.get(tool)];
}

/** The environment that a test needs. */
type Need = 'control plane' | 'helm' | 'image' | 'registry' | 'compose' | 'cluster';

const CONTROL_PLANE: readonly Tool[] = ['kube-apiserver', 'kube-controller-manager', 'kubectl'];
const HELM: readonly Tool[] = ['helm3', 'helm4'];
const NODE: readonly Tool[] = ['kube-scheduler', 'kubelet', 'kube-proxy', ...OF_CONTAINERD, 'coredns', 'pause'];

const BUILT: Readonly<Record<Need, readonly Tool[]>> = {
  'control plane': CONTROL_PLANE,
  helm: [...CONTROL_PLANE, ...HELM],
  image: [],
  registry: [...HELM, 'registry'],
  compose: [],
  cluster: [...CONTROL_PLANE, ...HELM, ...NODE],
};

const IMAGE = ['buildah', 'podman', 'debootstrap', 'runc', 'ip', 'nsenter'];
const INSTALLED: Readonly<Record<Need, readonly string[]>> = {
  'control plane': ['openssl'],
  helm: ['openssl'],
  image: IMAGE,
  registry: IMAGE,
  compose: [...IMAGE, 'podman-compose', 'openssl', 'iptables'],
  cluster: ['openssl', ...IMAGE, 'iptables', 'conntrack'],
};

const needsRoot = (need: Need): boolean => need !== 'control plane' && need !== 'helm';

/** Why tests with this need cannot run here, and what to do; undefined where they can. */
function missingFor(need: Need): string | undefined {
  if (process.platform !== 'linux') return 'it takes Linux';
  if (needsRoot(need) && process.getuid?.() !== 0) return 'it takes root, for network namespaces and mounts';
  const unbuilt = BUILT[need].filter((tool) => !existsSync(toolPath(tool)));
  if (unbuilt.length > 0) return `no ${unbuilt.join(', ')}: run .ci/kubernetes/build.sh, with Go on the PATH`;
  if (need !== 'image' && need !== 'registry' && findEtcd() === undefined)
    return 'no etcd: run .ci/build-etcd.sh, with Go on the PATH';
  const absent = INSTALLED[need].filter((name) => onPath(name) === undefined);
  if (absent.length > 0) return `no ${absent.join(', ')}: docs/TESTING.md names the packages`;
  return undefined;
}

/** The program's path; sbin is searched, too, which is not on everybody's PATH. */
export function onPath(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * A suite that needs Kubernetes: skipped with its reason where that is missing; a failure in CI, where it must not be.
 */
export function describeOn(need: Need, title: string, suite: () => void): void {
  const reason = missingFor(need);
  if (reason !== undefined && process.env['CI'])
    throw new Error(`CI needs what the tests on a ${need} need: ${reason}`);
  describe.skipIf(reason !== undefined)(reason === undefined ? title : `${title} (${reason})`, () => {
    suite();
  });
}
