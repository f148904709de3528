import { expectAbsent, expectUnchanged } from '../../store/port.ts';
import * as z from 'zod';
import { Secret } from '../credentials/secret.ts';
import { generateApiKey, tokenHash } from '../credentials/tokens.ts';
import type { AccountReader, FleetReader } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { NO_PRECONDITION, type Precondition } from '../mutation/authority.ts';
import type { IdempotencyKey } from '../mutation/idempotency.ts';
import { mutate } from '../mutation/mutation.ts';
import type { Created, OperatorCreates } from '../mutation/operator-creates.ts';
import { withParts, type MutationDeps, type Origin, type Step } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { ApiKeyRecord } from '../records/account-records.ts';
import { Refusal } from '../refusal.ts';
import { existing } from './accounts.ts';
import { keyFields } from '../key-validity/key-expiry.ts';
import { restrictionOf, scopeDetail, scopeOf, type KeyScope } from '../key-validity/key-restriction.ts';
import type { LastUses } from '../last-uses/last-uses.ts';
import {
  changeKey,
  endFormer,
  keptScope,
  refusePastExpiry,
  rotate,
  type FormerSecret,
  type KeyChange,
  type RotatedKey,
} from './api-key-changes.ts';
import { notedByMaker } from './key-maker.ts';
import { listedKey, type ApiKey, type ListedApiKey } from './listed-key.ts';

/** A key that was created, with its text. */
interface NewlyMadeKey extends ApiKey {
  readonly apiKey: Secret;
}

interface NewApiKey extends Partial<KeyScope> {
  readonly name: string;
  readonly expiresAt?: number | undefined;
}

interface ApiKeysDeps extends MutationDeps {
  readonly keyUses: Pick<LastUses, 'usesAndCalls'>;
  readonly operatorCreates: OperatorCreates;
}

/** The operator's operations on the API keys of an account. */
export interface ApiKeys {
  /**
   * Creates a key. Its text is in this result alone: the store keeps a hash, and for an Idempotency-Key the encrypted
   * answer for 24 hours (H19).
   * @throws Refusal `not_found`, `invalid_request` beyond `LIMITS.apiKeysPerAccountMax`, for an expiry that is past,
   * for any while a replica does not know of it, and where the Idempotency-Key was used with another content;
   * StoreUnavailable, Busy
   */
  create(
    origin: Origin,
    accountId: string,
    key: NewApiKey,
    idempotency?: IdempotencyKey,
  ): Promise<Created<NewlyMadeKey>>;
  /** Lists the keys, oldest first. @throws Refusal `not_found`; StoreUnavailable */
  list(accountId: string): Promise<readonly ListedApiKey[]>;
  /**
   * Gives a key another secret, whose text is in this result alone, as that of a new key. The secret before it works on
   * for the grace, and one former secret at most: the one before that ends with the answer. All end with the key.
   * @throws Refusal `not_found`, `conflict` where the key has expired, `invalid_request` where the Idempotency-Key was
   * used with another content; StoreUnavailable, Busy
   */
  rotate(
    origin: Origin,
    accountId: string,
    rotation: { readonly keyId: string; readonly graceSeconds: number },
    idempotency?: IdempotencyKey,
  ): Promise<Created<RotatedKey>>;
  /**
   * Ends the secret before the last rotation, sooner than its grace; no request that begins after this has resolved is
   * authenticated by it (A12). The key goes on with its present secret.
   * @throws Refusal `not_found` where there is no such key, or no former secret of that end; StoreUnavailable, Busy
   */
  endFormer(origin: Origin, accountId: string, former: FormerSecret): Promise<void>;
  /**
   * Lets a key do less: it ends at an earlier instant, in milliseconds since 1970, and its former secret no later; it
   * has less access, or is good for fewer addresses. No request that begins after this has resolved may do more (A12).
   * @throws Refusal `not_found`, `invalid_request` for an instant that is past and where nothing is to change,
   * `conflict` for a change by which it could do more, and where the key has expired; StoreUnavailable, Busy
   */
  change(origin: Origin, accountId: string, change: KeyChange): Promise<ListedApiKey>;
  /**
   * Revokes a key with both of its secrets; no request that begins after this has resolved is authenticated by it
   * (A12).
   * @throws Refusal `not_found`; StaleRead where the precondition does not hold; StoreUnavailable, Busy
   */
  revoke(origin: Origin, accountId: string, keyId: string, precondition?: Precondition): Promise<void>;
}

