import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { RecordChange } from '../../../domain/fleet/change-notices.ts';
import type { Fleet } from '../../../domain/fleet/fleet.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { liveSession } from '../../../domain/sessions/guard.ts';
import type { SessionUses } from '../../../domain/sessions/session-uses.ts';
import { neededRight, operatorRight } from '../../../domain/users/roles.ts';
import type { Log } from '../../../log.ts';
import type { Clock } from '../../../time/clock.ts';
import type { Topic, Watched } from '../../contract/panel/live.ts';
import { HttpRefusal } from '../../http/exchange.ts';
import type { WatchedReads } from '../request/shared-reads.ts';
import { LiveStream, type Follower } from './live-stream.ts';

export interface LiveHubDeps {
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly log: Log;
  readonly watched: WatchedReads;
  readonly sessionUses: Pick<SessionUses, 'isIdle'>;
  /** The store revision that memory has reached. */
  readonly revision: () => number;
  /** Aborts when the replica leaves: every stream ends, and browsers find another replica. */
  readonly leaving: AbortSignal;
}

/** The streams of live events of this replica. */
export interface LiveHub {
  /** Streams that are open: they take no slot of the listener. */
  readonly open: number;
  /**
   * Begins a stream; the response is already under way.
   * @param lastEventId where the browser's last stream ended
   */
  join(follower: Follower, response: ServerResponse, lastEventId: string | undefined): void;
  /** @throws HttpRefusal `overloaded` where there are `LIMITS.eventStreamsMax` */
  refuseMany(): void;
}

/** Changes are gathered for this long, so that a thousand of them are one write. */
const GATHERED_MS = 100;
const BEAT_MS = 15_000;
const SEEN_EVERY_MS = 5000;
const EXPIRY_EVERY_MS = 60_000;

const TOPICS: Readonly<Record<string, Topic>> = {
  account: 'account',
  app: 'apps',
  key: 'keys',
  otel: 'config',
  members: 'members',
};

/** Creates the streams' hub, which lives as long as the process; see `LiveHub`. */
export const createLiveHub = (deps: LiveHubDeps): LiveHub => new Hub(deps);

class Hub implements LiveHub {
  readonly #deps: LiveHubDeps;
  readonly #streams = new Set<LiveStream>();
  readonly #digests = new Map<string, string>();
  readonly #seen = new Set<string>();
  #seenToldAt = 0;
  #flushing = false;
  #running = false;

