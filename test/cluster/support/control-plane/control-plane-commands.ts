import { join } from 'node:path';
import type { Authority } from '../node/authority.ts';
import { toolPath } from './tools.ts';

/** The network of a control plane: its address, its ports, and the ranges that it assigns. */
export interface Place {
  /** The words that run a command in its network namespace; empty for the machine's own. */
  readonly enter: readonly string[];
  readonly address: string;
  readonly apiPort: number;
  readonly etcdPort: number;
  readonly peerPort: number;
  readonly serviceRange: string;
  readonly podRange: string;
  readonly apiServerFlags: readonly string[];
  /** The path of the program. */
  readonly etcd: string;
}

interface Making {
  readonly directory: string;
  readonly authority: Authority;
  readonly place: Place;
  /** The path of the kubeconfig of `kube-<component>`. */
  readonly ofComponent: (component: string) => string;
}

type Command = readonly [file: string, ...args: string[]];

/** The command lines of the programs of a control plane; writes the files that they need. */
export function controlPlaneCommands(
  making: Making,
): Record<'etcd' | 'apiServer' | 'controllerManager' | 'scheduler', Command> {
  const tokens = making.authority.issueTokenKey('service-accounts');
  return {
    etcd: within(making.place, making.place.etcd, etcd(making)),
    apiServer: within(making.place, toolPath('kube-apiserver'), apiServer(making, tokens)),
    controllerManager: within(making.place, toolPath('kube-controller-manager'), controllerManager(making, tokens.key)),
    scheduler: within(making.place, toolPath('kube-scheduler'), [
      `--kubeconfig=${making.ofComponent('scheduler')}`,
      '--leader-elect=false',
      '--secure-port=0',
    ]),
  };
}

function within({ enter }: Place, file: string, args: readonly string[]): Command {
  const [first, ...rest] = [...enter, file, ...args];
  return [first ?? file, ...rest];
}

function etcd({ directory, place }: Making): string[] {
  const clients = `http://127.0.0.1:${place.etcdPort}`;
  const peers = `http://127.0.0.1:${place.peerPort}`;
  return [
    '--name=only',
    `--data-dir=${join(directory, 'etcd')}`,
    '--unsafe-no-fsync',
    `--listen-client-urls=${clients}`,
    `--advertise-client-urls=${clients}`,
    `--listen-peer-urls=${peers}`,
    `--initial-advertise-peer-urls=${peers}`,
    `--initial-cluster=only=${peers}`,
  ];
}

function apiServer({ authority, place }: Making, tokens: { key: string; publicKey: string }): string[] {
  const names = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
  const addresses = new Set(['127.0.0.1', place.address, firstOf(place.serviceRange)]);
  const hosts = [...names.map((name) => `DNS:${name}`), ...[...addresses].map((address) => `IP:${address}`)];
  const serving = authority.issue({ name: 'kube-apiserver', subject: '/CN=kube-apiserver', hosts });
  const toKubelets = authority.issue({ name: 'kubelet-client', subject: '/O=system:masters/CN=kubelet-client' });
  return [
    `--etcd-servers=http://127.0.0.1:${place.etcdPort}`,
    `--bind-address=${place.address}`,
    `--advertise-address=${place.address}`,
    `--secure-port=${place.apiPort}`,
    `--service-cluster-ip-range=${place.serviceRange}`,
    `--tls-cert-file=${serving.certificate}`,
    `--tls-private-key-file=${serving.key}`,
    `--client-ca-file=${authority.certificate}`,
    `--kubelet-client-certificate=${toKubelets.certificate}`,
    `--kubelet-client-key=${toKubelets.key}`,
    `--kubelet-certificate-authority=${authority.certificate}`,
    '--kubelet-preferred-address-types=InternalIP',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${tokens.publicKey}`,
    `--service-account-signing-key-file=${tokens.key}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
    ...place.apiServerFlags,
  ];
}

function controllerManager({ authority, place, ofComponent }: Making, tokenKey: string): string[] {
  return [
    `--kubeconfig=${ofComponent('controller-manager')}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--use-service-account-credentials',
    `--service-account-private-key-file=${tokenKey}`,
    `--root-ca-file=${authority.certificate}`,
    `--cluster-signing-cert-file=${authority.certificate}`,
    `--cluster-signing-key-file=${authority.key}`,
    `--cluster-cidr=${place.podRange}`,
  ];
}

/** The address of the Service `kubernetes`: the first one of the range. */
const firstOf = (range: string): string => range.replace(/\d+\/\d+$/, '1');