/** Creates the operations on API keys; see `ApiKeys`. */
export function createApiKeys(deps: ApiKeysDeps): ApiKeys {
  return {
    create: (origin, accountId, key, idempotency) => create(deps, origin, accountId, key, idempotency),
    async list(accountId) {
      const reader = await deps.fleet.current();
      const account = await existing(reader, accountId);
      const uses = await deps.keyUses.usesAndCalls(accountId);
      const now = deps.clock.now();
      const entries = await account.apiKeys();
      const keys = await Promise.all(entries.map((key) => listedKey(reader, accountId, key, uses.get(key.id), now)));
      return keys.sort((a, b) => a.createdAt - b.createdAt || (a.keyId < b.keyId ? -1 : 1));
    },
    rotate: (origin, accountId, rotation, idempotency) => rotate(deps, origin, accountId, rotation, idempotency),
    endFormer: (origin, accountId, former) => endFormer(deps, origin, accountId, former),
    async change(origin, accountId, change) {
      await changeKey(deps, origin, accountId, change);
      const reader = await deps.fleet.current();
      const account = await existing(reader, accountId);
      const key = await account.apiKey(change.keyId);
      if (!key) throw new Refusal('not_found');
      const uses = await deps.keyUses.usesAndCalls(accountId);
      return await listedKey(reader, accountId, key, uses.get(key.id), deps.clock.now());
    },
    revoke: (origin, accountId, keyId, precondition = NO_PRECONDITION) =>
      revoke(deps, origin, accountId, keyId, precondition),
  };
}

async function create(
  deps: ApiKeysDeps,
  origin: Origin,
  accountId: string,
  { name, expiresAt, access = 'full', allowedCidrs = [] }: NewApiKey,
  idempotency: IdempotencyKey | undefined,
): Promise<Created<NewlyMadeKey>> {
  const { keyId, token } = generateApiKey(deps.random);
  const { at: createdAt, actor: createdBy } = origin;
  const scope = { access, allowedCidrs };
  const fields = keyFields(tokenHash(token.reveal()), expiresAt, restrictionOf(scope));
  const record = { name, ...fields, createdAt, createdBy };
  const result: NewlyMadeKey = { keyId, name, apiKey: token, createdAt, expiresAt, ...scope };
  const creation = {
    // Owners have the records under the account's own id.
    scope: `${OPERATOR_AUDIT}-${accountId}`,
    async plan(reader: FleetReader): Promise<Step<NewlyMadeKey>> {
      // In the plan: a replay is given though its key has expired since.
      if (expiresAt !== undefined) refusePastExpiry(origin, expiresAt);
      const step = await keyCreationStep(await existing(reader, accountId), keyId, record);
      return { ...(await notedByMaker(reader, createdBy, step)), result };
    },
    spell: (made: NewlyMadeKey) => new Secret(JSON.stringify({ ...made, apiKey: made.apiKey.reveal() })),
    read: readKey,
  };
  return await deps.operatorCreates(origin, creation, idempotency);
}

const keptKey = z.object({
  keyId: z.string(),
  name: z.string(),
  apiKey: z.string(),
  createdAt: z.number(),
  expiresAt: z.number().optional(),
  ...keptScope,
});

/** Reads a kept answer. */
function readKey(kept: string): NewlyMadeKey {
  const { apiKey, expiresAt, ...shown } = keptKey.parse(JSON.parse(kept));
  return { ...shown, apiKey: new Secret(apiKey), expiresAt };
}

/**
 * The step that creates a key: generated by this service, or registered for a custom resource.
 * @throws Refusal `invalid_request` where the account has `LIMITS.apiKeysPerAccountMax` keys; StoreUnavailable
 */
export async function keyCreationStep(
  account: AccountReader,
  keyId: string,
  record: ApiKeyRecord,
): Promise<Step<void>> {
  // The counters are written as they were read: two creates that race for the last free key conflict on their revision.
  // They are read before the keys: a key that another one creates between the two reads makes this one conflict.
  const counters = await account.counters();
  if ((await account.apiKeys()).length >= LIMITS.apiKeysPerAccountMax) {
    throw new Refusal('invalid_request', `The account has ${LIMITS.apiKeysPerAccountMax} API keys; revoke one first.`);
  }
  return {
    accountId: account.id,
    action: 'key.created',
    detail: { keyId, ...scopeDetail(scopeOf(record)) },
    expect: [expectUnchanged(account), expectUnchanged(counters), expectAbsent(KEYS.keyLocator(keyId))],
    write: [
      put(KEYS.apiKey(account.id, keyId), record),
      put(KEYS.keyLocator(keyId), { accountId: account.id }),
      put(KEYS.counters(account.id), counters.record),
    ],
    result: undefined,
  };
}

async function revoke(
  deps: MutationDeps,
  origin: Origin,
  accountId: string,
  keyId: string,
  precondition: Precondition,
): Promise<void> {
  await mutate<void>(deps, origin, async (reader) => {
    await precondition.recheck();
    const key = await (await existing(reader, accountId)).apiKey(keyId);
    if (!key) throw new Refusal('not_found');
    const step: Step<void> = {
      accountId,
      action: 'key.revoked',
      detail: { keyId },
      expect: [expectUnchanged(key)],
      write: [{ remove: KEYS.apiKey(accountId, keyId) }],
      result: undefined,
    };
    return withParts(step, precondition);
  });
}
