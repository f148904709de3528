import { randomBytes } from 'node:crypto';
import { batchingPause } from '../../concurrency/batching-pause.ts';
import { Busy } from '../../domain/refusal.ts';
import type { Fullness } from '../fullness.ts';
import { epochIdOf } from '../head-value.ts';
import { StoreUnavailable, type Change, type CommitResult } from '../port.ts';
import { bytesOf, divide, type Candidate } from './batch.ts';
import { deadlineIn, latest, leftMs, type Deadline } from './wire/deadline.ts';
import type { Endpoints } from './wire/endpoints.ts';
import { isInvalid, unavailable } from './wire/errors.ts';
import type { KeySpace } from './wire/key-space.ts';
import type { Marked } from './wire/marked.ts';
import { decodeTxn, encodeGroup, resultsOf } from './wire/txn.ts';

/**
 * While so many requests are under way, further commits wait and share the next one (docs/adr/0015-group-commit.md).
 */
const REQUESTS_MAX = 2;
/**
 * The second request is for a slow or silent connection: it is sent when commits have waited so long after the last
 * group.
 */
const PATIENCE_MS = 20;
/** The bound on commits that wait: more than can be sent before their deadlines pass. */
const WAITING_MAX = 10_000;
const EPOCH_ID_BYTES = 8;

/** The parts of a store that its commits use. */
interface CommitsOptions {
  readonly keys: KeySpace;
  readonly endpoints: Endpoints;
  readonly marked: Marked;
  readonly deadlineMs: number;
  readonly fullness: Pick<Fullness, 'began' | 'ended' | 'refused'>;
}

/**
 * The commits of one store. A commit that comes while no request is under way is sent at once; those that come
 * meanwhile share the next request, each with its own verdict and its own deadline.
 */
export class EtcdCommits {
  readonly #keys: KeySpace;
  readonly #endpoints: Endpoints;
  readonly #marked: Marked;
  readonly #deadlineMs: number;
  readonly #fullness: Pick<Fullness, 'began' | 'ended' | 'refused'>;
  #waiting: Member[] = [];
  #requests = 0;
  /** Runs while commits wait and another request may be sent. */
  #patience: NodeJS.Timeout | undefined;

  constructor({ keys, endpoints, marked, deadlineMs, fullness }: CommitsOptions) {
    this.#keys = keys;
    this.#endpoints = endpoints;
    this.#marked = marked;
    this.#deadlineMs = deadlineMs;
    this.#fullness = fullness;
  }

  /** @throws StoreUnavailable, Busy as `Store.commit` */
  async commit(change: Change): Promise<CommitResult> {
    if (this.#waiting.length >= WAITING_MAX) {
      throw new Busy('queue_full', `commit: ${WAITING_MAX} commits wait already, and this one was not sent`);
    }
    const member = new Member(change, this.#deadlineMs, this.#fullness);
    this.#waiting.push(member);
    if (this.#requests === 0) void this.#sendAll();
    else this.#waitOn();
    return member.result;
  }

  #waitOn(): void {
    if (this.#waiting.length === 0 || this.#requests === REQUESTS_MAX) return;
    this.#patience ??= setTimeout(() => {
      this.#patience = undefined;
      void this.#sendBeside();
    }, PATIENCE_MS);
  }

