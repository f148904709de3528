import { hash } from 'node:crypto';
import { ABSENT, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { Log } from '../../log.ts';
import { LIMITS } from '../limits.ts';
import { parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { signInsSchema, type SignInsRecord } from '../records/user-records.ts';
import { comparableLogin } from './user-state.ts';

/**
 * The attempts to sign in as somebody. From `LIMITS.slowFromFailures` on each further one must wait longer, but for a
 * browser that the user has signed in from before: nobody locks a user out of his own browser. What is written are small
 * quiet records (ADR 0004), at most one a second and user; of a name that nobody has, this replica remembers as much, so
 * that nobody learns which names there are.
 */
export interface SignIns {
  /**
   * @param userId undefined where nobody has this login
   * @param mark of the browser, as its cookie has it
   * @returns seconds to wait before the next attempt; undefined where one may be made now
   * @throws StoreUnavailable; BadRecord
   */
  waitSeconds(login: string, userId: string | undefined, mark: string | undefined): Promise<number | undefined>;
  /** Notes a failure. Never throws: the refusal does not depend on it. */
  failed(login: string, userId: string | undefined): Promise<void>;
  /** Notes a success from a browser. Never throws. */
  succeeded(userId: string, mark: string): Promise<void>;
  /** The signature counter of a passkey at its last use. @throws StoreUnavailable; BadRecord */
  counterOf(userId: string, passkeyId: string): Promise<number>;
  /** Notes the counter of a passkey. @returns false where it went back or stood still: a copy of it is in use */
  count(userId: string, passkeyId: string, counter: number): Promise<boolean>;
}

export interface SignInsDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

interface Failures {
  readonly failures: number;
  readonly failedAt: number;
}

const NONE: SignInsRecord = { failures: 0, failedAt: 0, counters: {}, browsers: [] };
const WRITE_EVERY_MS = 1000;
const FIRST_DELAY_MS = 1000;
/** Names that this replica remembers failures of; the oldest are forgotten first. */
const REMEMBERED_MAX = 10_000;
const COMMIT_ATTEMPTS_MAX = 5;

const digest = (text: string): string => hash('sha256', text, 'base64url');

/** Creates the notes of attempts; see `SignIns`. */
export function createSignIns(deps: SignInsDeps): SignIns {
  const { store, clock, log } = deps;
  /** Failures that are in no record yet, or never will be, by login. */
  const remembered = new Map<string, Failures & { readonly writtenAt: number }>();

  function remember(key: string, failures: Failures & { readonly writtenAt: number }): void {
    remembered.delete(key);
    remembered.set(key, failures);
    const [oldest] = remembered.keys();
    if (remembered.size > REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest);
  }

  async function read(userId: string): Promise<Versioned<SignInsRecord>> {
    const entry = await store.get(KEYS.signIns(userId));
    return entry ? parseRecord(signInsSchema, entry) : { record: NONE, revision: ABSENT };
  }

  async function write(userId: string, change: (record: SignInsRecord) => SignInsRecord | undefined): Promise<boolean> {
    for (let attempt = 1; attempt <= COMMIT_ATTEMPTS_MAX; attempt += 1) {
      const before = await read(userId);
      const record = change(before.record);
      if (!record) return false;
      const { outcome } = await store.commit({
        expect: [{ key: KEYS.signIns(userId), revision: before.revision }],
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

  return {
    async waitSeconds(login, userId, mark) {
      const key = digest(comparableLogin(login));
      const here = remembered.get(key);
      const record = userId === undefined ? NONE : (await read(userId)).record;
      if (mark !== undefined && record.browsers.includes(digest(mark))) return undefined;
      const failures = record.failures + (here?.failures ?? 0);
      return waitOf({ failures, failedAt: Math.max(record.failedAt, here?.failedAt ?? 0) }, clock.now());
    },
    async failed(login, userId) {
      const key = digest(comparableLogin(login));
      const here = remembered.get(key) ?? { failures: 0, failedAt: 0, writtenAt: 0 };
      const now = clock.now();
      const failures = here.failures + 1;
      if (userId === undefined || now - here.writtenAt < WRITE_EVERY_MS) {
        return remember(key, { ...here, failures, failedAt: now });
      }
      remember(key, { failures: 0, failedAt: now, writtenAt: now });
      await noted('a failed sign-in could not be noted', () =>
        write(userId, (record) => ({ ...record, failures: record.failures + failures, failedAt: now })),
      );
    },
    async succeeded(userId, mark) {
      await noted('a sign-in could not be noted', () =>
        write(userId, (record) => {
          const browsers = [...record.browsers.filter((known) => known !== digest(mark)), digest(mark)];
          return { ...record, failures: 0, browsers: browsers.slice(-LIMITS.knownBrowsersPerUserMax) };
        }),
      );
    },
    async counterOf(userId, passkeyId) {
      return (await read(userId)).record.counters[passkeyId] ?? 0;
    },
    count: (userId, passkeyId, counter) =>
      write(userId, (record) => {
        const before = record.counters[passkeyId] ?? 0;
        // Passkeys that are kept in several places do not count: their counter stays 0 (WebAuthn, 6.1.1).
        if (counter <= before && (counter !== 0 || before !== 0)) return undefined;
        return { ...record, counters: { ...record.counters, [passkeyId]: counter } };
      }),
  };
}

/** Each failure from the bound on doubles the wait, up to the longest. */
function waitOf({ failures, failedAt }: Failures, now: number): number | undefined {
  const beyond = failures - LIMITS.slowFromFailures;
  if (beyond < 0) return undefined;
  const delayMs = Math.min(LIMITS.signInDelayMsMax, FIRST_DELAY_MS * 2 ** Math.min(beyond, 10));
  const leftMs = failedAt + delayMs - now;
  return leftMs <= 0 ? undefined : Math.ceil(leftMs / 1000);
}
