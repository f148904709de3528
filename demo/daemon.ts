import { hash, randomBytes } from 'node:crypto';
import { ask, insist, pause, type Urls } from './http.ts';
import type { FleetCounters } from './fleet-counters.ts';

/** How long the service may hold a poll: short, so that there is something to see. */
const WAIT_SECONDS = 5;

export interface Enrollment {
  readonly appId: string;
  readonly enrollCode: string;
}

/**
 * A simulated daemon: enrolls with its code, then polls, each time with the tag of what it has, and acknowledges what
 * it receives.
 */
export class Daemon {
  readonly #urls: Urls;
  readonly #counters: FleetCounters;
  /**
   * The credential that the daemon generates itself: the service keeps its hash alone, and a lost answer to the
   * enrollment costs no code.
   */
  readonly #credential = `mst_dev_${randomBytes(32).toString('base64url')}`;
  #etag = '';
  #version = 0;

  constructor(urls: Urls, counters: FleetCounters) {
    this.#urls = urls;
    this.#counters = counters;
  }

  /** Resolves when it is cut off; rejects when the signal aborts. */
  async run(enrollment: Enrollment, signal: AbortSignal): Promise<void> {
    await this.#enroll(enrollment, signal);
    while ((await this.#poll(signal)) !== 'cut off') this.#counters.polls += 1;
  }

  /** Reports a newer version with its next poll. */
  upgrade(): void {
    this.#version += 1;
    this.#counters.upgrades += 1;
  }

  async #enroll({ appId, enrollCode }: Enrollment, signal: AbortSignal): Promise<void> {
    const body = {
      appId,
      enrollCode,
      platform: 'linux/amd64',
      agentVersion: this.#agentVersion,
      connection: 'cloud',
      credentialHash: hash('sha256', this.#credential),
    };
    // The credential as bearer proves that it is the daemon's own.
    const token = this.#credential;
    await insist(200, `${this.#urls.device}/device/v1/enroll`, { method: 'POST', token, body, signal });
    this.#counters.enrolled += 1;
  }

  async #poll(signal: AbortSignal): Promise<'cut off' | undefined> {
    const answer = await ask(`${this.#urls.device}/device/v1/config`, {
      token: this.#credential,
      headers: {
        'If-None-Match': this.#etag,
        Prefer: `wait=${WAIT_SECONDS}`,
        'Muster-Platform': 'linux/amd64',
        'Muster-Agent-Version': this.#agentVersion,
      },
      signal,
    });
    const { status, headers, body } = answer;
    if (status === 401) return 'cut off';
    if (status === 304) {
      this.#counters.unchanged += 1;
      // The poll was not held, or ended for another one.
      if (headers.has('retry-after')) await pause(answer, signal);
    } else if (status === 200) await this.#take(String(headers.get('etag')), Number(body['revision']), signal);
    else await pause(answer, signal);
    return undefined;
  }

  async #take(etag: string, revision: number, signal: AbortSignal): Promise<void> {
    this.#etag = etag;
    this.#counters.received += 1;
    const { status } = await ask(`${this.#urls.device}/device/v1/config/ack`, {
      method: 'POST',
      token: this.#credential,
      body: { revision, status: 'applied' },
      signal,
    });
    if (status === 204) this.#counters.acknowledged += 1;
  }

  get #agentVersion(): string {
    return `1.${this.#version}.0`;
  }
}
