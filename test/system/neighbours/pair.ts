import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Replicas } from '../../chaos/cluster/client.ts';
import { isOk, type Recorder } from '../../chaos/judgement/history.ts';
import { MusterProcess, type Addresses } from '../../support/service/muster-process.ts';

export type Build = 'previous' | 'current';

/** One process of the pair, also when it has ended. */
interface Ran {
  readonly build: Build;
  readonly process: MusterProcess;
  /** Somebody ends it. */
  isTold: boolean;
}

type Place = 0 | 1;
const PROBE_MS = 1000;
const LINES_TOLD = 5;
const LOOK_EVERY_MS = 100;

/** Resolves once it holds: it is asked of other processes, and rarely, so that they have the processor. */
export async function eventually(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await sleep(LOOK_EVERY_MS);
}

interface PairOptions {
  /** The folder of each build. */
  readonly folders: Readonly<Record<Build, string>>;
  readonly env: Readonly<Record<string, string>>;
  readonly recorder: Recorder;
}

/**
 * Two replicas on one store, each a process of either build, which come and go. The jobs of the chaos suite know three
 * replicas: the first of these is the third one, too.
 */
export class Pair implements Replicas, AsyncDisposable {
  /** Every process there was, in the order of their starts. */
  readonly ran: Ran[] = [];
  readonly #places: (Ran | undefined)[] = [undefined, undefined];
  readonly #options: PairOptions;
  readonly #crashed = Promise.withResolvers<never>();

  constructor(options: PairOptions) {
    this.#options = options;
    this.#crashed.promise.catch(() => undefined);
  }

  /** Rejects when a process ends that nobody has told to. */
  get crashed(): Promise<never> {
    return this.#crashed.promise;
  }

  addresses(replica: number): Addresses | undefined {
    return this.#places[replica % 2]?.process;
  }

  /** Resolves when it is ready. */
  async start(place: Place, build: Build): Promise<void> {
    const { folders, env } = this.#options;
    const process = await MusterProcess.start(env, join(folders[build], 'src/main.ts'));
    const ran = { build, process, isTold: false };
    this.ran.push(ran);
    this.#places[place] = ran;
    void process.ended().then((code) => {
      if (ran.isTold) return;
      const last = process.logged.slice(-LINES_TOLD).join('\n');
      this.#crashed.reject(new Error(`The ${build} build ended by itself with ${code}:\n${last}`));
    });
  }

  /**
   * Ends the process in order, and starts one of the build in its place once the other one leads: the new one might be
   * faster than that one's next check.
   * @returns its exit code
   */
  async swap(place: Place, build: Build): Promise<unknown> {
    const from = this.#options.recorder.now();
    const ended = await this.#end(place);
    this.#places[place] = undefined;
    await eventually(() => this.leads(place === 0 ? 1 : 0));
    await this.start(place, build);
    this.#mark('down', place, from);
    return ended;
  }

  /** Stops the process as a machine that is out of memory does, until the other one leads. */
  async freeze(place: Place): Promise<void> {
    const from = this.#options.recorder.now();
    this.#places[place]?.process.freeze();
    await eventually(() => this.leads(place === 0 ? 1 : 0));
    this.#places[place]?.process.thaw();
    this.#mark('stopped', place, from);
  }

  async leads(place: Place): Promise<boolean> {
    const ops = this.#places[place]?.process.ops;
    const text = await fetch(`${ops}/metrics`, { signal: AbortSignal.timeout(PROBE_MS) }).then(
      (answer) => answer.text(),
      () => '',
    );
    return text.includes('\nmuster_controller_leading 1\n');
  }

  /** The exit codes of those that still run. */
  async end(): Promise<unknown[]> {
    return await Promise.all([this.#end(0), this.#end(1)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const ran of this.ran) ran.isTold = true;
    await Promise.all(this.ran.map(({ process }) => process[Symbol.asyncDispose]()));
  }

  async #end(place: Place): Promise<unknown> {
    const ran = this.#places[place];
    if (!ran) throw new Error(`nothing runs in place ${place}`);
    ran.isTold = true;
    return await ran.process.end('SIGTERM');
  }

  #mark(what: 'down' | 'stopped', place: Place, from: number): void {
    const { recorder } = this.#options;
    const until = recorder.now();
    for (const replica of [0, 1, 2].filter((number) => number % 2 === place)) {
      recorder.marks.push({ what, name: what === 'down' ? 'SIGTERM' : 'SIGSTOP', replica, from, until });
    }
  }
}

/** The lines with the given words that the processes of a build logged. */
export const loggedBy = (pair: Pair, build: Build, words: string): readonly string[] =>
  pair.ran
    .filter((ran) => ran.build === build)
    .flatMap(({ process }) => process.logged.filter((line) => line.includes(words)));

/** Whether both builds have acknowledged a request since the instant. */
export const bothServe = ({ calls }: Recorder, since: number): boolean =>
  [0, 1].every((place) => calls.some((call) => call.replica % 2 === place && call.start >= since && isOk(call)));
