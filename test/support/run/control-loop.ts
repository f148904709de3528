import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const TURN_MS = 20;

/** The process beside this one: it takes turns, and answers each line with the longest time between two of them. */
const PROGRAM = `
  let [before, longest] = [performance.now(), 0];
  const turn = () => {
    const now = performance.now();
    longest = Math.max(longest, now - before);
    before = now;
  };
  setInterval(turn, ${TURN_MS});
  process.stdin.on('data', () => {
    turn();
    process.stdout.write(longest + '\\n');
    longest = 0;
  });
  process.stdin.on('end', () => process.exit());
`;

/** The longest times in which something got no turn, in milliseconds. */
export interface Stalls {
  /** A process of its own, which does nothing else: so long the machine stood still. */
  readonly machineMs: number;
  /** This process, which measures: it may stand still for what it does itself, too. */
  readonly ownMs: number;
}

/**
 * Two loops that ask for a turn every 20 ms, one in a process of its own and one in this one. What was measured while
 * they got theirs was measured; what was measured while they did not says nothing of the service.
 */
export class ControlLoop implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #timer: NodeJS.Timeout;
  #before = performance.now();
  #longestMs = 0;

  private constructor(child: ChildProcess, lines: AsyncIterator<string>) {
    this.#child = child;
    this.#lines = lines;
    this.#timer = setInterval(() => this.#turn(), TURN_MS).unref();
  }

  /** Resolves when both loops run. */
  static async start(): Promise<ControlLoop> {
    const child = spawn(process.execPath, ['--eval', PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const loop = new ControlLoop(child, lines);
    // Its own start is nobody's stall.
    await loop.stalls();
    return loop;
  }

  /** The id of its own process. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Since the start, or since the last time that this was asked. */
  async stalls(): Promise<Stalls> {
    this.#turn();
    const ownMs = this.#longestMs;
    this.#child.stdin?.write('?');
    const answer: IteratorResult<string, unknown> = await this.#lines.next();
    if (answer.done === true) throw new Error('The control loop has ended.');
    this.#turn();
    this.#longestMs = 0;
    return { machineMs: Number(answer.value), ownMs };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    const exited = once(this.#child, 'exit');
    if (this.#child.kill('SIGKILL')) await exited;
  }

  #turn(): void {
    const now = performance.now();
    this.#longestMs = Math.max(this.#longestMs, now - this.#before);
    this.#before = now;
  }
}
