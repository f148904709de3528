import * as z from 'zod';
import { record } from './registry.ts';
import { instant, sealedSchema } from './shapes.ts';

/*
 * H19: the answers to requests with an Idempotency-Key. A scope is an account; of the operator's creates it is
 * `operator`, or `operator-` and the account of an API key; of batches of apps it is `batch-` and the account; of a
 * restricted API key it is `key-`, the account and the key (H23).
 */

export const idempotencyRecords = {
  /** Kept for a day. It is encrypted, since it holds a code or an API key. */
  idempotencyRecord: record('idem/<scope>/answer/<name>', {
    schema: z.looseObject({
      at: instant,
      slot: z.int().min(0),
      /** A hash of the request: the same key with another request is refused. */
      question: z.string(),
      answer: sealedSchema,
    }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: 'an idempotency record of an account or of the operator: an encrypted answer',
  }),
  /** It names the record that has the slot. */
  idempotencySlot: record('idem/<scope>/slot/<slot>', {
    schema: z.looseObject({ key: z.string() }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: 'the ring of slots that bounds these: 1000, 50 of batches, 100 of a restricted API key',
  }),
  /** The next record's slot follows from it. */
  idempotencyRing: record('idem/<scope>/ring', {
    schema: z.looseObject({ next: z.int().min(0), at: instant.optional() }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: 'how many of these a scope of the operator, of batches or of a key has had; an account has its counters',
  }),
};

/** The beginning of the keys of all records of a scope. */
export const idempotencyScope = (scope: string): string => `${idempotencyRecords.idempotencySlot.under()}${scope}/`;

/** The scope of the answers to an account's batches of apps: a ring of their own, so that they push out no other. */
export const batchScope = (accountId: string): string => `batch-${accountId}`;

/** The beginning of the keys of all records of an account's restricted API keys. */
export const keyScopes = (accountId: string): string =>
  `${idempotencyRecords.idempotencySlot.under()}key-${accountId}-`;

/** The scope of the answers to a restricted API key: a ring of its own, so that it pushes out no other key's. */
export const keyScope = (accountId: string, keyId: string): string => `key-${accountId}-${keyId}`;
