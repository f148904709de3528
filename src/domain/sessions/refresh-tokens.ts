import { expectAbsent, expectUnchanged, type Expectation, type Store } from '../../store/port.ts';
import type { Secret } from '../credentials/secret.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { UNAUDITED_CLASSES } from '../fullness/unaudited-classes.ts';
import { sealingKey } from '../keys/active-key.ts';
import type { Envelope } from '../keys/envelope.ts';
import { justCommitted, parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { RefreshRecord } from '../records/user-records.ts';

/**
 * A refresh token that this replica may use now: it is good once with many providers, so that one replica claims it.
 */
export interface ClaimedToken {
  readonly token: Secret;
  /** Keeps the token that came in its place. */
  replace(token: Secret): Promise<void>;
}

/**
 * The provider's refresh tokens of sessions, sealed. A rotation of keys does not wait for them, and does not count
 * them: each renewal seals its token under the active key, so that an hour after a rotation no older key seals one. One
 * whose key was removed sooner is as one that never was, and costs a new sign-in.
 */
export interface RefreshTokens {
  /** Keeps the token of a session that has begun. @throws StoreUnavailable */
  keep(sessionId: string, token: Secret): Promise<void>;
  /**
   * Claims the token of a session for a while.
   * @returns `none` where there is none, `busy` where another replica is at it
   * @throws StoreUnavailable; BadRecord; ConfigurationFault where the key file of this replica is behind
   */
  claim(sessionId: string, now: number): Promise<ClaimedToken | 'none' | 'busy'>;
}

const CLAIMED_MS = 60_000;
const contextOf = (sessionId: string): string => `refresh:${sessionId}`;

/** Creates the keeper of refresh tokens; see `RefreshTokens`. */
export function createRefreshTokens(deps: {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly envelope: Envelope;
}): RefreshTokens {
  const { store, fleet, envelope } = deps;

  async function sealed(sessionId: string, token: Secret): Promise<RefreshRecord> {
    const { number } = await sealingKey(await fleet.current(), envelope);
    return { token: envelope.seal(token, contextOf(sessionId), number) };
  }

  /** @returns the record as it then is; undefined after a conflict */
  async function write(
    sessionId: string,
    expected: Expectation,
    record: RefreshRecord | undefined,
  ): Promise<Versioned<RefreshRecord | undefined> | undefined> {
    const key = KEYS.refresh(sessionId);
    const result = await store.commit({
      expect: [expected],
      write: [record ? put(key, record) : { remove: key }],
      writeClass: UNAUDITED_CLASSES.refreshTokenKept,
      quiet: true,
    });
    return result.outcome === 'committed' ? justCommitted(key, record, result) : undefined;
  }

  return {
    async keep(sessionId, token) {
      await write(sessionId, expectAbsent(KEYS.refresh(sessionId)), await sealed(sessionId, token));
    },
    async claim(sessionId, now) {
      const entry = await store.get(KEYS.refresh(sessionId));
      if (!entry) return 'none';
      const found = parseRecord(KEYS.refresh, entry);
      const { record } = found;
      if ((record.claimedUntil ?? 0) > now) return 'busy';
      const token = envelope.open(record.token, contextOf(sessionId));
      if (!token) return 'none';
      const claimed = await write(sessionId, expectUnchanged(found), { ...record, claimedUntil: now + CLAIMED_MS });
      if (!claimed) return 'busy';
      const own = expectUnchanged(claimed);
      return {
        token,
        replace: async (next: Secret) => void (await write(sessionId, own, await sealed(sessionId, next))),
      };
    },
  };
}
