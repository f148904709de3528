import { hash } from 'node:crypto';
import type { Log } from '../../log.ts';
import { expectUnchanged, isFull, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { generateSecretWord, type RandomSource } from '../credentials/random-ids.ts';
import type { UserEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { absent, parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { KnownBrowser, SignInsRecord } from '../records/user-records.ts';

/**
 * The browsers that a user has signed in from, and what the user's passkeys have answered: one small quiet record a
 * user. A browser has a random mark for each user, of which the store has a hash together with the user's password:
 * another password ends them all.
 */
export interface KnownBrowsers {
  /**
   * Counts an attempt in a browser as a failure before its password is compared, where the user is known by it.
   * @param user undefined where nobody has the name: it reads as much
   * @param marks of the browser, as its cookie has them
   * @returns whether the user is known by the browser
   * @throws StoreUnavailable; BadRecord
   */
  count(user: UserEntry | undefined, marks: readonly string[]): Promise<boolean>;
  /** Takes back a count: the password was right, or was not compared. Never throws. */
  takeBack(user: UserEntry, marks: readonly string[]): Promise<void>;
  /**
   * Notes a sign-in from a browser, and forgets its failures. Never throws.
   * @returns the marks that the browser has from now on
   */
  signedIn(user: UserEntry, marks: readonly string[]): Promise<readonly string[]>;
  /** Whether a user is known by a browser. @throws StoreUnavailable; BadRecord */
  knows(user: UserEntry | undefined, marks: readonly string[]): Promise<boolean>;
  /**
   * Spends the answer of a passkey, whose signature was right: its challenge is good no more, on any replica.
   * @returns false where it was spent before, or its counter went back or stood still: a copy of the passkey is in use;
   * where too many are remembered; and where others change the record at every attempt
   * @throws StoreUnavailable; BadRecord
   */
  spendAnswer(user: UserEntry, answer: PasskeyAnswer): Promise<boolean>;
}

interface PasskeyAnswer {
  readonly passkeyId: string;
  readonly challenge: string;
  /** The signature counter. */
  readonly counter: number;
}

export interface KnownBrowsersDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
}

/** With fields that the version before needs. */
const NONE: SignInsRecord = { failures: 0, failedAt: 0, counters: {}, browsers: [] };
const COMMIT_ATTEMPTS_MAX = 5;
/** Nobody has this id: the attempts of a name that nobody has read as much as those of a user. */
const NOBODY = '-';

const hashOf = ({ id, record }: UserEntry, mark: string): string =>
  hash('sha256', JSON.stringify([id, record.password?.hash ?? '', mark]), 'base64url');

/** Creates the notes; see `KnownBrowsers`. */
export function createKnownBrowsers({ store, clock, random, log }: KnownBrowsersDeps): KnownBrowsers {
  async function read(userId: string): Promise<Versioned<SignInsRecord>> {
    const key = KEYS.signIns(userId);
    const entry = await store.get(key);
    return entry ? parseRecord(KEYS.signIns, entry) : absent(key, NONE);
  }

  /** @returns false where there is nothing to change, or others change it at every attempt */
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

  const isKnown = ({ until, failures }: KnownBrowser): boolean =>
    until > clock.now() && failures < LIMITS.knownBrowserFailuresMax;

  return {
    async count(user, marks) {
      if (marks.length === 0) return false;
      if (!user) {
        await read(NOBODY);
        return false;
      }
      const hashes = new Set(marks.map((mark) => hashOf(user, mark)));
      const isOwn = (one: KnownBrowser): boolean => hashes.has(one.hash) && isKnown(one);
      try {
        return await write(user.id, (record) => {
          const { known = [] } = record;
          if (!known.some(isOwn)) return undefined;
          return { ...record, known: known.map((one) => (isOwn(one) ? { ...one, failures: one.failures + 1 } : one)) };
        });
      } catch (error) {
        // A store that is nearly full takes no more notes: the attempt is a stranger's, which it still counts.
        if (isFull(error)) return false;
        throw error;
      }
    },
    async takeBack(user, marks) {
      const hashes = new Set(marks.map((mark) => hashOf(user, mark)));
      const without = (one: KnownBrowser): KnownBrowser =>
        hashes.has(one.hash) ? { ...one, failures: Math.max(0, one.failures - 1) } : one;
      try {
        await write(user.id, (record) => ({ ...record, known: (record.known ?? []).map(without) }));
      } catch (error) {
        log.info({ err: error }, 'a sign-in could not be taken back as a failure of its browser');
      }
    },
    async signedIn(user, marks) {
      const drawn = generateSecretWord(random);
      let mark = drawn;
      try {
        await write(user.id, (record) => {
          const known = (record.known ?? []).filter(isKnown);
          const has = (one: string): boolean => known.some(({ hash: stored }) => stored === hashOf(user, one));
          mark = marks.find(has) ?? drawn;
          const own = { hash: hashOf(user, mark), until: clock.now() + LIMITS.knownBrowserMs, failures: 0 };
          const others = known.filter((one) => one.hash !== own.hash);
          const latest = [...others, own].slice(-LIMITS.knownBrowsersPerUserMax);
          return { ...record, counters: countersOf(record, user), known: latest };
        });
      } catch (error) {
        log.info({ err: error }, 'a sign-in could not be noted: its browser is not known');
      }
      return [...marks.filter((one) => one !== mark), mark].slice(-LIMITS.usersPerBrowserMax);
    },
    async knows(user, marks) {
      if (!user || marks.length === 0) return false;
      const hashes = new Set(marks.map((mark) => hashOf(user, mark)));
      const { known = [] } = (await read(user.id)).record;
      return known.some((one) => hashes.has(one.hash) && isKnown(one));
    },
    spendAnswer: (user, { passkeyId, challenge, counter }) =>
      write(user.id, (record) => {
        const now = clock.now();
        const hashed = hash('sha256', challenge, 'base64url');
        const answered = (record.answered ?? []).filter(({ until }) => until > now);
        if (answered.length >= LIMITS.passkeyAnswersKeptMax || answered.some((one) => one.hash === hashed))
          return undefined;
        const spent = [...answered, { hash: hashed, until: now + LIMITS.passkeyAnswerKeptMs }];
        const before = record.counters[passkeyId] ?? 0;
        // Passkeys that are kept in several places do not count: their counter stays 0 (WebAuthn, 6.1.1).
        if (counter <= before && (counter !== 0 || before !== 0)) return undefined;
        return { ...record, answered: spent, counters: { ...countersOf(record, user), [passkeyId]: counter } };
      }),
  };
}

/** The counters of the passkeys that the user still has. */
function countersOf({ counters }: SignInsRecord, { record: { passkeys } }: UserEntry): Record<string, number> {
  return Object.fromEntries(Object.entries(counters).filter(([id]) => passkeys.some((passkey) => passkey.id === id)));
}
