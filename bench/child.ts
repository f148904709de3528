import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

export interface Cost {
  readonly cpu: NodeJS.CpuUsage;
  /** Microseconds of the main thread. */
  readonly mainMicros: number;
  readonly rss: number;
}

/** A server in a process of its own. It ends with the block. */
export class Child<Ports> implements AsyncDisposable {
  readonly ports: Ports;
  readonly #process: ChildProcess;

  private constructor(child: ChildProcess, ports: Ports) {
    this.#process = child;
    this.ports = ports;
  }

  static async start<Ports>(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Child<Ports>> {
    const child = fork(new URL(file, import.meta.url), args, { env: { ...process.env, ...env }, stdio: 'inherit' });
    const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`${file} ended with ${code}`)));
    // Once the server runs, its end is asked for, and no fault.
    ended.catch(() => undefined);
    const [ports] = (await Promise.race([once(child, 'message'), ended])) as [Ports];
    return new Child(child, ports);
  }

  /** @throws Error where the process could not be started */
  get pid(): number {
    if (this.#process.pid === undefined) throw new Error('the process has not started');
    return this.#process.pid;
  }

  /** Sends a question, and resolves with the answer. */
  async ask<Told>(question = 'cost'): Promise<Told> {
    this.#process.send(question);
    const [told] = (await once(this.#process, 'message')) as [Told];
    return told;
  }

  /** The processor time so far, in microseconds. */
  async cpuMicros(): Promise<number> {
    const cost = await this.ask<Cost>();
    return cost.cpu.user + cost.cpu.system;
  }

  /** Lets the process end by itself. Node then keeps what it has compiled, where it is told to. */
  async leave(): Promise<void> {
    const exited = once(this.#process, 'exit');
    this.#process.disconnect();
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exited;
  }
}
