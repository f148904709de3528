import { expectAbsent, expectUnchanged, type Expectation, type Store } from '../../store/port.ts';
import type { Secret } from '../credentials/secret.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { UNAUDITED_CLASSES } from '../fullness/unaudited-classes.ts';
import { LIMITS } from '../limits.ts';
import { sealingKey } from '../keys/active-key.ts';
import type { Envelope } from '../keys/envelope.ts';
import { justCommitted, parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { RefreshRecord } from '../records/user-records.ts';
import type { Clock } from '../../time/clock.ts';

/** The facts about the grant of a refresh token. */
export type Grant = Pick<RefreshRecord, 'clientId' | 'offline'>;

/**
 * A refresh token that this replica may use now: it is good once with many providers, so that one replica claims it.
 */
export interface ClaimedToken {
  readonly token: Secret;
  /** The provider granted offline access: the refusal of the token is not due to the end of a session there. */
  readonly isOffline: boolean;
  /** Another one may have come in its place, which is not known here: its refusal tells nothing. */
  readonly isPerhapsSpent: boolean;
  /** Keeps the token that came in its place. */
  replace(token: Secret): Promise<void>;
  /**
   * Hands it over to the session that takes the place of the claimed one.
   * @param isDoubtful the provider has given another one since, which may have ended this one
   */
  moveTo(sessionId: string, isDoubtful?: boolean): Promise<void>;
  /** The provider takes it no more. */
  drop(): Promise<void>;
  /** The provider has not used it up: it is as it was before the claim. */
  release(): Promise<void>;
}

/**
 * The provider's refresh tokens of sessions, sealed. A rotation of keys does not wait for them, and does not count
 * them: each renewal seals its token under the active key, so that an hour after a rotation no older key seals one. A
 * token whose key was removed sooner counts as none, and costs a new sign-in.
 */
export interface RefreshTokens {
  /** Keeps the token of a session that has begun. @throws StoreUnavailable */
  keep(sessionId: string, token: Secret, grant: Grant): Promise<void>;
  /**
   * Claims the token of a session for a while.
   * @param clientId where the provider is asked with it, the client that asks: until the answer is known the token may
   * be spent, and the token of another client is none
   * @returns `none` where there is none, `busy` where another replica is at it
   * @throws StoreUnavailable; BadRecord; ConfigurationFault where the key file of this replica is behind
   */
  claim(sessionId: string, now: number, clientId?: string): Promise<ClaimedToken | 'none' | 'busy'>;
}

const CLAIMED_MS = 60_000;
/** A token that nobody looked after for so long may be of a copy of the store, and be used up since that was made. */
const FORGOTTEN_MS = 2 * LIMITS.mappedRolesMs;
/** A restored snapshot goes on so far above its records, and more (docs/OPERATIONS.md, `--bump-revision`). */
const RESTORED_REVISIONS = 500_000_000;
const contextOf = (sessionId: string): string => `refresh:${sessionId}`;

/** Creates the keeper of refresh tokens; see `RefreshTokens`. */
export function createRefreshTokens(deps: {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly envelope: Envelope;
  readonly clock: Pick<Clock, 'now'>;
}): RefreshTokens {
  const { store, fleet, envelope, clock } = deps;

  async function sealed(sessionId: string, token: Secret, kept: Partial<RefreshRecord>): Promise<RefreshRecord> {
    const { number } = await sealingKey(await fleet.current(), envelope);
    return { at: clock.now(), ...kept, token: envelope.seal(token, contextOf(sessionId), number) };
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

  const begin = async (sessionId: string, token: Secret, kept: Partial<RefreshRecord>): Promise<void> =>
    void (await write(sessionId, expectAbsent(KEYS.refresh(sessionId)), await sealed(sessionId, token, kept)));

  /** Whoever claimed the token and is not heard of may have asked: versions before this one do not write `asked`. */
  async function isPerhapsSpent({ record, revision }: Versioned<RefreshRecord>, now: number): Promise<boolean> {
    if (record.asked === true || record.claimedUntil !== undefined) return true;
    if (now - (record.at ?? 0) > FORGOTTEN_MS) return true;
    return (await fleet.revision()) - revision > RESTORED_REVISIONS;
  }

  return {
    keep: begin,
    async claim(sessionId, now, clientId) {
      const entry = await store.get(KEYS.refresh(sessionId));
      if (!entry) return 'none';
      const found = parseRecord(KEYS.refresh, entry);
      const { token: text, claimedUntil = 0, asked: _asked, ...kept } = found.record;
      if (claimedUntil > now) return 'busy';
      const token = envelope.open(text, contextOf(sessionId));
      if (!token || (clientId !== undefined && (kept.clientId ?? clientId) !== clientId)) return 'none';
      const isSpent = await isPerhapsSpent(found, now);
      // What is not sure stays so: this write makes the record of a copy look like one of today.
      const before = { ...kept, token: text, at: now, ...(isSpent && { asked: true }) };
      const claimed = await write(sessionId, expectUnchanged(found), {
        ...before,
        claimedUntil: now + CLAIMED_MS,
        ...(clientId !== undefined && { asked: true }),
      });
      if (!claimed) return 'busy';
      const own = expectUnchanged(claimed);
      return {
        token,
        isOffline: kept.offline === true,
        isPerhapsSpent: isSpent,
        replace: async (next: Secret) =>
          void (await write(sessionId, own, await sealed(sessionId, next, { ...kept, at: clock.now() }))),
        moveTo: async (next: string, isDoubtful = false) =>
          await begin(next, token, { ...before, ...(isDoubtful && { asked: true }) }),
        drop: async () => void (await write(sessionId, own, undefined)),
        release: async () => void (await write(sessionId, own, before)),
      };
    },
  };
}
