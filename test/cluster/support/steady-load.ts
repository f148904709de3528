import { request } from 'node:http';
import { eventually } from './control-plane/program.ts';

interface Failure {
  /** The error's code, or the status of an answer that is no success. */
  readonly why: string;
  readonly startedAt: number;
}

interface LoadOptions {
  readonly url: string;
  /** API keys, which take turns, so that none is limited. */
  readonly tokens: readonly string[];
  /** Makes each request a POST of its own body; a GET without it. */
  readonly body?: (number: number) => object;
  /** Twenty a second, if it is absent. */
  readonly everyMs?: number;
}

/** Requests at a steady pace, each on a connection of its own, so that the Service chooses a pod for each. */
export class SteadyLoad implements AsyncDisposable {
  readonly failures: Failure[] = [];
  /** The numbers of the requests that were answered with success. */
  readonly successes: number[] = [];
  readonly #options: LoadOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #underWay = new Set<Promise<void>>();
  #next = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      const sent = this.#send(this.#next++);
      this.#underWay.add(sent);
      void sent.finally(() => this.#underWay.delete(sent));
    }, options.everyMs ?? EVERY_MS);
  }

  get answered(): number {
    return this.successes.length;
  }

  /** Resolves after some more answers. */
  async goesOn(): Promise<void> {
    const enough = this.answered + MORE;
    await eventually('requests are answered', () => this.answered >= enough);
  }

  /** How many were answered, how many failed within which time, and how. */
  summary(): string {
    const times = this.failures.map(({ startedAt }) => startedAt);
    const span = ((Math.max(...times) - Math.min(...times)) / 1000).toFixed(1);
    const within = times.length === 0 ? '' : ` within ${span} s`;
    const kinds = Object.entries(Object.groupBy(this.failures, ({ why }) => why));
    const by = kinds.map(([why, failures]) => ` ${why} ${failures?.length}`).join();
    return `${this.answered} requests answered, ${this.failures.length} failed${within}${by}`;
  }

  /** Resolves when the last request has its answer. */
  async stop(): Promise<this> {
    clearInterval(this.#timer);
    await Promise.all(this.#underWay);
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #send(number: number): Promise<void> {
    const { url, tokens, body } = this.#options;
    const startedAt = performance.now();
    const verdict = await outcome(url, tokens[number % tokens.length] ?? '', body?.(number));
    if (/^20[01]$/.test(verdict)) this.successes.push(number);
    else this.failures.push({ why: verdict, startedAt });
  }
}

const EVERY_MS = 50;
const MORE = 20;
const ANSWER_MS = 20_000;

/** The status, or the error's code. */
function outcome(url: string, token: string, body: object | undefined): Promise<string> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}` };
    const method = body === undefined ? 'GET' : 'POST';
    const sent = request(url, { method, agent: false, headers, timeout: ANSWER_MS }, (response) => {
      response.resume();
      response.on('error', ({ message }) => resolve(message));
      response.on('end', () => resolve(String(response.statusCode)));
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer')));
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.end(body && JSON.stringify(body));
  });
}
