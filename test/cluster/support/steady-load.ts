import { request } from 'node:http';

export interface Failure {
  /** The error's code, or the status of an answer other than 200. */
  readonly why: string;
  readonly startedAt: number;
}

/** Requests at a steady pace, each on a connection of its own, so that the Service chooses a pod for each. */
export class SteadyLoad implements AsyncDisposable {
  readonly failures: Failure[] = [];
  answered = 0;
  readonly #timer: NodeJS.Timeout;
  readonly #underWay = new Set<Promise<void>>();
  #next = 0;

  /** @param tokens API keys, which take turns, so that none is limited */
  constructor(url: string, tokens: readonly string[]) {
    this.#timer = setInterval(() => {
      const sent = this.#send(url, tokens[this.#next++ % tokens.length] ?? '');
      this.#underWay.add(sent);
      void sent.finally(() => this.#underWay.delete(sent));
    }, EVERY_MS);
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

  async #send(url: string, token: string): Promise<void> {
    const startedAt = performance.now();
    const verdict = await outcome(url, token);
    if (verdict === '200') this.answered += 1;
    else this.failures.push({ why: verdict, startedAt });
  }
}

/** Twenty a second. */
const EVERY_MS = 50;
const ANSWER_MS = 60_000;

function outcome(url: string, token: string): Promise<string> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}` };
    const sent = request(url, { agent: false, headers, timeout: ANSWER_MS }, (response) => {
      response.resume();
      response.on('error', ({ message }) => resolve(message));
      response.on('end', () => resolve(String(response.statusCode)));
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer')));
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.end();
  });
}