  constructor(deps: LiveHubDeps) {
    this.#deps = deps;
    deps.fleet.memory.onRecordChange((changes) => this.#changed(changes));
    deps.leaving.addEventListener('abort', () => {
      for (const stream of this.#streams) stream.leave();
    });
  }

  get open(): number {
    return this.#streams.size;
  }

  refuseMany(): void {
    if (this.#streams.size >= LIMITS.eventStreamsMax) throw new HttpRefusal('overloaded');
  }

  join(follower: Follower, response: ServerResponse, lastEventId: string | undefined): void {
    const own = [...this.#streams].filter(({ userId }) => userId === follower.userId);
    if (own.length >= LIMITS.eventStreamsPerUserMax) own[0]?.leave();
    const stream = new LiveStream(follower, response);
    this.#streams.add(stream);
    response.once('close', () => this.#streams.delete(stream));
    const revision = this.#deps.revision();
    stream.begin(revision);
    // What happened between is not known: only a browser that is as far as memory has missed nothing.
    if (lastEventId !== undefined && lastEventId !== String(revision)) {
      stream.reset();
      stream.flush(revision);
    }
    if (this.#deps.leaving.aborted) return stream.leave();
    // A right that was lost between the request's own judgement and here is lost all the same.
    void this.#judge([stream]);
    void this.#run();
  }

  #changed(changes: readonly RecordChange[]): void {
    if (this.#streams.size === 0) return;
    const judged = new Set<LiveStream>();
    for (const change of changes) {
      for (const stream of this.#streams) {
        if (this.#note(stream, change)) judged.add(stream);
      }
    }
    if (judged.size > 0) void this.#judge(judged);
    this.#flushSoon();
  }

  /** Gathers the hint of a change for a stream. @returns whether the change may have taken a right away */
  #note(stream: LiveStream, change: RecordChange): boolean {
    if (change.kind === 'all') {
      stream.reset();
      return true;
    }
    if (!('accountId' in change)) {
      stream.hint('', 'users');
      if (change.kind === 'session') return change.id === stream.sessionId;
      if (change.kind === 'operators' || change.id === stream.userId) stream.hint('', 'me');
      return change.kind === 'operators' || change.id === stream.userId;
    }
    if (!stream.accounts.has(change.accountId)) return false;
    if (change.kind === 'seen') this.#seen.add(change.accountId);
    const topic = TOPICS[change.kind];
    if (topic) stream.hint(change.accountId, topic);
    if (change.kind === 'members') stream.hint('', 'me');
    return change.kind === 'members' || change.kind === 'account';
  }

  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setTimeout(() => {
      this.#flushing = false;
      this.#tellSeen();
      const revision = this.#deps.revision();
      for (const stream of this.#streams) stream.flush(revision);
    }, GATHERED_MS).unref();
  }

  /** Last contacts change all the time. */
  #tellSeen(): void {
    const now = this.#deps.clock.monotonic();
    if (this.#seen.size === 0 || now - this.#seenToldAt < SEEN_EVERY_MS) return;
    this.#seenToldAt = now;
    for (const account of this.#seen) this.#hintAll(account, 'seen');
    this.#seen.clear();
  }

  #hintAll(account: string, topic: Topic): void {
    for (const stream of this.#streams) if (stream.accounts.has(account)) stream.hint(account, topic);
  }

  /** Ends the streams whose session has ended or whose user has lost a right (A12). */
  async #judge(streams: Iterable<LiveStream>): Promise<void> {
    for (const stream of streams) {
      try {
        await this.#refuseEnded(stream);
      } catch (error) {
        if (error instanceof Refusal) stream.end();
        // Memory is filled anew: it tells of everything again once it is whole.
        else stream.leave();
      }
    }
  }

  /** @throws Refusal */
  async #refuseEnded({ sessionId, accounts }: LiveStream): Promise<void> {
    const { memory } = this.#deps.fleet;
    if (!memory.whole) return;
    const { session, user } = await liveSession(memory, sessionId);
    if (this.#deps.clock.now() >= session.record.expiresAt) throw new Refusal('invalid_session');
    for (const accountId of accounts) {
      await neededRight(memory, user, { accountId, role: 'viewer' });
      const isDisabled = memory.account(accountId)?.record.disabled === true;
      if (isDisabled && !(await operatorRight(memory, user))) throw new Refusal('forbidden');
    }
  }

  /** Runs while there are streams: heartbeats, what is watched, and sessions that expire. */
  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    const { clock, leaving } = this.#deps;
    let [beatAt, judgedAt] = [clock.monotonic(), clock.monotonic()];
    while (this.#streams.size > 0 && !leaving.aborted) {
      await clock.sleep(LIMITS.watchedReadsEveryMs, leaving);
      await this.#readWatched();
      this.#flushSoon();
      const now = clock.monotonic();
      if (now - beatAt >= BEAT_MS) {
        for (const stream of this.#streams) stream.beat();
        beatAt = now;
      }
      if (now - judgedAt >= EXPIRY_EVERY_MS) {
        await this.#endIdle();
        judgedAt = now;
      }
    }
    this.#running = false;
    this.#digests.clear();
  }

  async #readWatched(): Promise<void> {
    const wanted = new Set<string>();
    for (const { accounts, watched } of this.#streams) {
      for (const account of accounts) for (const what of watched) wanted.add(`${account} ${what}`);
    }
    for (const key of this.#digests.keys()) if (!wanted.has(key)) this.#digests.delete(key);
    for (const key of wanted) {
      const [account = '', what] = key.split(' ') as [string, Watched];
      const digest = await this.#digestOf(account, what);
      if (digest === undefined) continue;
      const before = this.#digests.get(key);
      this.#digests.set(key, digest);
      if (before !== undefined && before !== digest) this.#hintAll(account, what);
    }
  }

  /** Undefined where it cannot be read now: the next round reads it again. */
  async #digestOf(account: string, what: Watched): Promise<string | undefined> {
    try {
      return hash('sha256', JSON.stringify(await this.#deps.watched[what](account)), 'base64url');
    } catch (error) {
      if (!(error instanceof Refusal)) this.#deps.log.info({ err: error, what }, 'what a page watches cannot be read');
      return undefined;
    }
  }

  /** A stream is no use of its session. */
  async #endIdle(): Promise<void> {
    for (const stream of this.#streams) {
      const session = this.#deps.fleet.memory.session(stream.sessionId);
      const isIdle = session && (await this.#deps.sessionUses.isIdle(session).catch(() => false));
      if (isIdle === true) stream.end();
    }
    await this.#judge(this.#streams);
  }
}
