import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { environmentWithout } from '../../../support/etcd/environment-without.ts';
import { guard } from '../../../support/run/guard.ts';

interface ProgramOptions {
  readonly name: string;
  readonly command: readonly [file: string, ...args: string[]];
  /** A file that all it says is added to. */
  readonly log: string;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * One program of a cluster, which a test may stop, kill, freeze and start again. It ends with this process at the
 * latest.
 */
export class Program implements AsyncDisposable {
  readonly name: string;
  readonly #options: ProgramOptions;
  #child: ChildProcess | undefined;

  constructor(options: ProgramOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** @throws where it ends before it is ready, with the last lines that it said */
  async start(ready: () => Promise<boolean>): Promise<void> {
    this.#spawn();
    await eventually(
      () => `${this.name} is ready. It said last:\n${this.lastLines()}`,
      async () => {
        if (!this.running) throw new Error(`${this.name} ended before it was ready:\n${this.lastLines()}`);
        return await ready();
      },
    );
  }

  get running(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  logged(): string {
    return readFileSync(this.#options.log, 'utf8');
  }

  lastLines(): string {
    return this.logged().split('\n').slice(-LINES_TOLD).join('\n');
  }

  /** Asks it to end, and kills it where it does not within the time that it has. */
  async stop(): Promise<void> {
    const late = setTimeout(() => this.#child?.kill('SIGKILL'), STOP_MS);
    await this.#end('SIGTERM');
    clearTimeout(late);
  }

  /** Without warning, as a crash. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Alive to the network, and doing nothing. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #spawn(): void {
    const { command, log, env } = this.#options;
    const [file, ...args] = command;
    const output = openSync(log, 'a', 0o600);
    const child = spawn(file, args, {
      stdio: ['ignore', output, output],
      env: { ...environmentWithout(/^ETCD_/), PATH: `${process.env['PATH']}:/usr/sbin:/sbin`, ...env },
    });
    closeSync(output);
    // A file that cannot be run has no process to guard; start() tells of it by what is not running.
    child.once('error', () => undefined);
    if (child.pid !== undefined) guard(child);
    this.#child = child;
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (!child || !this.running || child.pid === undefined) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
}

const LINES_TOLD = 20;
const STOP_MS = 20_000;

/** The pause between checks of a condition, and the time after which it is given up; a machine may be slow. */
const LOOK_MS = 100;
const EVENTUALLY_MS = 300_000;

/** Resolves once it holds; an error thrown on the way ends it, `false` does not. */
export async function eventually(
  what: string | (() => string),
  holds: () => boolean | Promise<boolean>,
  { withinMs = EVENTUALLY_MS, lookMs = LOOK_MS }: { readonly withinMs?: number; readonly lookMs?: number } = {},
): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > end) {
      throw new Error(`waited ${withinMs / 1000} s in vain for this: ${typeof what === 'string' ? what : what()}`);
    }
    await pause(lookMs);
  }
}
