import type { ServerResponse } from 'node:http';
import type { RecordChange } from '../../../domain/fleet/change-notices.ts';
import type { Fleet } from '../../../domain/fleet/fleet.ts';
import { LIMITS } from '../../../domain/limits.ts';
import type { Pulse } from '../../../domain/fleet/pulse.ts';
import type { SessionUses } from '../../../domain/sessions/session-uses.ts';
import type { Clock } from '../../../time/clock.ts';
import type { Topic } from '../../contract/panel/live.ts';
import { HttpRefusal } from '../../http/errors.ts';
import { judgeByStore, judgeStreams, type StreamPolicy } from './live-rights.ts';
import { LiveStream, type Follower } from './live-stream.ts';
import { createRounds } from './rounds.ts';
import { createWatchedRounds, type WatchedRoundsDeps } from './watched-rounds.ts';

interface LiveHubDeps extends WatchedRoundsDeps, StreamPolicy {
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly sessionUses: Pick<SessionUses, 'isIdle'>;
  /** The store revision that memory has reached. */
  readonly revision: () => number;
  readonly pulse: Pulse;
  /** Streams at once: each has a connection of its own. */
  readonly streamsMax: number;
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
  /** @throws HttpRefusal `overloaded` where there are `streamsMax` */
  refuseMany(): void;
}

/** Changes are gathered for this long, so that a thousand of them are one write. */
const GATHERED_MS = 100;
const BEAT_MS = 15_000;
const SEEN_EVERY_MS = 5000;
const EXPIRY_EVERY_MS = 60_000;

const TOPICS: Readonly<Partial<Record<Extract<RecordChange, { accountId: string }>['kind'], Topic>>> = {
  account: 'account',
  app: 'apps',
  apiKey: 'keys',
  otel: 'config',
  members: 'members',
};

/** Creates the streams' hub, which lives as long as the process; see `LiveHub`. */
export const createLiveHub = (deps: LiveHubDeps): LiveHub => new Hub(deps);

class Hub implements LiveHub {
  readonly #deps: LiveHubDeps;
  readonly #streams = new Set<LiveStream>();
  /** Accounts with last contacts that are not told yet. */
  readonly #seen = new Set<string>();
  #seenToldAt = Number.NEGATIVE_INFINITY;
  #flushing = false;
  readonly #startRounds: readonly (() => void)[];

