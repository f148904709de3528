import { expectUnchanged, type Store } from '../../store/port.ts';
import { existing } from '../accounts/accounts.ts';
import { refusePastExpiry, rotationStep } from '../accounts/api-key-changes.ts';
import { keyCreationStep } from '../accounts/api-keys.ts';
import type { Precondition } from '../mutation/authority.ts';
import { mutate } from '../mutation/mutation.ts';
import { StaleRead } from '../mutation/stale-read.ts';
import { withParts, type MutationDeps, type Origin, type Step } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { hashOfKey, keyFields, restrictedTo } from '../key-validity/key-expiry.ts';
import { isLoss, restrictionOf, scopeDetail, scopeOf, WHOLE, type KeyScope } from '../key-validity/key-restriction.ts';
import { KEYS } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';

/** An API key that was generated before; its text is in a Secret of Kubernetes. */
interface GeneratedKey {
  readonly keyId: string;
  /** `tokenHash` of the whole key. */
  readonly hash: string;
  readonly name: string;
  /** A key of the whole account, from everywhere, without it. */
  readonly scope?: KeyScope;
  /** Milliseconds since 1970; undefined where it does not expire. */
  readonly expiresAt?: number | undefined;
}

/** Another secret of a key, generated before; its text is in a Secret of Kubernetes. */
type GeneratedSecret = Omit<GeneratedKey, 'scope'> & {
  /** The secret before it works until then, in milliseconds since 1970. */
  readonly formerUntil: number;
  /** The secret and the end of the key that it replaces: what somebody has changed meanwhile stays. */
  readonly replaces: Pick<GeneratedKey, 'hash' | 'expiresAt'>;
};

/** The operations on API keys for custom resources, beside `ApiKeys`. */
export interface BoundKeys {
  /**
   * Registers a key under its id, once.
   * @throws Refusal `invalid_request` beyond `LIMITS.apiKeysPerAccountMax` and for an expiry that is past, `not_found`
   * where the account does not exist or the id was used before; StaleRead where the precondition does not hold;
   * StoreUnavailable, Busy
   */
  register(origin: Origin, accountId: string, key: GeneratedKey, precondition: Precondition): Promise<void>;
  /**
   * Gives a key another secret, its end and its name, as `ApiKeys.rotate` does. The former secret ends at its time by
   * itself, also where nobody looks after the resource any more; what the key may do stays as it is.
   * @throws Refusal `invalid_request` for an expiry that is past; StaleRead where the precondition does not hold or the
   * key was revoked or has another secret or end; StoreUnavailable, Busy
   */
  rotate(origin: Origin, accountId: string, secret: GeneratedSecret, precondition: Precondition): Promise<void>;
  /**
   * Lets a key do what its resource says: less from the answer on (A12), or more.
   * @throws Refusal `not_found`; StaleRead where the precondition does not hold; StoreUnavailable, Busy
   */
  setScope(
    origin: Origin,
    accountId: string,
    change: { readonly keyId: string; readonly scope: KeyScope },
    precondition: Precondition,
  ): Promise<void>;
}

/** Creates the operations on API keys for custom resources; see `BoundKeys`. */
export function createBoundKeys(deps: MutationDeps): BoundKeys {
  return {
    register: (origin, accountId, key, precondition) => register(deps, origin, accountId, key, precondition),
    rotate: (origin, accountId, secret, precondition) => rotate(deps, origin, accountId, secret, precondition),
    async setScope(origin, accountId, { keyId, scope }, precondition) {
      await mutate<void>(deps, origin, async (reader) => {
        await precondition.recheck();
        const key = await (await existing(reader, accountId)).apiKey(keyId);
        if (!key) throw new Refusal('not_found');
        const before = scopeOf(key.record);
        const step: Step<void> = {
          accountId,
          action: 'key.changed',
          detail: { keyId, ...scopeDetail(scope, before) },
          withdraws: isLoss(before, scope),
          expect: [expectUnchanged(key)],
          write: [put(KEYS.apiKey(accountId, keyId), restrictedTo(key.record, restrictionOf(scope)))],
          result: undefined,
        };
        return withParts(step, precondition);
      });
    },
  };
}

async function register(
  deps: MutationDeps & { readonly store: Store },
  origin: Origin,
  accountId: string,
  { keyId, hash, name, scope = WHOLE, expiresAt }: GeneratedKey,
  precondition: Precondition,
): Promise<void> {
  await mutate<void>(deps, origin, async (reader) => {
    await precondition.recheck();
    const account = await existing(reader, accountId);
    if (await deps.store.get(KEYS.keyLocator(keyId))) throw new Refusal('not_found', 'The key id was used before.');
    if (expiresAt !== undefined) refusePastExpiry(origin, expiresAt);
    const record = { name, ...keyFields(hash, expiresAt, restrictionOf(scope)), createdAt: origin.at };
    return withParts(await keyCreationStep(account, keyId, record), precondition);
  });
}

async function rotate(
  deps: MutationDeps,
  origin: Origin,
  accountId: string,
  { keyId, name, hash, expiresAt, formerUntil, replaces }: GeneratedSecret,
  precondition: Precondition,
): Promise<void> {
  await mutate<void>(deps, origin, async (reader) => {
    await precondition.recheck();
    const key = await (await existing(reader, accountId)).apiKey(keyId);
    if (!key) throw new StaleRead(`The key ${keyId} was revoked meanwhile.`);
    if (hashOfKey(key.record) !== replaces.hash || key.record.expiring?.expiresAt !== replaces.expiresAt) {
      throw new StaleRead(`The key ${keyId} has another secret or end meanwhile.`);
    }
    if (expiresAt !== undefined) refusePastExpiry(origin, expiresAt);
    const step = rotationStep(accountId, key, { hash, expiresAt, formerUntil, name }, origin);
    return withParts({ ...step, result: undefined }, precondition);
  });
}
