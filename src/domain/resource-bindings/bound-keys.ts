import { expectUnchanged, type Store } from '../../store/port.ts';
import { existing } from '../accounts/accounts.ts';
import { keyCreationStep, refusePastExpiry } from '../accounts/api-keys.ts';
import type { Precondition } from '../mutation/authority.ts';
import { mutate } from '../mutation/mutation.ts';
import { StaleRead } from '../mutation/stale-read.ts';
import { withParts, type MutationDeps, type Origin } from '../mutation/step.ts';
import { keyFields } from '../records/key-expiry.ts';
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
  /** The id of the key that it replaces: where that was revoked meanwhile, nothing replaces it. */
  readonly follows?: string;
}

/** The operations on API keys for custom resources, beside `ApiKeys`. */
export interface BoundKeys {
  /**
   * Registers a key under its id, once.
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
    const former = follows === undefined ? undefined : await account.apiKey(follows);
    if (follows !== undefined && !former) throw new StaleRead(`The key ${follows} was revoked meanwhile.`);
    if (await deps.store.get(KEYS.keyLocator(keyId))) throw new Refusal('not_found', 'The key id was used before.');
    if (expiresAt !== undefined) refusePastExpiry(origin, expiresAt);
    const record = { name, ...keyFields(hash, expiresAt), createdAt: origin.at };
    const step = await keyCreationStep(account, keyId, record);
    return withParts(step, former && { expect: [expectUnchanged(former)] }, precondition);
  });
}
