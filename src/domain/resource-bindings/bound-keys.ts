import { ABSENT, type Store } from '../../store/port.ts';
import { existing } from '../accounts/accounts.ts';
import { LIMITS } from '../limits.ts';
import type { Precondition } from '../mutation/authority.ts';
import { mutate } from '../mutation/mutation.ts';
import { StaleRead } from '../mutation/stale-read.ts';
import type { MutationDeps, Origin, Step, Unchanged } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';

/** An API key that was drawn before, and of which the plain text lies elsewhere. */
export interface GeneratedKey {
  readonly keyId: string;
  /** `tokenHash` of the whole key. */
  readonly hash: string;
  readonly name: string;
  /** The key that it takes over from: where that was revoked meanwhile, nothing takes over. */
  readonly follows?: string;
}

export interface BoundKeys {
  /**
   * Registers a key under its id, once: asked again it changes nothing, and an id that was revoked, or is another
   * key's, is refused with `not_found`.
   * @throws Refusal `invalid_request` beyond 200 keys, `not_found`; StaleRead; StoreUnavailable
   */
  register(origin: Origin, accountId: string, key: GeneratedKey, precondition: Precondition): Promise<void>;
}

export function createBoundKeys(deps: MutationDeps): BoundKeys {
  return { register: (origin, accountId, key, precondition) => register(deps, origin, accountId, key, precondition) };
}

async function register(
  deps: MutationDeps & { readonly store: Store },
  origin: Origin,
  accountId: string,
  { keyId, hash, name, follows }: GeneratedKey,
  precondition: Precondition,
): Promise<void> {
  await mutate<void>(deps, origin, async (reader): Promise<Step<void> | Unchanged<void>> => {
    await precondition.recheck();
    const account = await existing(reader, accountId);
    const former = follows === undefined ? undefined : await account.apiKey(follows);
    if (follows !== undefined && !former) throw new StaleRead(`The key ${follows} was revoked meanwhile.`);
    if (await deps.store.get(KEYS.keyLocator(keyId))) throw new Refusal('not_found', 'The key id was used before.');
    if ((await account.apiKeys()).length >= LIMITS.apiKeysPerAccountMax) {
      throw new Refusal(
        'invalid_request',
        `The account has ${LIMITS.apiKeysPerAccountMax} API keys; revoke one first.`,
      );
    }
    const counters = await account.counters();
    return {
      accountId,
      action: 'key.created',
      detail: { keyId },
      expect: [
        { key: KEYS.account(accountId), revision: account.revision },
        { key: KEYS.counters(accountId), revision: counters.revision },
        { key: KEYS.keyLocator(keyId), revision: ABSENT },
        ...(former ? [{ key: KEYS.apiKey(accountId, former.id), revision: former.revision }] : []),
        ...precondition.expect,
      ],
      write: [
        put(KEYS.apiKey(accountId, keyId), { name, hash, createdAt: origin.at }),
        put(KEYS.keyLocator(keyId), { accountId }),
        put(KEYS.counters(accountId), counters.record),
        ...precondition.write,
      ],
      grows: true,
      result: undefined,
    };
  });
}