  #waitNoLonger(): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
  }

  async #sendAll(): Promise<void> {
    this.#requests += 1;
    while (this.#waiting.length > 0) {
      await this.#sendGroup();
      await batchingPause();
    }
    this.#requests -= 1;
  }

  /**
   * Sends one group beside a request that takes long. There is only one such request at a time: two would carry half as
   * many commits each.
   */
  async #sendBeside(): Promise<void> {
    this.#requests += 1;
    await this.#sendGroup();
    this.#requests -= 1;
    if (this.#requests === 0) void this.#sendAll();
    else this.#waitOn();
  }

  /** Does not throw: a failure is told to the members. */
  async #sendGroup(): Promise<void> {
    try {
      // The connection comes first: commits that come while there is none join the group, too.
      await this.#endpoints.standing('commit', this.#endpoints.deadline());
      await this.#send(this.#nextGroup());
    } catch (error) {
      // All of them fail together: otherwise each would find out, one deadline after the other, that there is no
      // connection.
      for (const member of this.#waiting.splice(0)) member.fail(unavailable('commit', error));
      this.#waitNoLonger();
    }
  }

  #nextGroup(): Member[] {
    const { group, rest } = divide(this.#waiting.filter(({ settled }) => !settled));
    this.#waiting = rest;
    this.#waitNoLonger();
    this.#waitOn();
    return group;
  }

  /** Does not throw: a failure is told to the members. */
  async #send(members: readonly Member[]): Promise<void> {
    if (members.length === 0) return;
    // Each member keeps its own deadline; the request has the latest of them.
    const deadline = latest(members.map((member) => member.deadline));
    for (const member of members) member.departs(deadline);
    try {
      const changes = members.map(({ change }) => change);
      // A new epoch id for each request, which is sent once: it also tells this history from a restored one.
      const random = randomBytes(EPOCH_ID_BYTES).toString('hex');
      const request = encodeGroup(this.#keys, changes, epochIdOf(random, changes));
      const answer = await this.#marked.txn(request, async (marked) =>
        this.#endpoints.once('commit', async (etcd, options) => etcd.txn(marked, options, decodeTxn), deadline),
      );
      const results = resultsOf(answer, members.length);
      for (const [index, member] of members.entries()) member.end(results[index]);
    } catch (error) {
      if (members.length > 1 && isInvalid(error)) await this.#sendOneByOne(members);
      else this.#failAll(members, unavailable('commit', error));
    }
  }

  #failAll(members: readonly Member[], trouble: StoreUnavailable): void {
    if (trouble.reason === 'full') this.#fullness.refused();
    for (const member of members) member.fail(trouble);
  }

  /** etcd refused the whole request because of one change, before it did anything: now each gets its own answer. */
  async #sendOneByOne(members: readonly Member[]): Promise<void> {
    for (const member of members) member.waits();
    for (const member of members) if (!member.settled) await this.#send([member]);
  }
}

/** A commit from its call to its end, which comes at its deadline at the latest. */
class Member implements Candidate {
  readonly change: Change;
  readonly bytes: number;
  readonly deadline: Deadline;
  readonly result: Promise<CommitResult>;
  settled = false;
  readonly #settle = Promise.withResolvers<CommitResult>();
  readonly #fullness: Pick<Fullness, 'began' | 'ended'>;
  #expiry: NodeJS.Timeout | undefined;
  /** Whether etcd may carry it out. */
  #isSent = false;

  constructor(change: Change, deadlineMs: number, fullness: Pick<Fullness, 'began' | 'ended'>) {
    this.change = change;
    this.#fullness = fullness;
    this.bytes = bytesOf(change);
    fullness.began(this.bytes);
    this.deadline = deadlineIn(deadlineMs);
    this.result = this.#settle.promise;
    this.waits();
  }

  /** The commit waits, and was not sent: its message says so when the deadline passes. */
  waits(): void {
    this.#isSent = false;
    if (!this.settled) this.#expireWith('its turn did not come in time, and it was not sent');
  }

  /** The commit is being sent; after a failure it is from now on unknown whether it happened. */
  departs(deadline: Deadline): void {
    this.#isSent = true;
    // The deadline of the request itself is kept by the channel.
    if (this.deadline < deadline) this.#expireWith('etcd did not answer in time');
    else clearTimeout(this.#expiry);
  }

  end(result: CommitResult | undefined): void {
    if (!result) return this.fail(new StoreUnavailable('failed', 'commit: etcd left it out of its answer'));
    this.#close();
    this.#settle.resolve(result);
  }

  fail(error: StoreUnavailable): void {
    this.#close();
    this.#settle.reject(error);
  }

  #expireWith(words: string): void {
    clearTimeout(this.#expiry);
    const expire = (): void => this.fail(new StoreUnavailable('timeout', `commit: ${words}`));
    this.#expiry = setTimeout(expire, leftMs(this.deadline));
  }

  #close(): void {
    if (!this.settled) this.#fullness.ended(this.bytes, this.#isSent);
    this.settled = true;
    clearTimeout(this.#expiry);
  }
}
