import { ABSENT, type Store } from '../../store/port.ts';
import { existing } from '../accounts/accounts.ts';
import { StaleRead } from '../mutation/stale-read.ts';
import { LIMITS } from '../limits.ts';
import { mutate, type MutationDeps, type Origin, type Step, type Tie, type Unchanged } from '../mutation/mutation.ts';
import { KEYS, put } from '../records/records.ts';
import { Refusal } from '../refusal.ts';

/** An API key that was drawn before, and of which the plain text lies elsewhere. */
export interface DrawnKey {
  readonly keyId: string;
  /** `tokenHash` of the whole key. */
  readonly hash: string;
  readonly name: string;
  /** The key that it takes over from: where that was revoked meanwhile, nothing takes over. */
  readonly follows?: string;
}

export interface LinkedKeys {
  /**
   * Registers a key under its id, once: asked again it changes nothing, and an id that was revoked, or is another
   * key's, is refused with `not_found`.
   * @throws Refusal `invalid_request` beyond 200 keys, `not_found`; StaleRead; StoreUnavailable
   */
  register(origin: Origin, accountId: string, key: DrawnKey, tie: Tie): Promise<void>;
}

export function createLinkedKeys(deps: MutationDeps): LinkedKeys {
  return { register: (origin, accountId, key, tie) => register(deps, origin, accountId, key, tie) };
}

async function register(
  deps: MutationDeps & { readonly store: Store },
  origin: Origin,
  accountId: string,
  { keyId, hash, name, follows }: DrawnKey,
  tie: Tie,
): Promise<void> {
  await mutate<void>(deps, origin, async (reader): Promise<Step<void> | Unchanged<void>> => {
    await tie.recheck();
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
    const tally = await account.tally();
    return {
      accountId,
      action: 'key.created',
      detail: { keyId },
      expect: [
        { key: KEYS.account(accountId), revision: account.revision },
        { key: KEYS.tally(accountId), revision: tally.revision },
        { key: KEYS.keyLocator(keyId), revision: ABSENT },
        ...(former ? [{ key: KEYS.apiKey(accountId, former.id), revision: former.revision }] : []),
        ...tie.expect,
      ],
      write: [
        put(KEYS.apiKey(accountId, keyId), { name, hash, createdAt: origin.at }),
        put(KEYS.keyLocator(keyId), { accountId }),
        put(KEYS.tally(accountId), tally.record),
        ...tie.write,
      ],
      grows: true,
      result: undefined,
    };
  });
}
