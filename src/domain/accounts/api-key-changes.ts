import * as z from 'zod';
import { expectUnchanged } from '../../store/port.ts';
import { Secret } from '../credentials/secret.ts';
import { apiKeyOf, tokenHash } from '../credentials/tokens.ts';
import type { ApiKeyEntry, FleetReader } from '../fleet/reader.ts';
import type { IdempotencyKey } from '../mutation/idempotency.ts';
import { mutate } from '../mutation/mutation.ts';
import type { Created, OperatorCreates } from '../mutation/operator-creates.ts';
import type { MutationDeps, Origin, Step } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { put } from '../records/codec.ts';
import { endingBy, isExpiredKey, withSecret } from '../records/key-expiry.ts';
import { KEYS } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';
import { existing } from './accounts.ts';
import { notedByMaker } from './key-maker.ts';
import type { ApiKey } from './listed-key.ts';

/* The changes of an API key that is there: another secret, and an earlier end. */

/** A key with another secret. */
export interface RotatedKey extends ApiKey {
  readonly apiKey: Secret;
  /** When the secret before it ends, in milliseconds since 1970; undefined where it has ended. */
  readonly formerExpiresAt: number | undefined;
}

interface Rotation {
  readonly keyId: string;
  /** The secret before it works for so long; 0: it ends with the answer. */
  readonly graceSeconds: number;
}

/** Gives a key another secret; see `ApiKeys.rotate`. */
export async function rotate(
  deps: MutationDeps & { readonly operatorCreates: OperatorCreates },
  origin: Origin,
  accountId: string,
  { keyId, graceSeconds }: Rotation,
  idempotency: IdempotencyKey | undefined,
): Promise<Created<RotatedKey>> {
  const apiKey = apiKeyOf(keyId, deps.random);
  const secret = {
    hash: tokenHash(apiKey.reveal()),
    createdBy: origin.actor,
    formerUntil: graceSeconds === 0 ? undefined : origin.at + graceSeconds * 1000,
  };
  const rotation = {
    scope: `${OPERATOR_AUDIT}-${accountId}`,
    async plan(reader: FleetReader): Promise<Step<RotatedKey>> {
      const key = await living(reader, origin, accountId, keyId);
      const record = withSecret(key.record, secret);
      const { name, createdAt, expiring } = record;
      const formerExpiresAt = record.former?.expiresAt;
      const step: Step<RotatedKey> = {
        accountId,
        action: 'key.rotated',
        detail: { keyId, graceSeconds },
        expect: [expectUnchanged(key)],
        write: [put(KEYS.apiKey(accountId, keyId), record)],
        result: { keyId, name, apiKey, createdAt, expiresAt: expiring?.expiresAt, formerExpiresAt },
      };
      return await notedByMaker(reader, origin.actor, step);
    },
    spell: (made: RotatedKey) => new Secret(JSON.stringify({ ...made, apiKey: made.apiKey.reveal() })),
    read: readRotated,
  };
  return await deps.operatorCreates(origin, rotation, idempotency);
}

const keptRotation = z.object({
  keyId: z.string(),
  name: z.string(),
  apiKey: z.string(),
  createdAt: z.number(),
  expiresAt: z.number().optional(),
  formerExpiresAt: z.number().optional(),
});

function readRotated(kept: string): RotatedKey {
  const { keyId, name, apiKey, createdAt, expiresAt, formerExpiresAt } = keptRotation.parse(JSON.parse(kept));
  return { keyId, name, apiKey: new Secret(apiKey), createdAt, expiresAt, formerExpiresAt };
}

/** Lets a key end at an earlier instant; see `ApiKeys.endEarlier`. */
export async function endEarlier(
  deps: MutationDeps,
  origin: Origin,
  accountId: string,
  { keyId, expiresAt }: { readonly keyId: string; readonly expiresAt: number },
): Promise<void> {
  refusePastExpiry(origin, expiresAt);
  await mutate<void>(deps, origin, async (reader) => {
    const key = await living(reader, origin, accountId, keyId);
    const present = key.record.expiring?.expiresAt ?? Infinity;
    if (expiresAt === present) return { unchanged: undefined };
    if (expiresAt > present) {
      throw new Refusal('conflict', 'The key expires before that: an expiry can be brought forward, and not put off.');
    }
    return {
      accountId,
      action: 'key.changed',
      detail: { keyId, expiresAt: new Date(expiresAt).toISOString() },
      expect: [expectUnchanged(key)],
      write: [put(KEYS.apiKey(accountId, keyId), endingBy(key.record, expiresAt))],
      result: undefined,
    };
  });
}

/** @throws Refusal `invalid_request` where the expiry is not in the future */
export function refusePastExpiry({ at }: Origin, expiresAt: number): void {
  if (expiresAt <= at) throw new Refusal('invalid_request', 'expiresAt must be in the future.');
}

/** @throws Refusal `not_found`, `conflict` where the key has expired; StoreUnavailable */
async function living(reader: FleetReader, { at }: Origin, accountId: string, keyId: string): Promise<ApiKeyEntry> {
  const key = await (await existing(reader, accountId)).apiKey(keyId);
  if (!key) throw new Refusal('not_found');
  if (isExpiredKey(key.record, at)) throw new Refusal('conflict', 'The key has expired: create another one.');
  return key;
}
