import * as z from 'zod';
import { LIMITS } from '../limits.ts';
import { KEY_ACCESSES } from './key-access.ts';
import { record, type RecordOf } from './registry.ts';
import { consentSchema, dayText, instant, resourceSchema } from './shapes.ts';

/* An account, and what is counted of it. */

const daemons = z.int().min(0);
const revision = z.int().min(0);

export const accountRecords = {
  account: record('d/a/<accountId>', {
    schema: z.looseObject({
      name: z.string(),
      entitlement: z.enum(['standard', 'enterprise']),
      disabled: z.boolean(),
      createdAt: instant,
      /** The quota of this account in MiB; 0 is none, and absent is that of the installation (A16). */
      quotaMb: z.int().min(0).optional(),
      /** `namespace/name` of the one custom resource that may take the account over, once. */
      adoptableBy: z.string().optional(),
      consent: consentSchema.optional(),
      /** The custom resource that the account follows. */
      managedBy: resourceSchema.extend({ namespaceUid: z.string().optional() }).optional(),
      /**
       * The custom resource that the account followed until it was deleted: the one of that name which comes next in
       * the same namespace, by its UID, takes the account up again (docs/adr/0041-adoption.md).
       */
      releasedBy: resourceSchema.extend({ namespaceUid: z.string(), at: instant }).optional(),
    }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: 'the account: name, entitlement, disabled',
  }),
  apiKey: record('d/a/<accountId>/key/<keyId>', {
    schema: z.looseObject({
      name: z.string(),
      /** SHA-256 of the whole key, base64url; empty where the key expires. */
      hash: z.string(),
      createdAt: instant,
      /** The hash of a key that expires (domain/key-validity/key-expiry.ts). */
      expiring: z.looseObject({ hash: z.string(), expiresAt: instant }).optional(),
      /**
       * The actor that made its secret, as the audit names actors: created it, or rotated it last; absent for keys of
       * earlier versions.
       */
      createdBy: z.string().optional(),
      /** The secret before the last rotation works until then, too. A program that does not know it refuses that. */
      former: z.looseObject({ hash: z.string(), expiresAt: instant, createdBy: z.string().optional() }).optional(),
      /** H23; absent for a key of the whole account from everywhere. With it every hash is marked (key-expiry.ts). */
      restriction: z.looseObject({ access: z.enum(KEY_ACCESSES), allowedCidrs: z.array(z.string()) }).optional(),
    }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: 'an API key: its SHA-256',
  }),
  /** Every create and delete writes them, so that the count of apps is exact under races (A10). */
  counters: record('d/a/<accountId>/tally', {
    schema: z.looseObject({
      apps: z.int().min(0),
      nextSlot: z.int().min(0),
      idempotencyNext: z.int().min(0),
    }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: 'the counters: apps, next slot, next slot of idempotency records',
  }),
  /**
   * The bytes that an account stores of its own (A16), as the leader last wrote them: where they have changed by a part
   * of the quota. `marks` are earlier values, the oldest first, by which the growth is told.
   */
  stored: record('d/a/<accountId>/stored', {
    schema: z.looseObject({
      at: instant,
      audit: z.int().min(0),
      records: z.int().min(0),
      marks: z.array(z.tuple([instant, z.int().min(0)])),
    }),
    writeClass: 'upkeep',
    backup: 'kept',
    holds: 'what the account stores of its own, as the leader counted it last; quiet',
  }),
  /**
   * Active, silent and failed daemons by the hour of a day, as they were counted first in that hour; null for an hour
   * in which nothing was counted. A later version may add numbers behind them. A slot is written anew by the day that
   * is 90 later, so that an account never has more. It lies outside of the cached range: no request but those for the
   * history reads it.
   */
  fleetDay: record(
    'fleet-history/<accountId>/<slot>',
    {
      schema: z.looseObject({
        day: dayText,
        hours: z.array(z.tuple([daemons, daemons, daemons], daemons).nullable()).max(24),
      }),
      writeClass: 'growth',
      backup: 'kept',
      holds: 'active, silent and failed daemons of an account in the hours of one of the last 90 days; quiet',
    },
    (accountId: string, dayNumber: number) => [accountId, dayNumber % LIMITS.fleetHistoryDays],
  ),
  /**
   * Pairs of a key's id and an instant, and its calls by UTC day: the id, the newest day as a number since 1970, its
   * calls, and those of each day before. A build that knows no calls leaves them out when it writes the record.
   */
  keyUses: record('used/<accountId>', {
    schema: z.looseObject({
      keys: z.array(z.tuple([z.string(), instant])),
      calls: z.array(z.tuple([z.string(), z.int(), z.array(z.int().min(0))])).optional(),
    }),
    writeClass: 'upkeep',
    backup: 'kept',
    holds: 'when the API keys of an account were last used, and their calls by day; quiet',
  }),
  /**
   * The state of an account when the leader last told of it. It never has more apps or keys than the account, so it
   * has some 26 KB at most. An account without one has had nothing to tell.
   */
  told: record('told/<accountId>', {
    schema: z.looseObject({
      /** The slots of silent apps, each with its last contact before. */
      silent: z.array(z.tuple([z.int().min(0), instant])).optional(),
      /** Every code that ends by then was told: all codes are good for the same time, so a later one ends later. */
      codesTo: instant.optional(),
      /** Ids of keys that expire soon, and of those that have expired. */
      expiring: z.array(z.string()).optional(),
      expired: z.array(z.string()).optional(),
      /** The last revisions of the configuration of which each was told. */
      completed: revision.optional(),
      failed: revision.optional(),
      stuck: revision.optional(),
      nearQuota: z.literal(true).optional(),
      /** The account is disabled: nothing of it is told. */
      disabled: z.literal(true).optional(),
      /**
       * The instant at which it was seen enabled again: until three polls later its daemons have old contacts, and are
       * not silent.
       */
      enabledAt: instant.optional(),
    }),
    writeClass: 'upkeep',
    backup: 'kept',
    holds: 'what the leader has told of an account: silent apps, ending codes and keys, rollouts; quiet',
  }),
  keyLocator: record('key/<keyId>', {
    schema: z.looseObject({ accountId: z.string() }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: 'the account of an API key; stays after revocation, since a key id is used once',
  }),
};
export type AccountRecord = RecordOf<typeof accountRecords.account>;
export type ApiKeyRecord = RecordOf<typeof accountRecords.apiKey>;
export type CountersRecord = RecordOf<typeof accountRecords.counters>;
export type StoredRecord = RecordOf<typeof accountRecords.stored>;

/** The counters of an account that has none yet. */
export const NO_COUNTERS: CountersRecord = { apps: 0, nextSlot: 0, idempotencyNext: 0 };
export type ToldRecord = RecordOf<typeof accountRecords.told>;
export type FleetDayRecord = RecordOf<typeof accountRecords.fleetDay>;
