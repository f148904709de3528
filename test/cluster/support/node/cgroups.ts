import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Slot } from '../control-plane/slot.ts';

const ROOT = '/sys/fs/cgroup';

/**
 * The node's own root, or two kubelets of one machine would delete each other's pods.
 * @param node 0 for what runs beside the nodes
 */
export const cgroupOf = (slot: Slot, node: number): string => `/muster-${slot.number}-${node}`;

export function makeCgroup(path: string): void {
  for (const hierarchy of hierarchies()) mkdirSync(join(hierarchy, path), { recursive: true });
  if (hierarchies()[0] === ROOT) {
    writeFileSync(join(ROOT, 'cgroup.subtree_control'), '+cpu +cpuset +memory +pids');
    writeFileSync(join(ROOT, path, 'cpu.weight'), WEIGHT);
    return;
  }
  const cpuset = join(ROOT, 'cpuset');
  // In the first version of cgroups a group has no processor until it is given some.
  for (const name of ['cpuset.cpus', 'cpuset.mems'])
    writeFileSync(join(cpuset, path, name), readFileSync(join(cpuset, name)));
  // A busy machine's processes would leave it one share among all of theirs.
  writeFileSync(join(ROOT, 'cpu', path, 'cpu.shares'), SHARES);
}

export function joinCgroup(path: string, pid: number): void {
  for (const hierarchy of hierarchies()) writeFileSync(join(hierarchy, path, 'cgroup.procs'), String(pid));
}

/** Twenty times those of a process; the node's pods share them. */
const SHARES = '20480';
const WEIGHT = '2000';

/** One of the second version, or one per controller of the first. */
function hierarchies(): string[] {
  if (existsSync(join(ROOT, 'cgroup.controllers'))) return [ROOT];
  return readdirSync(ROOT)
    .map((name) => join(ROOT, name))
    .filter((path) => existsSync(join(path, 'cgroup.procs')));
}

/** All processes in it and below. */
export function processesIn(path: string): number[] {
  const texts = groups(path).flatMap(
    (group) => unlessGone(() => readFileSync(join(group, 'cgroup.procs'), 'utf8')) ?? '',
  );
  const lines = texts.flatMap((text) => text.split('\n'));
  return [...new Set(lines.filter((pid) => pid !== '').map(Number))];
}

/** Once its processes are gone. */
export function removeCgroup(path: string): void {
  for (const group of groups(path)) rmdirSync(group);
}

/** The group in every hierarchy, those inside of it first. */
function groups(path: string): string[] {
  return hierarchies()
    .map((hierarchy) => join(hierarchy, path))
    .filter(existsSync)
    .flatMap((group) => [...within(group), group]);
}

function within(group: string): string[] {
  const entries = unlessGone(() => readdirSync(group, { withFileTypes: true })) ?? [];
  const inner = entries.filter((entry) => entry.isDirectory());
  return inner.flatMap(({ name }) => [...within(join(group, name)), join(group, name)]);
}

/** The kubelet removes the group of a pod that has ended while it is looked at. */
function unlessGone<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENODEV') return undefined;
    throw error;
  }
}