  constructor(deps: LiveHubDeps) {
    this.#deps = deps;
    const { clock, leaving: signal } = deps;
    const readWatched = createWatchedRounds(deps);
    const isWanted = (): boolean => this.#streams.size > 0;
    const rounds = (everyMs: number, round: () => Promise<void> | void): (() => void) =>
      createRounds({ clock, signal, everyMs, isWanted, round });
    // Each on its own: a store that is slow to tell what is watched must not keep a heartbeat waiting.
    this.#startRounds = [
      rounds(BEAT_MS, () => this.#each((stream) => stream.beat())),
      rounds(EXPIRY_EVERY_MS, () => this.#endExpired()),
      rounds(LIMITS.watchedReadsEveryMs, async () => {
        await readWatched(this.#streams);
        this.#flushSoon();
      }),
      deps.pulse.join({
        name: 'streams of events',
        isThere: isWanted,
        judge: (reader) => judgeByStore(reader, this.#streams, deps),
        storeLost: () => this.#each((stream) => stream.leave()),
      }),
    ];
    deps.fleet.memory.onRecordChange((changes) => this.#changed(changes));
    signal.addEventListener('abort', () => this.#each((stream) => stream.leave()));
  }

  get open(): number {
    return this.#streams.size;
  }

  refuseMany(): void {
    if (this.#streams.size >= this.#deps.streamsMax) throw new HttpRefusal('overloaded');
  }

  join(follower: Follower, response: ServerResponse, lastEventId: string | undefined): void {
    const { fleet, leaving } = this.#deps;
    const own = [...this.#streams].filter(({ userId }) => userId === follower.userId);
    if (own.length >= LIMITS.eventStreamsPerUserMax) own[0]?.leave();
    const { memory } = fleet;
    const waysIn = [...memory.sessionsOf(follower.userId), ...memory.accessTokensOf(follower.userId)];
    const stream = new LiveStream(
      follower,
      waysIn.map(({ id }) => id),
      response,
    );
    const revision = this.#deps.revision();
    stream.begin(revision);
    // The changes between are not known: only a browser that is as far as memory has missed nothing.
    if (lastEventId !== undefined && lastEventId !== String(revision)) {
      stream.reset();
      stream.flush(revision);
    }
    if (leaving.aborted) return stream.leave();
    // The client may have gone while it was judged: nothing would tell of its end any more.
    if (stream.isOver) return;
    this.#streams.add(stream);
    // It gives its slot back when its end is written, and not only when the client has taken it.
    for (const over of ['prefinish', 'close']) response.once(over, () => this.#streams.delete(stream));
    // A right that was lost between the request's own judgement and here is lost all the same.
    void judgeStreams(this.#deps, [stream]);
    for (const start of this.#startRounds) start();
  }

  #each(work: (stream: LiveStream) => void): void {
    for (const stream of this.#streams) work(stream);
  }

  #changed(changes: readonly RecordChange[]): void {
    if (this.#streams.size === 0) return;
    const judged = new Set<LiveStream>();
    for (const change of distinct(changes)) {
      this.#noteMembers(change);
      for (const stream of this.#streams) if (this.#note(stream, change)) judged.add(stream);
    }
    if (judged.size > 0) void judgeStreams(this.#deps, judged);
    this.#flushSoon();
  }

  /** Gathers the hint of a change for a stream. @returns whether the change may have taken a right away */
  #note(stream: LiveStream, change: RecordChange): boolean {
    if (change.kind === 'all') {
      stream.reset();
      return true;
    }
    if (!('accountId' in change)) return this.#noteUser(stream, change);
    const { accountId, kind } = change;
    if (!stream.accounts.has(accountId)) return false;
    if (kind === 'lastSeen') this.#seen.add(accountId);
    const topic = TOPICS[kind];
    if (topic) stream.hint(accountId, topic);
    const isJudged = kind === 'members' || kind === 'account';
    if (isJudged) stream.hint('', 'me');
    return isJudged;
  }

  #noteUser(stream: LiveStream, change: Exclude<RecordChange, { kind: 'all' } | { accountId: string }>): boolean {
    // Every role on the installation reads the users.
    if (stream.installationRole !== undefined) stream.hint('', 'users');
    if (change.kind === 'session' || change.kind === 'accessToken') {
      const { memory } = this.#deps.fleet;
      const wayIn = change.kind === 'session' ? memory.session(change.id) : memory.accessToken(change.id);
      if (stream.wayInChanged(change.id, wayIn?.record.userId)) stream.hint('', 'me');
      return change.id === stream.sessionId;
    }
    const isAffected = change.kind === 'operators' ? this.#isRoleOver(stream) : change.id === stream.userId;
    if (isAffected) stream.hint('', 'me');
    return isAffected;
  }

  /** The operators are also written for somebody else, or as they were; neither changes the role of this user. */
  #isRoleOver({ userId, installationRole, isHeld }: LiveStream): boolean {
    // A stream that is held is being judged by a state that may be older than this change.
    const isOperator = installationRole === 'operator';
    return isHeld || this.#deps.fleet.memory.operators().record.members.includes(userId) !== isOperator;
  }

  /** A list of members shows the names of users, and a user's own accounts are those that have him as a member. */
  #noteMembers(change: RecordChange): void {
    const { memory } = this.#deps.fleet;
    if (change.kind === 'user') {
      for (const { id } of memory.accountsOfMember(change.id)) this.#hintAll(id, 'members');
    } else if (change.kind === 'members') {
      const { members = [] } = memory.account(change.accountId)?.members().record ?? {};
      const ids = new Set(members.map(({ userId }) => userId));
      for (const stream of this.#streams) if (ids.has(stream.userId)) stream.hint('', 'me');
    }
  }

  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    const { clock, leaving } = this.#deps;
    void clock.sleep(GATHERED_MS, leaving).then(() => {
      this.#flushing = false;
      this.#tellSeen();
      const revision = this.#deps.revision();
      this.#each((stream) => stream.flush(revision));
    });
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

  /** A stream is no use of its session, which may expire meanwhile; nothing in the store tells so. */
  async #endExpired(): Promise<void> {
    const { fleet, sessionUses } = this.#deps;
    await judgeStreams(this.#deps, this.#streams);
    try {
      for (const stream of this.#streams) {
        const session = fleet.memory.session(stream.sessionId);
        if (session && (await sessionUses.isIdle(session))) stream.end();
      }
    } catch {
      // The store is away: the others are judged in the next round.
    }
  }
}

/** Many changes of one kind in an account are one; the records of users are told one by one. */
function distinct(changes: readonly RecordChange[]): Iterable<RecordChange> {
  const byKind = new Map<string, RecordChange>();
  for (const change of changes) {
    const of = 'accountId' in change ? change.accountId : 'id' in change ? change.id : '';
    byKind.set(`${change.kind} ${of}`, change);
  }
  return byKind.values();
}
