import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';
/** The period that the kubelet sets where nothing else is configured. */
const PERIOD_MICROS = 100_000;

/**
 * A bound on the processor time of one process, as a container's limit sets it. It needs root and Linux's control
 * groups, of either version. The group is removed when the process has ended.
 */
export class CpuShare implements Disposable {
  readonly #folder: string;

  /**
   * @param cores the share, 0.25 for a quarter of a core
   * @throws Error where this process may make no control group
   */
  constructor(name: string, pid: number, cores: number) {
    const quota = String(Math.round(cores * PERIOD_MICROS));
    const isUnified = existsSync(join(ROOT, 'cgroup.controllers'));
    this.#folder = join(ROOT, isUnified ? '' : 'cpu', `muster-bench-${process.pid}-${name}`);
    mkdirSync(this.#folder);
    try {
      if (isUnified) this.#write('cpu.max', `${quota} ${PERIOD_MICROS}`);
      else {
        this.#write('cpu.cfs_period_us', String(PERIOD_MICROS));
        this.#write('cpu.cfs_quota_us', quota);
      }
      this.#write('cgroup.procs', String(pid));
    } catch (error) {
      rmdirSync(this.#folder);
      throw error;
    }
  }

  [Symbol.dispose](): void {
    rmdirSync(this.#folder);
  }

  #write(file: string, text: string): void {
    writeFileSync(join(this.#folder, file), text);
  }
}
