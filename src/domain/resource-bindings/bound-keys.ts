import { expectUnchanged, type Store } from '../../store/port.ts';
import { existing } from '../accounts/accounts.ts';
import { refusePastExpiry } from '../accounts/api-key-changes.ts';
import { keyCreationStep } from '../accounts/api-keys.ts';
import type { Precondition } from '../mutation/authority.ts';
import { mutate } from '../mutation/mutation.ts';
import { StaleRead } from '../mutation/stale-read.ts';
import { withParts, type MutationDeps, type Origin } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { endingBy, keyFields } from '../records/key-expiry.ts';
import { KEYS } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';

/** An API key that was generated before; its text is in a Secret of Kubernetes. */
interface GeneratedKey {
  readonly keyId: string;
  /** `tokenHash` of the whole key. */
  readonly hash: string;
  readonly name: string;
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
}

/** Creates the operations on API keys for custom resources; see `BoundKeys`. */
export function createBoundKeys(deps: MutationDeps): BoundKeys {
  return { register: (origin, accountId, key, precondition) => register(deps, origin, accountId, key, precondition) };
}

async function register(
  deps: MutationDeps & { readonly store: Store },
  origin: Origin,
  accountId: string,
  { keyId, hash, name, expiresAt, follows }: GeneratedKey,
  precondition: Precondition,
): Promise<void> {
  await mutate<void>(deps, origin, async (reader) => {
    await precondition.recheck();
    const account = await existing(reader, accountId);
    const former = follows && (await account.apiKey(follows.keyId));
    if (follows && !former) throw new StaleRead(`The key ${follows.keyId} was revoked meanwhile.`);
    if (await deps.store.get(KEYS.keyLocator(keyId))) throw new Refusal('not_found', 'The key id was used before.');
    if (expiresAt !== undefined) refusePastExpiry(origin, expiresAt);
    const record = { name, ...keyFields(hash, expiresAt), createdAt: origin.at };
    const step = await keyCreationStep(account, keyId, record);
    const ends = follows &&
      former && {
        expect: [expectUnchanged(former)],
        write: [put(KEYS.apiKey(accountId, former.id), endingBy(former.record, follows.validUntil))],
      };
    return withParts(step, ends, precondition);
  });
}
