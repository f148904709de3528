import { join } from 'node:path';
import type { EtcdCluster } from '../../support/etcd/etcd.ts';
import { TcpProxy } from '../../support/etcd/tcp-proxy.ts';
import { MusterProcess, type Addresses } from '../../support/service/muster-process.ts';
import type { Recorder } from '../judgement/history.ts';

/** The prefix of all keys in etcd. */
export const PREFIX = '/chaos/';
const PLANTED = join(import.meta.dirname, '../planted-bugs/main.ts');

/** One of the three: its process, which comes and goes, and its own wires to the members of etcd, which stay. */
export class Replica implements AsyncDisposable {
  readonly number: number;
  readonly wires: readonly TcpProxy[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #recorder: Recorder;
  readonly #bug: string | undefined;
  #process: MusterProcess | undefined;

  private constructor(number: number, wires: readonly TcpProxy[], options: ReplicaOptions) {
    this.number = number;
    this.wires = wires;
    this.#recorder = options.recorder;
    this.#bug = options.bug;
    this.#env = {
      ...options.env,
      MUSTER_STORE: `etcd:${wires.map(({ url }) => url).join()}`,
      ...(options.bug !== undefined && { CHAOS_PLANTED_BUG: options.bug }),
    };
  }

  static async start(number: number, options: ReplicaOptions): Promise<Replica> {
    const wires = await Promise.all(options.cluster.members.map(({ port }) => TcpProxy.before(port)));
    const replica = new Replica(number, wires, options);
    await replica.start();
    return replica;
  }

  get addresses(): Addresses | undefined {
    return this.#process;
  }

  /** Every line that the process of now has logged. */
  get logged(): readonly string[] {
    return this.#process?.logged ?? [];
  }

  /** Resolves when it is ready. A start that finds no store in time ends in words; whoever runs it tries again. */
  async start(): Promise<void> {
    for (let attempt = 1; this.#process === undefined; attempt += 1) {
      this.#process = await MusterProcess.start(this.#env, this.#bug === undefined ? undefined : PLANTED).catch(
        (error: unknown) => {
          if (attempt === STARTS_MAX) throw error;
          return undefined;
        },
      );
    }
  }

  /** Ends the process and starts another one; while it is down nothing is asked of it that it could answer. */
  async restart(
    signal: 'SIGKILL' | 'SIGTERM',
    whileDown: () => Promise<void> = async () => undefined,
  ): Promise<unknown> {
    const from = this.#recorder.now();
    const ended = await this.#process?.end(signal);
    this.#process = undefined;
    await whileDown();
    await this.start();
    this.#recorder.marks.push({ what: 'down', name: signal, replica: this.number, from, until: this.#recorder.now() });
    return ended;
  }

  /** Stops the process for a while, as a machine that is out of memory or moved does. */
  async stopped(work: () => Promise<void>): Promise<void> {
    const from = this.#recorder.now();
    this.#process?.freeze();
    await work();
    this.#process?.thaw();
    this.#recorder.marks.push({
      what: 'stopped',
      name: 'SIGSTOP',
      replica: this.number,
      from,
      until: this.#recorder.now(),
    });
  }

  async isReady(): Promise<boolean> {
    return await this.readyz().then(
      (status) => status === 200,
      () => false,
    );
  }

  /** The status that a probe is answered with. Throws where no answer comes. */
  async readyz(): Promise<number> {
    const { status } = await fetch(`${this.#process?.ops}/readyz`, { signal: AbortSignal.timeout(PROBE_MS) });
    return status;
  }

  /** The value of a series without labels; 0 where it is not exposed. */
  async metric(name: string): Promise<number> {
    const answer = await fetch(`${this.#process?.ops}/metrics`, { signal: AbortSignal.timeout(PROBE_MS) });
    const line = (await answer.text()).split('\n').find((text) => text.startsWith(`${name} `));
    return Number(line?.slice(name.length + 1) ?? 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.[Symbol.asyncDispose]();
    await Promise.all(this.wires.map((wire) => wire[Symbol.asyncDispose]()));
  }
}

const PROBE_MS = 2000;
const STARTS_MAX = 10;

interface ReplicaOptions {
  readonly cluster: EtcdCluster;
  readonly recorder: Recorder;
  readonly env: Readonly<Record<string, string>>;
  /** The bug that is planted in it. */
  readonly bug?: string;
}
