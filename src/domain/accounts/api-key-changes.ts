import { isDeepStrictEqual } from 'node:util';
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
import type { ApiKeyRecord } from '../records/account-records.ts';
import {
  endingBy,
  isExpiredKey,
  restrictedTo,
  withoutFormer,
  withSecret,
  formerEndOf,
  type NextSecret,
} from '../key-validity/key-expiry.ts';
import { isLoss, isWithin, restrictionOf, scopeDetail, scopeOf } from '../key-validity/key-restriction.ts';
import { KEY_ACCESSES, type KeyAccess } from '../records/key-access.ts';
import { KEYS } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';
import { existing } from './accounts.ts';
import { notedByMaker } from './key-maker.ts';
import type { ApiKey } from './listed-key.ts';

/* The changes of an API key that is there: another secret, an earlier end, and less that it may do. */

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
  const hash = tokenHash(apiKey.reveal());
  const rotation = {
    scope: `${OPERATOR_AUDIT}-${accountId}`,
    async plan(reader: FleetReader): Promise<Step<RotatedKey>> {
      const key = await living(reader, origin, accountId, keyId);
      const expiresAt = key.record.expiring?.expiresAt;
      const formerUntil = graceSeconds === 0 ? undefined : origin.at + graceSeconds * 1000;
      const step = rotationStep(accountId, key, { hash, createdBy: origin.actor, formerUntil, expiresAt }, origin);
      const { name, createdAt, former } = step.result;
      const shown = { keyId, name, apiKey, createdAt, expiresAt, ...scopeOf(step.result) };
      const result: RotatedKey = { ...shown, formerExpiresAt: former?.expiresAt };
      return await notedByMaker(reader, origin.actor, { ...step, result });
    },
    spell: (made: RotatedKey) => new Secret(JSON.stringify({ ...made, apiKey: made.apiKey.reveal() })),
    read: readRotated,
  };
  return await deps.operatorCreates(origin, rotation, idempotency);
}

/** The step that gives a key another secret: by an owner or an operator, or for a custom resource. */
export function rotationStep(
  accountId: string,
  key: ApiKeyEntry,
  secret: NextSecret,
  { at }: Pick<Origin, 'at'>,
): Step<ApiKeyRecord> {
  const record = withSecret(key.record, secret);
  return {
    accountId,
    action: 'key.rotated',
    detail: { keyId: key.id, graceSeconds: Math.round(((secret.formerUntil ?? at) - at) / 1000) },
    expect: [expectUnchanged(key)],
    write: [put(KEYS.apiKey(accountId, key.id), record)],
    result: record,
  };
}

/** The former secret of a key, which its end names: after a further rotation there is another one. */
export interface FormerSecret {
  readonly keyId: string;
  /** Milliseconds since 1970, as it is listed. */
  readonly formerExpiresAt: number;
}

/** Ends the secret before the last rotation; see `ApiKeys.endFormer`. */
export async function endFormer(
  deps: MutationDeps,
  origin: Origin,
  accountId: string,
  { keyId, formerExpiresAt }: FormerSecret,
): Promise<void> {
  await mutate<void>(deps, origin, async (reader) => {
    const key = await (await existing(reader, accountId)).apiKey(keyId);
    if (!key || formerEndOf(key.record, origin.at) !== formerExpiresAt) {
      throw new Refusal('not_found', key && 'The key has no former secret that works until then.');
    }
    return {
      accountId,
      action: 'key.changed',
      detail: { keyId, formerSecret: 'ended' },
      // Each rotation gives a key one former secret, which is lost once.
      withdraws: true,
      expect: [expectUnchanged(key)],
      write: [put(KEYS.apiKey(accountId, keyId), withoutFormer(key.record))],
      result: undefined,
    };
  });
}

/** The scope in a kept answer; those of earlier versions have none. */
export const keptScope = {
  access: z.enum(KEY_ACCESSES).default('full'),
  allowedCidrs: z.array(z.string()).default([]),
};

const keptRotation = z.object({
  keyId: z.string(),
  name: z.string(),
  apiKey: z.string(),
  createdAt: z.number(),
  expiresAt: z.number().optional(),
  formerExpiresAt: z.number().optional(),
  ...keptScope,
});

function readRotated(kept: string): RotatedKey {
  const { apiKey, expiresAt, formerExpiresAt, ...shown } = keptRotation.parse(JSON.parse(kept));
  return { ...shown, apiKey: new Secret(apiKey), expiresAt, formerExpiresAt };
}

/** The key from now on; what is undefined stays. */
export interface KeyChange {
  readonly keyId: string;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
  readonly access?: KeyAccess | undefined;
  readonly allowedCidrs?: readonly string[] | undefined;
}

/** Lets a key do less; see `ApiKeys.change`. */
export async function changeKey(
  deps: MutationDeps,
  origin: Origin,
  accountId: string,
  { keyId, expiresAt, ...wanted }: KeyChange,
): Promise<void> {
  if (expiresAt !== undefined) refusePastExpiry(origin, expiresAt);
  if (expiresAt === undefined && wanted.access === undefined && wanted.allowedCidrs === undefined) {
    throw new Refusal('invalid_request', 'Say what is to change: expiresAt, access or allowedCidrs.');
  }
  await mutate<void>(deps, origin, async (reader) => {
    const key = await living(reader, origin, accountId, keyId);
    const present = { ...scopeOf(key.record), expiresAt: key.record.expiring?.expiresAt ?? Infinity };
    const scope = {
      access: wanted.access ?? present.access,
      allowedCidrs: wanted.allowedCidrs ?? present.allowedCidrs,
    };
    const end = expiresAt ?? present.expiresAt;
    if (end > present.expiresAt) {
      throw new Refusal('conflict', 'The key expires before that: an expiry can be brought forward, and not put off.');
    }
    if (!isWithin(scope, present)) {
      throw new Refusal('conflict', 'A key is never widened: create another one that may do more.');
    }
    const narrowed = restrictedTo(key.record, restrictionOf(scope));
    const record = end === present.expiresAt ? narrowed : endingBy(narrowed, end);
    if (isDeepStrictEqual(record, key.record)) return { unchanged: undefined };
    return {
      accountId,
      action: 'key.changed',
      detail: {
        keyId,
        ...(end !== present.expiresAt && { expiresAt: new Date(end).toISOString() }),
        ...(!isDeepStrictEqual(narrowed, key.record) && scopeDetail(scope)),
      },
      // The first end takes away, and a later one could be brought forward without end.
      withdraws: isLoss(present, scope) || (end < Infinity && present.expiresAt === Infinity),
      expect: [expectUnchanged(key)],
      write: [put(KEYS.apiKey(accountId, keyId), record)],
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
