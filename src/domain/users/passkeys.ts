import { expectAbsent, expectUnchanged, type Store, type Write } from '../../store/port.ts';
import type { FleetReader, UserEntry } from '../fleet/reader.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { LIMITS } from '../limits.ts';
import type { MutationAction } from '../mutation/actions.ts';
import { mutate } from '../mutation/mutation.ts';
import type { MutationDeps, Origin, Step } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { PasskeyRecord, UserRecord } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import { canSignIn, identityId, identityKey, passkeyKey, withAddition, withoutIdentities } from './user-state.ts';
import { replacingStep, type Replacement } from './replaced-session.ts';
import { endings, existingUser, type UserDeps } from './users.ts';

/**
 * The passkeys of users: credentials of WebAuthn, each of one user. Whoever changes them goes on in another session,
 * which begins in the same commit.
 */
export interface Passkeys {
  /** The user of a passkey; undefined where nobody has it. @throws StoreUnavailable; BadRecord */
  userOf(passkeyId: string): Promise<UserEntry | undefined>;
  /**
   * Adds a passkey.
   * @throws Refusal `not_found`, `conflict` where somebody has it, or there are `LIMITS.passkeysPerUserMax`;
   * StoreUnavailable; Busy
   */
  add(origin: Origin, passkey: PasskeyRecord, replacement: Replacement): Promise<void>;
  /**
   * Removes a passkey.
   * @throws Refusal `not_found`, `conflict` where it is the last way to sign in; StoreUnavailable; Busy
   */
  remove(origin: Origin, passkeyId: string, replacement: Replacement): Promise<void>;
}

/** Creates the operations on passkeys; see `Passkeys`. */
export function createPasskeys(deps: UserDeps): Passkeys {
  return {
    userOf: (passkeyId) => userOf(deps, passkeyId),
    add: (origin, passkey, replacement) => add(deps, origin, passkey, replacement),
    remove: (origin, passkeyId, replacement) => remove(deps, origin, passkeyId, replacement),
  };
}

async function userOf(
  { store, fleet }: { readonly store: Store; readonly fleet: Fleet },
  passkeyId: string,
): Promise<UserEntry | undefined> {
  const entry = await store.get(passkeyKey(passkeyId));
  if (!entry) return undefined;
  const user = await (await fleet.current()).user(parseRecord(KEYS.passkey, entry).record.userId);
  return user?.record.passkeys.some(({ id }) => id === passkeyId) === true ? user : undefined;
}

async function add(
  deps: MutationDeps,
  origin: Origin,
  passkey: PasskeyRecord,
  replacement: Replacement,
): Promise<void> {
  const { userId } = replacement.session.record;
  await mutate<void>(deps, origin, async (reader) => {
    const user = await existingUser(reader, userId);
    if (user.record.passkeys.length >= LIMITS.passkeysPerUserMax) {
      throw new Refusal('conflict', `You have ${LIMITS.passkeysPerUserMax} passkeys; remove one first.`);
    }
    const key = passkeyKey(passkey.id);
    if (await deps.store.get(key)) throw new Refusal('conflict', 'This passkey is added already.');
    const record = withAddition(user.record, origin, { kind: 'passkey', name: passkey.name });
    return {
      ...ownStep('passkey.added', user, origin, replacement),
      expect: [expectUnchanged(user), expectAbsent(key)],
      write: [
        put(KEYS.user(userId), { ...record, passkeys: [...user.record.passkeys, passkey] }),
        put(key, { userId }),
      ],
    };
  });
}

async function remove(deps: UserDeps, origin: Origin, passkeyId: string, replacement: Replacement): Promise<void> {
  const { userId } = replacement.session.record;
  await mutate<void>(deps, origin, async (reader) => {
    const user = await existingUser(reader, userId);
    const passkeys = user.record.passkeys.filter(({ id }) => id !== passkeyId);
    if (passkeys.length === user.record.passkeys.length) throw new Refusal('not_found');
    const record = { ...user.record, passkeys };
    refuseLastWay(deps, record);
    return {
      ...ownStep('passkey.removed', user, origin, replacement),
      expect: [expectUnchanged(user)],
      write: [put(KEYS.user(userId), record), { remove: passkeyKey(passkeyId) }],
    };
  });
}

/** The step of a change that a user makes to their own ways in: the session in use gets another token with it. */
export const ownStep = (
  action: MutationAction,
  { id }: UserEntry,
  origin: Pick<Origin, 'client'>,
  replacement: Replacement,
  detail: Step<void>['detail'] = {},
) =>
  ({
    accountId: OPERATOR_AUDIT,
    action,
    detail: { userId: id, ...(origin.client !== undefined && { client: origin.client }), ...detail },
    first: [replacingStep(replacement, origin)],
    result: undefined,
  }) as const;

/** @throws Refusal `conflict` where the user could sign in no more */
export function refuseLastWay({ ways }: Pick<UserDeps, 'ways'>, record: UserRecord): void {
  if (canSignIn(record, ways)) return;
  throw new Refusal('conflict', 'This is the last way in which you can sign in: add another one first.');
}

/** Another password of a user. */
export interface PasswordChange {
  /** As it is stored. */
  readonly hashed: string;
  /** Whether the user, as each attempt reads him, is still the one who was judged. */
  readonly holds: (user: UserEntry) => boolean;
  /** The session that makes the change goes on as another one; every other one ends. */
  readonly replacement: Replacement;
  /** The ids of passkeys and identities that go with it; what is gone already is passed over. */
  readonly removedPasskeys: readonly string[];
  readonly unlinkedIdentities: readonly string[];
}

/**
 * Sets the password of a user, and ends his other sessions in the same commit.
 * @throws Refusal `not_found`, `sign_in_failed` where it does not hold; StoreUnavailable; Busy
 */
export async function setPassword(deps: MutationDeps, origin: Origin, change: PasswordChange): Promise<void> {
  const { hashed, holds, replacement, removedPasskeys, unlinkedIdentities } = change;
  const { userId } = replacement.session.record;
  await mutate<void>(deps, origin, async (reader: FleetReader) => {
    const user = await existingUser(reader, userId);
    // Two changes at once: the second one was judged by a password that is none any more.
    if (!holds(user)) throw new Refusal('sign_in_failed');
    const removed = user.record.passkeys.filter(({ id }) => removedPasskeys.includes(id));
    const unlinked = user.record.identities.filter((identity) => unlinkedIdentities.includes(identityId(identity)));
    const record: UserRecord = {
      ...withoutIdentities(user.record, unlinked, origin.at),
      passkeys: user.record.passkeys.filter((passkey) => !removed.includes(passkey)),
      password: { hash: hashed, at: origin.at },
    };
    return {
      ...ownStep('password.changed', user, origin, replacement, {
        ...(removed.length > 0 && { passkeysRemoved: removed.length }),
        ...(unlinked.length > 0 && { identitiesUnlinked: unlinked.length }),
      }),
      expect: [expectUnchanged(user)],
      write: [
        put(KEYS.user(userId), record),
        ...removed.map(({ id }): Write => ({ remove: passkeyKey(id) })),
        ...unlinked.map((identity): Write => ({ remove: identityKey(identity) })),
        ...(await endings(reader, userId, replacement.replaced)),
      ],
    };
  });
}
