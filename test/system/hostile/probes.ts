import { Agent, request } from 'node:http';
import { Agent as TlsAgent, request as requestTls } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import type { Addresses } from '../../support/service/muster-process.ts';

/** Between two requests of a probe: two probes share the 600 requests a minute of an account. */
const PAUSE_MS = 250;
/** A probe that has no answer by now is counted as wrong and begins anew. */
const GIVEN_UP_MS = 5000;

/** What the probes saw. */
export interface ProbeFigures {
  readonly answers: number;
  /** The longest time to an answer, in milliseconds, by probe. */
  readonly worstMs: Readonly<Record<string, number>>;
  /** Answers with another status than the right one, and connections that broke. */
  readonly wrong: readonly string[];
}

interface Probe {
  readonly name: string;
  readonly url: string;
  readonly token?: string;
  /** Kept: all requests on one connection, as a daemon's; else a connection for each, as a kubelet's. */
  readonly kept: boolean;
}

/**
 * Valid clients beside an attack: an owner, a daemon and a kubelet, which ask all the time and note how long it takes.
 */
export class Probes {
  readonly #worstMs: Record<string, number> = {};
  readonly #wrong: string[] = [];
  readonly #stopping = new AbortController();
  #answers = 0;
  #running: Promise<unknown> = Promise.resolve();

  /** Resolves when each of them has had an answer. */
  static async start(addresses: Addresses, apiKey: string, credential: string): Promise<Probes> {
    const probes = new Probes();
    const owner = { url: `${addresses.api}/v1/apps`, token: apiKey };
    const daemon = { url: `${addresses.device}/device/v1/config`, token: credential };
    const all: readonly Probe[] = [
      { name: 'owner', kept: true, ...owner },
      { name: 'owner, new connection', kept: false, ...owner },
      { name: 'daemon', kept: true, ...daemon },
      { name: 'daemon, new connection', kept: false, ...daemon },
      { name: 'livez', kept: false, url: `${addresses.ops}/livez` },
      { name: 'readyz', kept: false, url: `${addresses.ops}/readyz` },
    ];
    const agents = all.map(({ kept, url }) => {
      if (!kept) return undefined;
      return new (url.startsWith('https:') ? TlsAgent : Agent)({ keepAlive: true, maxSockets: 1 });
    });
    await Promise.all(all.map((probe, number) => probes.#ask(probe, agents[number])));
    probes.#running = Promise.all(all.map((probe, number) => probes.#askOn(probe, agents[number])));
    return probes;
  }

  async forMs(ms: number): Promise<void> {
    await pause(ms);
  }

  async stop(): Promise<ProbeFigures> {
    this.#stopping.abort();
    await this.#running;
    return { answers: this.#answers, worstMs: this.#worstMs, wrong: this.#wrong };
  }

  async #askOn(probe: Probe, agent: Agent | undefined): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await pause(PAUSE_MS);
      await this.#ask(probe, agent);
    }
    agent?.destroy();
  }

  async #ask({ name, url, token }: Probe, agent: Agent | undefined): Promise<void> {
    const startedAt = performance.now();
    const status = await statusOf(url, token, agent).catch((error: unknown) => String(error));
    const ms = performance.now() - startedAt;
    this.#worstMs[name] = Math.max(this.#worstMs[name] ?? 0, ms);
    this.#answers += 1;
    if (status !== 200) this.#wrong.push(`${name}: ${status} after ${ms.toFixed(0)} ms`);
  }
}

function statusOf(url: string, token: string | undefined, agent: Agent | undefined): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = {
      agent: agent ?? false,
      signal: AbortSignal.timeout(GIVEN_UP_MS),
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    };
    // A certificate of tests is of no authority that anybody trusts.
    const asked = url.startsWith('https:')
      ? requestTls(url, { ...options, rejectUnauthorized: false })
      : request(url, options);
    asked.on('response', (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode)).on('error', reject);
    });
    asked.on('error', reject).end();
  });
}
