import * as z from 'zod';
import { publishedAttemptsSchema } from './attempt-records.ts';
import { limitedSchema } from './limited-records.ts';

/* The records by which replicas know of each other: which live, which keys they have, and which key is active. */

const announcedTokensSchema = z.looseObject({ keyNumber: z.int().min(1), mac: z.string() });
/** An HMAC of a replica's operator tokens (domain/replicas/operator-tokens.ts), and the key that it is under. */
export type AnnouncedTokens = z.infer<typeof announcedTokensSchema>;

/** `replica/<replicaId>`: rewritten every few seconds, gone with its replica. */
export const replicaSchema = z.looseObject({
  replicaId: z.string(),
  startedAt: z.int().min(0),
  version: z.string(),
  /** The numbers of the key-encryption keys in its key file, ascending. */
  keyNumbers: z.array(z.int().min(1)),
  /**
   * The fingerprint of each of these keys, by number: it distinguishes two keys of one number and reveals nothing else.
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
  /** Failed secrets by account; absent where there are none, and from an earlier version. */
  attempts: publishedAttemptsSchema.optional(),
  /** Failed sign-ins by user, likewise. An earlier version enters none of them. */
  signIns: publishedAttemptsSchema.optional(),
});
export type ReplicaRecord = z.infer<typeof replicaSchema>;

/** `d/keys`: the key that seals what is written from now on. */
export const activeKeySchema = z.looseObject({ number: z.int().min(1), fingerprint: z.string() });
export type ActiveKeyRecord = z.infer<typeof activeKeySchema>;

/**
 * `rewrapped`: all records were checked after key `number` became active; `left` names the other keys that still seal
 * one.
 */
export const rewrappedSchema = z.looseObject({
  number: z.int().min(1),
  left: z.array(z.int().min(1)),
  at: z.int().min(0),
});
export type RewrappedRecord = z.infer<typeof rewrappedSchema>;
