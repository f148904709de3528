import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import type { Slot } from '../control-plane/slot.ts';

/** A node's place in the network; node 1 has the control plane, and the way to this machine. */
export interface NodeNetwork {
  readonly number: number;
  readonly namespace: string;
  readonly address: string;
  /** The range of its pods' addresses. */
  readonly pods: string;
}

export function nodeNetwork(slot: Slot, number: number): NodeNetwork {
  return {
    number,
    namespace: `muster-${slot.number}-${number}`,
    address: `10.189.${slot.number}.${number === 1 ? 2 : 6}`,
    pods: `10.190.${slot.number * 8 + number}.0/24`,
  };
}

/** The words that run a command in the namespace. `ip netns exec` would hide the cgroups, since it mounts /sys anew. */
export const enter = ({ namespace }: NodeNetwork): string[] => ['nsenter', `--net=/run/netns/${namespace}`];

/** Joins the nodes to this machine, so that pods and Services answer to it, and it to them. */
export function layNetwork(slot: Slot, nodes: readonly NodeNetwork[]): void {
  for (const node of nodes) {
    ip('netns', 'add', node.namespace);
    ip('-n', node.namespace, 'link', 'set', 'lo', 'up');
    run('nsenter', ...enter(node).slice(1), 'sysctl', '-qw', 'net.ipv4.ip_forward=1');
  }
  const [first, second] = nodes;
  if (!first) return;
  const outside = hostLink(slot);
  ip('link', 'add', outside, 'type', 'veth', 'peer', 'name', 'up0', 'netns', first.namespace);
  ip('addr', 'add', `${slot.hostAddress}/30`, 'dev', outside);
  ip('link', 'set', outside, 'up');
  settle(first, slot.hostAddress);
  const toNodes = `10.189.${slot.number}.4/30`;
  for (const range of [slot.podRange, slot.serviceRange, toNodes]) ip('route', 'add', range, 'via', first.address);
  if (second) join(slot, first, second);
}

function join(slot: Slot, first: NodeNetwork, second: NodeNetwork): void {
  const between = betweenNodes(slot);
  ip('-n', first.namespace, 'link', 'add', 'node2', 'type', 'veth', 'peer', 'name', 'up0', 'netns', second.namespace);
  ip('-n', first.namespace, 'addr', 'add', `${between}/30`, 'dev', 'node2');
  ip('-n', first.namespace, 'link', 'set', 'node2', 'up');
  settle(second, between);
  ip('-n', first.namespace, 'route', 'add', second.pods, 'via', second.address);
}

function settle({ namespace, address }: NodeNetwork, gateway: string): void {
  ip('-n', namespace, 'addr', 'add', `${address}/30`, 'dev', 'up0');
  ip('-n', namespace, 'link', 'set', 'up0', 'up');
  ip('-n', namespace, 'route', 'add', 'default', 'via', gateway);
}

/** Takes the cable out: nothing comes from the node or its pods any more, nor gets there. */
export const unplug = ({ namespace }: NodeNetwork): void => ip('-n', namespace, 'link', 'set', 'up0', 'down');

/** Puts the cable of the second node back in; its way out went with the link. */
export function plug({ namespace }: NodeNetwork, slot: Slot): void {
  ip('-n', namespace, 'link', 'set', 'up0', 'up');
  ip('-n', namespace, 'route', 'replace', 'default', 'via', betweenNodes(slot));
}

/** The address of the first node on its link to the second one. */
const betweenNodes = (slot: Slot): string => `10.189.${slot.number}.5`;

/** The processes in the node's network, but for those of its pods, which have networks of their own. */
export function processesOf({ namespace }: NodeNetwork): number[] {
  const { ino } = statSync(`/run/netns/${namespace}`);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && networkOf(name) === ino)
    .map(Number);
}

function networkOf(pid: string): number | undefined {
  try {
    return statSync(`/proc/${pid}/ns/net`).ino;
  } catch {
    // It ended meanwhile.
    return undefined;
  }
}

/** The routes go with the link. */
export function removeNetwork(slot: Slot): void {
  if (existsSync(`/sys/class/net/${hostLink(slot)}`)) ip('link', 'del', hostLink(slot));
  for (const number of [1, 2]) {
    const { namespace } = nodeNetwork(slot, number);
    if (existsSync(`/run/netns/${namespace}`)) ip('netns', 'del', namespace);
  }
}

const hostLink = ({ number }: Slot): string => `muster-${number}`;

const ip = (...args: string[]): void => run('ip', ...args);

function run(file: string, ...args: string[]): void {
  execFileSync(file, args, { stdio: 'pipe', env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin` } });
}
