import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { guard } from '../run/guard.ts';
import type { Received } from './elastic-agent.ts';

const SCRIPT = join(import.meta.dirname, 'python_agent.py');
/** Its seconds between two messages, whatever it is offered. */
const HEARTBEAT_SECONDS = '0.2';

const event = z.discriminatedUnion('event', [
  z.object({ event: z.literal('answered') }),
  z.object({ event: z.literal('failed'), error: z.string() }),
  z.object({ event: z.literal('refused'), error: z.string() }),
  z.object({ event: z.literal('config'), hash: z.string(), contentType: z.string(), text: z.string() }),
  z.object({ event: z.literal('stopped') }),
]);

/** An agent by OpenTelemetry's client for Python, in a process of its own. */
export class PythonAgent implements AsyncDisposable {
  readonly configs: Received[] = [];
  /** What went wrong with a message, in the client's words. */
  readonly failures: string[] = [];
  answers = 0;
  isStopped = false;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  /**
   * @param python the interpreter that has the client
   * @param url of the OpAMP endpoint
   */
  constructor(python: string, url: string, credential: string) {
    const child = spawn(python, [SCRIPT, url, HEARTBEAT_SECONDS], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { PATH: process.env['PATH'], PYTHONDONTWRITEBYTECODE: '1', PYTHONIOENCODING: 'utf-8' },
    });
    guard(child);
    this.#child = child;
    this.#ended = once(child, 'exit');
    createInterface({ input: child.stdout }).on('line', (line) => this.#take(line));
    // Not as an argument, which every process of the machine can read.
    child.stdin.write(`${credential}\n`);
  }

  #take(line: string): void {
    const told = event.parse(JSON.parse(line));
    if (told.event === 'answered') this.answers += 1;
    else if (told.event === 'config') this.configs.push({ ...told, answersBefore: this.answers - 1 });
    else if (told.event === 'stopped') this.isStopped = true;
    else this.failures.push(told.error);
  }

  /** Lets it say that it ends, and waits for that. */
  async stop(): Promise<void> {
    this.#child.stdin?.end();
    await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
