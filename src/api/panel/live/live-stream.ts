import type { ServerResponse } from 'node:http';
import type { Topic, Watched } from '../../contract/panel/live.ts';

/** Who follows what by a stream of events. */
export interface Follower {
  readonly userId: string;
  readonly sessionId: string;
  readonly accounts: ReadonlySet<string>;
  readonly watched: ReadonlySet<Watched>;
}

/** Bytes that a client may leave unread; who takes nothing is given up, and its browser comes back. */
const UNREAD_BYTES_MAX = 65_536;

/** One stream of server-sent events: hints are gathered, and each is sent once. */
export class LiveStream implements Follower {
  readonly userId: string;
  readonly sessionId: string;
  readonly accounts: ReadonlySet<string>;
  readonly watched: ReadonlySet<Watched>;
  readonly #response: ServerResponse;
  /** By account and topic; `''` is for what belongs to no account. */
  #hints = new Map<string, { readonly account: string; readonly topic: Topic }>();
  #reset = false;

  constructor({ userId, sessionId, accounts, watched }: Follower, response: ServerResponse) {
    this.userId = userId;
    this.sessionId = sessionId;
    this.accounts = accounts;
    this.watched = watched;
    this.#response = response;
  }

  get isOver(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  get hasNews(): boolean {
    return this.#reset || this.#hints.size > 0;
  }

  hint(account: string, topic: Topic): void {
    if (!this.#reset) this.#hints.set(`${account} ${topic}`, { account, topic });
  }

  /** Anything may have changed: single hints would say nothing more. */
  reset(): void {
    this.#reset = true;
    this.#hints = new Map();
  }

  /** Sends what was gathered, in one write. @param revision of the store that memory has reached */
  flush(revision: number): void {
    if (!this.hasNews) return;
    const events = this.#reset
      ? [`event: reset\ndata: {}\n\n`]
      : Array.from(this.#hints.values(), (hint) => `event: hint\ndata: ${JSON.stringify(hint)}\n\n`);
    this.#reset = false;
    this.#hints = new Map();
    this.#write(events.map((event) => `id: ${revision}\n${event}`).join(''));
  }

  /** Says that it is still there, to proxies that end what is silent. */
  beat(): void {
    this.#write(':\n\n');
  }

  /** Begins the stream: how soon to come back, and where it stands. */
  begin(revision: number): void {
    this.#write(`retry: 2000\nid: ${revision}\nevent: ready\ndata: {}\n\n`);
  }

  /** The session has ended, or a right was lost. */
  end(): void {
    if (this.isOver) return;
    this.#response.end('event: ended\ndata: {}\n\n');
  }

  /** The service leaves: the browser finds another replica. */
  leave(): void {
    if (!this.isOver) this.#response.end();
  }

  #write(text: string): void {
    if (this.isOver) return;
    if (this.#response.writableLength > UNREAD_BYTES_MAX) this.#response.destroy();
    else this.#response.write(text);
  }
}
