import type { ServerResponse } from 'node:http';
import type { InstallationRole } from '../../../domain/records/user-records.ts';
import { giveUp } from '../../http/pieces/debt.ts';
import type { Topic, Watched } from '../../contract/panel/live.ts';

/** The user and the accounts of a stream of events. */
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
  /** The user's role on the installation, as the last judgement found it. */
  installationRole: InstallationRole | undefined;
  /** Nothing is sent while it is in doubt whether the session or a right has ended. */
  isHeld = false;
  /** The ids of the user's sessions and access tokens: one that has ended no longer tells whose it was. */
  readonly #waysIn: Set<string>;
  readonly #response: ServerResponse;
  /** The hints by account and topic; `''` is for what belongs to no account. */
  #hints = new Map<string, { readonly account: string; readonly topic: Topic }>();
  #reset = false;
  /** The watched values as the page was last told of them, by account and topic. */
  readonly #told = new Map<string, string>();

  constructor({ userId, sessionId, accounts, watched }: Follower, waysIn: Iterable<string>, response: ServerResponse) {
    this.userId = userId;
    this.sessionId = sessionId;
    this.accounts = accounts;
    this.watched = watched;
    this.#waysIn = new Set(waysIn);
    this.#response = response;
  }

  get isOver(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  hint(account: string, topic: Topic): void {
    if (!this.#reset) this.#hints.set(`${account} ${topic}`, { account, topic });
  }

  /** Anything may have changed: single hints would say nothing more. */
  reset(): void {
    this.#reset = true;
    this.#hints = new Map();
  }

  /** @param userId whose way in it is; undefined where it has ended. @returns whether it is one of the user's */
  wayInChanged(id: string, userId: string | undefined): boolean {
    if (userId === undefined) return this.#waysIn.delete(id);
    if (userId === this.userId) this.#waysIn.add(id);
    return userId === this.userId;
  }

  /**
   * Takes a value that was read. The first time, the page is told as well: it may have changed between the page's own
   * read and this one.
   */
  wasRead(account: string, topic: Watched, digest: string): void {
    const key = `${account} ${topic}`;
    if (this.#told.get(key) === digest) return;
    this.#told.set(key, digest);
    this.hint(account, topic);
  }

  /** Sends what was gathered, in one write. @param revision of the store that memory has reached */
  flush(revision: number): void {
    if (this.isHeld || (!this.#reset && this.#hints.size === 0)) return;
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

  /** Ends a stream whose session has ended, or whose user has lost a right. */
  end(): void {
    if (!this.isOver) this.#response.end('event: ended\ndata: {}\n\n');
  }

  /** Ends it without a word: the browser comes back, perhaps to another replica. */
  leave(): void {
    if (!this.isOver) this.#response.end();
  }

  #write(text: string): void {
    if (this.isOver) return;
    if (this.#response.writableLength > UNREAD_BYTES_MAX) giveUp(this.#response.req.socket);
    else this.#response.write(text);
  }
}
