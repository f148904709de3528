import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { seeded } from '../time/timeline.ts';

/**
 * What happens to a request. `lost` carries it out, and breaks the connection in place of the answer; `cut` breaks it
 * within the answer's body; `reset` breaks it before anything is carried out; `hung` carries it out and answers
 * nothing; a number answers with that status in place of the service, without its error body.
 */
export type Fate = 'through' | 'lost' | 'cut' | 'reset' | 'hung' | 502 | 503 | 429;

/** How often a fate comes, of 1; the rest goes through. */
type Odds = Partial<Record<Exclude<Fate, 'through'>, number>>;

/** An answer of somebody else than the service, such as a portal. */
export interface StrangersAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly fate: Fate | 'stranger';
}

/** A proxy of HTTP between a client and one listener, with faults that a seed chooses. */
export class LossyProxy implements AsyncDisposable {
  /** What came, in its order, with what happened to it. */
  readonly seen: Seen[] = [];
  /** Chooses the fate of each request, in place of the odds; undefined leaves one to them. */
  fate: ((request: IncomingMessage) => Fate | undefined) | undefined;
  /** Answers in place of the service where it returns something; nothing is carried out then. */
  stranger: ((request: IncomingMessage) => StrangersAnswer | undefined) | undefined;
  odds: Odds = {};
  /** Changes a field of a request or of an answer on its way, or drops it; the name is in small letters. */
  header: ((name: string, value: string) => string | undefined) | undefined;
  /** Told the X-Request-Id of a request that was carried out and is not answered. */
  hung: ((requestId: string) => void) | undefined;
  /**
   * The Retry-After of the answers that are not the service's; one longer than a call may take ends the call at once.
   */
  retryAfterSeconds = 0;
  /** Milliseconds by which an answer that goes through comes late. */
  delayMs = 0;
  readonly #target: string;
  readonly #server: Server;
  readonly #chance: () => number;
  #port = 0;

  private constructor(target: string, seed: number) {
    this.#target = target;
    this.#chance = seeded(seed);
    this.#server = createServer((incoming, response) => void this.#handle(incoming, response));
  }

  /** @param target the address of a listener, such as `muster.api` */
  static async before(target: string, seed = 1): Promise<LossyProxy> {
    const proxy = new LossyProxy(target, seed);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    proxy.#port = (proxy.#server.address() as AddressInfo).port;
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** How many requests had this fate. */
  count(fate: Fate | 'stranger'): number {
    return this.seen.filter((one) => one.fate === fate).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = incoming;
    const strange = this.stranger?.(incoming);
    if (strange) {
      this.seen.push({ method, path: url, headers: incoming.headers, fate: 'stranger' });
      incoming.resume();
      return void response.writeHead(strange.status, strange.headers).end(strange.body);
    }
    const fate = this.fate?.(incoming) ?? this.#chosen();
    this.seen.push({ method, path: url, headers: incoming.headers, fate });
    if (fate === 'reset') return void incoming.socket.destroy();
    if (typeof fate === 'number') {
      incoming.resume();
      const headers = { 'retry-after': String(this.retryAfterSeconds), 'content-type': 'text/html' };
      response.writeHead(fate, headers).end('<h1>a proxy</h1>');
      return;
    }
    const answer = await this.#carriedOut(incoming).catch(() => undefined);
    if (!answer || fate === 'lost') return void response.destroy();
    if (fate === 'hung') return this.hung?.(String(incoming.headers['x-request-id']));
    if (this.delayMs > 0) await sleep(this.delayMs);
    response.writeHead(answer.status, answer.headers);
    if (fate === 'through' || answer.body.length < 2) return void response.end(answer.body);
    // Half of the body is on its way before the connection breaks.
    response.write(answer.body.subarray(0, answer.body.length / 2), () => void response.destroy());
  }

  /** @param fields names and values by turns */
  #changed(fields: string[]): string[] {
    const { header } = this;
    if (!header) return fields;
    const [names, values] = [0, 1].map((first) => fields.filter((_, index) => index % 2 === first)) as [
      string[],
      string[],
    ];
    return names.flatMap((name, index) => {
      const value = header(name.toLowerCase(), values[index] ?? '');
      return value === undefined ? [] : [name, value];
    });
  }

  #chosen(): Fate {
    let chance = this.#chance();
    for (const [fate, odds] of Object.entries(this.odds)) {
      if (chance < odds) return (/^\d/.test(fate) ? Number(fate) : fate) as Fate;
      chance -= odds;
    }
    return 'through';
  }

  /** Resolves when the service has answered in full: it has carried out what was asked. */
  async #carriedOut(incoming: IncomingMessage): Promise<{ status: number; headers: string[]; body: Buffer }> {
    const { method, url = '', rawHeaders } = incoming;
    const onward = request(`${this.#target}${url}`, { method, headers: this.#changed(rawHeaders) });
    incoming.pipe(onward);
    const [answer] = (await once(onward, 'response')) as [IncomingMessage];
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece as Buffer);
    return { status: answer.statusCode ?? 502, headers: this.#changed(answer.rawHeaders), body: Buffer.concat(pieces) };
  }
}
