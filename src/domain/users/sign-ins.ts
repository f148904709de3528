import { hash } from 'node:crypto';
import { expectUnchanged, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { Log } from '../../log.ts';
import type { UserEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { absent, parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { signInsSchema, type SignInsRecord } from '../records/user-records.ts';
import { comparableLogin } from './user-state.ts';

/** An attempt to sign in with a secret that somebody may guess. */
export interface Attempt {
  readonly login: string;
  /** Undefined where nobody has this login. */
  readonly userId: string | undefined;
}

/**
 * The attempts to sign in as somebody. From `LIMITS.slowFromFailures` on each further one must wait longer, but for a
 * browser that the user has signed in from before: nobody locks a user out of his own browser. What is written are small
 * quiet records (ADR 0004), at most one a second and user; of a name that nobody has, this replica remembers as much, so
 * that nobody learns which names there are.
 */
export interface SignIns {
  /**
   * Counts an attempt as a failure before its secret is compared, so that many at once are slowed down as well.
   * @param mark of the browser, as its cookie has it
   * @returns seconds to wait before the next attempt, and then this one is not counted; undefined where it may be made
   * @throws StoreUnavailable; BadRecord
   */
  charge(attempt: Attempt, mark: string | undefined): Promise<number | undefined>;
  /** Takes back the count of an attempt whose secret was not compared. */
  release(attempt: Attempt): void;
  /** Writes the failures of a user, behind the answer: its time does not tell that there is such a user. */
  failed(attempt: Attempt): void;
  /** Notes a success from a browser, and forgets the failures. Never throws. */
  succeeded(user: UserEntry, mark: string): Promise<void>;
  /**
   * When the user last signed in from a browser, in milliseconds since 1970, and 0 where that is not known any more.
   * @returns undefined where the user has never signed in from it, or too long ago
   * @throws StoreUnavailable; BadRecord
   */
  lastSignIn(userId: string, mark: string | undefined): Promise<number | undefined>;
  /**
   * Notes the signature counter of a passkey.
   * @returns false where it went back or stood still: a copy of the passkey is in use
   * @throws StoreUnavailable; BadRecord
   */
  count(user: UserEntry, passkeyId: string, counter: number): Promise<boolean>;
}

export interface SignInsDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

/** Failures that are in no record yet, or never will be. */
interface Remembered {
  failures: number;
  failedAt: number;
  writtenAt: number;
}

const NONE: SignInsRecord = { failures: 0, failedAt: 0, counters: {}, browsers: [] };
const WRITE_EVERY_MS = 1000;
const FIRST_DELAY_MS = 1000;
/** Names that this replica remembers failures of; the oldest are forgotten first. */
const REMEMBERED_MAX = 10_000;
const COMMIT_ATTEMPTS_MAX = 5;
/** Nobody has this id: the attempts of a name that nobody has read as much as those of a user. */
const NOBODY = '-';

const digest = (text: string): string => hash('sha256', text, 'base64url');
const nameOf = ({ login, userId }: Attempt): string => userId ?? digest(comparableLogin(login));

/** Creates the notes of attempts; see `SignIns`. */
export function createSignIns({ store, clock, log }: SignInsDeps): SignIns {
  const remembered = new Map<string, Remembered>();

  function remember(name: string): Remembered {
    const here = remembered.get(name) ?? { failures: 0, failedAt: 0, writtenAt: 0 };
    remembered.delete(name);
    remembered.set(name, here);
    const [oldest] = remembered.keys();
    if (remembered.size > REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest);
    return here;
  }

  async function read(userId: string): Promise<Versioned<SignInsRecord>> {
    const key = KEYS.signIns(userId);
    const entry = await store.get(key);
    return entry ? parseRecord(signInsSchema, entry) : absent(key, NONE);
  }

  async function write(userId: string, change: (record: SignInsRecord) => SignInsRecord | undefined): Promise<boolean> {
    for (let attempt = 1; attempt <= COMMIT_ATTEMPTS_MAX; attempt += 1) {
      const before = await read(userId);
      const record = change(before.record);
      if (!record) return false;
      const { outcome } = await store.commit({
        expect: [expectUnchanged(before)],
        write: [put(KEYS.signIns(userId), record)],
        quiet: true,
      });
      if (outcome === 'committed') return true;
    }
    return false;
  }

  async function noted(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      log.info({ err: error }, what);
    }
  }

  /** What is not written now is written with the next failure. */
  async function writeFailures(userId: string, here: Remembered): Promise<void> {
    const { failures, failedAt } = here;
    const isWritten = await write(userId, (record) => ({
      ...record,
      failures: record.failures + failures,
      failedAt: Math.max(record.failedAt, failedAt),
    }));
    if (isWritten) here.failures = Math.max(0, here.failures - failures);
  }

  return {
    async charge(attempt, mark) {
      const { record } = await read(attempt.userId ?? NOBODY);
      const here = remember(nameOf(attempt));
      const now = clock.now();
      if (mark === undefined || !record.browsers.includes(digest(mark))) {
        const failedAt = Math.max(record.failedAt, here.failedAt);
        const seconds = waitOf(record.failures + here.failures, failedAt, now);
        if (seconds !== undefined) return seconds;
      }
      here.failures += 1;
      here.failedAt = now;
      return undefined;
    },
    release(attempt) {
      const here = remembered.get(nameOf(attempt));
      if (here) here.failures = Math.max(0, here.failures - 1);
    },
    failed(attempt) {
      const { userId } = attempt;
      const here = remember(nameOf(attempt));
      const now = clock.now();
      if (userId === undefined || now - here.writtenAt < WRITE_EVERY_MS) return;
      here.writtenAt = now;
      void noted('a failed sign-in could not be noted', () => writeFailures(userId, here));
    },
    async succeeded({ id, record: { passkeys } }, mark) {
      remembered.delete(id);
      await noted('a sign-in could not be noted', () =>
        write(id, (record) => {
          const others = record.browsers.filter((known) => known !== digest(mark));
          const browsers = [...others, digest(mark)].slice(-LIMITS.knownBrowsersPerUserMax);
          const times = { ...record.lastSignIns, [digest(mark)]: clock.now() };
          const lastSignIns = Object.fromEntries(Object.entries(times).filter(([known]) => browsers.includes(known)));
          return { ...record, failures: 0, counters: countersOf(record, passkeys), browsers, lastSignIns };
        }),
      );
    },
    async lastSignIn(userId, mark) {
      if (mark === undefined) return undefined;
      const { browsers, lastSignIns = {} } = (await read(userId)).record;
      return browsers.includes(digest(mark)) ? (lastSignIns[digest(mark)] ?? 0) : undefined;
    },
    count: ({ id, record: { passkeys } }, passkeyId, counter) =>
      write(id, (record) => {
        const before = record.counters[passkeyId] ?? 0;
        // Passkeys that are kept in several places do not count: their counter stays 0 (WebAuthn, 6.1.1).
        if (counter <= before && (counter !== 0 || before !== 0)) return undefined;
        return { ...record, counters: { ...countersOf(record, passkeys), [passkeyId]: counter } };
      }),
  };
}

/** The counters of the passkeys that the user still has. */
function countersOf({ counters }: SignInsRecord, passkeys: readonly { readonly id: string }[]): Record<string, number> {
  return Object.fromEntries(Object.entries(counters).filter(([id]) => passkeys.some((passkey) => passkey.id === id)));
}

/** Each failure from the bound on doubles the wait, up to the longest. A clock that was ahead makes no wait longer. */
function waitOf(failures: number, failedAt: number, now: number): number | undefined {
  const beyond = failures - LIMITS.slowFromFailures;
  if (beyond < 0) return undefined;
  const delayMs = Math.min(LIMITS.signInDelayMsMax, FIRST_DELAY_MS * 2 ** Math.min(beyond, 10));
  const leftMs = Math.min(failedAt, now) + delayMs - now;
  return leftMs <= 0 ? undefined : Math.ceil(leftMs / 1000);
}
