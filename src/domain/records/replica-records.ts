import * as z from 'zod';
import { publishedAttemptsSchema } from './attempt-records.ts';
import { record, type RecordOf } from './registry.ts';

/* The records by which replicas know of each other: which live, which keys they have, and which key is active. */

const announcedTokensSchema = z.looseObject({ keyNumber: z.int().min(1), mac: z.string() });
/** An HMAC of a replica's operator tokens (domain/replicas/operator-tokens.ts), and the key that it is under. */
export type AnnouncedTokens = z.infer<typeof announcedTokensSchema>;

/** An account that was refused with 429 in the last 60 s. Instants are those of the replica's wall clock. */
const limitedAccountSchema = z.looseObject({
  accountId: z.string(),
  /** Requests refused in the last 60 s. */
  refused: z.int().min(0),
  since: z.int(),
  liftsAt: z.int(),
  /** The same by key and operation, such as `GET /v1/apps`. */
  by: z.array(z.looseObject({ keyId: z.string(), operation: z.string(), refused: z.int().min(0) })),
});
export type LimitedAccount = z.infer<typeof limitedAccountSchema>;

const limitedSchema = z.looseObject({
  /** The accounts that were refused most. */
  accounts: z.array(limitedAccountSchema),
  /** The ids of all limited accounts. */
  ids: z.array(z.string()),
  /** The accounts whose window is a quarter full or more, the fullest first, each with its fill from 0 to 1. */
  fills: z.array(z.tuple([z.string(), z.number()])),
});
/** The limited accounts that one replica knows of, within bounds. */
export type Limited = z.infer<typeof limitedSchema>;

const rolloutsSchema = z.looseObject({
  /** The leader's wall clock when it had counted all accounts. */
  countedAt: z.int(),
  /** Accounts whose rollout fails. */
  failing: z.int().min(0),
  /** Account, revision, and its daemons that are applied, failed, pending and stale. A newer version may add more. */
  accounts: z.array(
    z.tuple([z.string(), z.int().min(0), z.int().min(0), z.int().min(0), z.int().min(0), z.int().min(0)], z.unknown()),
  ),
});
/** The rollouts that stand out, as a leader counted them. */
export type PublishedRollouts = z.infer<typeof rolloutsSchema>;

export const replicaRecords = {
  /** Rewritten every few seconds, gone with its replica. */
  replica: record('replica/<replicaId>', {
    schema: z.looseObject({
      replicaId: z.string(),
      startedAt: z.int().min(0),
      version: z.string(),
      /** The numbers of the key-encryption keys in its key file, ascending. */
      keyNumbers: z.array(z.int().min(1)),
      /**
       * The fingerprint of each of these keys, by number: it distinguishes two keys of one number and reveals nothing
       * else.
       */
      fingerprints: z.record(z.string(), z.string()),
      /** Its wall clock when it wrote this. */
      clock: z.int(),
      /** The newest format of records that it knows. A program that announces none knows the first alone. */
      format: z.int().min(1).default(1),
      /** The additive changes of records that it knows (record-changes.ts). */
      knows: z.array(z.string()).default([]),
      /** A program of an earlier version announces none. */
      operatorTokens: announcedTokensSchema.optional(),
      /** Which accounts are limited; absent where none is, and from an earlier version. */
      limited: limitedSchema.optional(),
      /** The rollouts that stand out: of the leader alone, and absent from an earlier version. */
      rollouts: rolloutsSchema.optional(),
      /** Failed secrets by account; absent where there are none, and from an earlier version. */
      attempts: publishedAttemptsSchema.optional(),
      /** Failed sign-ins by user, likewise. An earlier version enters none of them. */
      signIns: publishedAttemptsSchema.optional(),
      /** Refusals by role by caller, likewise. */
      roleRefusals: publishedAttemptsSchema.optional(),
      /** Refusals of accounts at their limits, likewise. */
      atLimits: publishedAttemptsSchema.optional(),
    }),
    writeClass: 'vital',
    backup: 'left out',
    holds: 'held by a live replica: keys, format, record changes, clock, limited accounts, rollouts',
  }),
  /** The key that seals what is written from now on. */
  activeKey: record('d/keys', {
    schema: z.looseObject({ number: z.int().min(1), fingerprint: z.string() }),
    writeClass: 'vital',
    // It is determined again, by the key file that the service has when it starts on a restored store.
    backup: 'left out',
    holds: 'which key-encryption key is active',
  }),
  /**
   * All records were checked after key `number` became active; `left` names the other keys that still seal
   * one.
   */
  rewrapped: record('rewrapped', {
    schema: z.looseObject({
      number: z.int().min(1),
      left: z.array(z.int().min(1)),
      at: z.int().min(0),
    }),
    writeClass: 'upkeep',
    backup: 'left out',
    holds: 'what keys still encrypt, as the leader counted it after a rotation',
  }),
};
export type ReplicaRecord = RecordOf<typeof replicaRecords.replica>;
export type ActiveKeyRecord = RecordOf<typeof replicaRecords.activeKey>;
export type RewrappedRecord = RecordOf<typeof replicaRecords.rewrapped>;
