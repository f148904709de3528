import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isLast, type Slot } from '../control-plane/slot.ts';

/** The settings that a kubelet changes for the whole machine. */
const CHANGED = ['kernel/panic', 'kernel/panic_on_oops', 'vm/overcommit_memory'];
const SAVED = '/run/muster-kubernetes/sysctl.json';

/** Remembers the kernel's settings as they were before the first cluster. */
export function saveKernelSettings(): void {
  if (existsSync(SAVED)) return;
  const settings = CHANGED.map((name) => [name, readFileSync(`/proc/sys/${name}`, 'utf8')]);
  writeFileSync(SAVED, JSON.stringify(settings));
}

/** Puts them back, if this is the last cluster. */
export function restoreKernelSettings(slot: Slot): void {
  if (!existsSync(SAVED) || !isLast(slot)) return;
  const settings = JSON.parse(readFileSync(SAVED, 'utf8')) as [string, string][];
  for (const [name, value] of settings) writeFileSync(`/proc/sys/${name}`, value);
  rmSync(SAVED);
}
