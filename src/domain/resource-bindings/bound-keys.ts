import { expectUnchanged, type Store } from '../../store/port.ts';
import { existing } from '../accounts/accounts.ts';
import { refusePastExpiry } from '../accounts/api-key-changes.ts';
import { keyCreationStep } from '../accounts/api-keys.ts';
import type { Precondition } from '../mutation/authority.ts';
import { mutate } from '../mutation/mutation.ts';
import { StaleRead } from '../mutation/stale-read.ts';
import { withParts, type MutationDeps, type Origin, type Step } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { endingBy, keyFields, restrictedTo } from '../key-validity/key-expiry.ts';
import {
  isLoss,
  isWithin,
  restrictionOf,
  scopeDetail,
  scopeOf,
  WHOLE,
  type KeyScope,
} from '../key-validity/key-restriction.ts';
import { KEYS } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';

/** An API key that was generated before; its text is in a Secret of Kubernetes. */
interface GeneratedKey {
  readonly keyId: string;
  /** `tokenHash` of the whole key. */
  readonly hash: string;
  readonly name: string;
  /** A key of the whole account, from everywhere, without it; one that follows another does no more than that. */
  readonly scope?: KeyScope;
  /** Milliseconds since 1970; undefined where it does not expire. */
  readonly expiresAt?: number | undefined;
  /** The key that it replaces, and when that ends: where it was revoked meanwhile, nothing replaces it. */
  readonly follows?: { readonly keyId: string; readonly validUntil: number };
}

/** The operations on API keys for custom resources, beside `ApiKeys`. */
export interface BoundKeys {
  /**
   * Registers a key under its id, once. The key that it replaces ends at its time by itself, also where nobody looks
   * after its resource any more.
   * @throws Refusal `invalid_request` beyond `LIMITS.apiKeysPerAccountMax` and for an expiry that is past, `not_found`
   * where the account does not exist or the id was used before; StaleRead where the precondition does not hold or the
   * key that it replaces was revoked; StoreUnavailable, Busy
   */
  register(origin: Origin, accountId: string, key: GeneratedKey, precondition: Precondition): Promise<void>;
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
  { keyId, hash, name, scope = WHOLE, expiresAt, follows }: GeneratedKey,
  precondition: Precondition,
): Promise<void> {
  await mutate<void>(deps, origin, async (reader) => {
    await precondition.recheck();
    const account = await existing(reader, accountId);
    const former = follows && (await account.apiKey(follows.keyId));
    if (follows && !former) throw new StaleRead(`The key ${follows.keyId} was revoked meanwhile.`);
    if (await deps.store.get(KEYS.keyLocator(keyId))) throw new Refusal('not_found', 'The key id was used before.');
    if (expiresAt !== undefined) refusePastExpiry(origin, expiresAt);
    // The key that it replaces may have been narrowed while this one was on its way.
    const limit = former && scopeOf(former.record);
    const restriction = restrictionOf(limit && !isWithin(scope, limit) ? limit : scope);
    const record = {
      name,
      ...keyFields(hash, expiresAt, restriction),
      createdAt: origin.at,
      ...(former && { firstKeyId: former.record.firstKeyId ?? former.id }),
    };
    const step = await keyCreationStep(account, keyId, record);
    const ends = follows &&
      former && {
        expect: [expectUnchanged(former)],
        write: [put(KEYS.apiKey(accountId, former.id), endingBy(former.record, follows.validUntil))],
      };
    return withParts(step, ends, precondition);
  });
}
