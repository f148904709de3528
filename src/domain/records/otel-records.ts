import * as z from 'zod';
import { LIMITS } from '../limits.ts';
import { record, type RecordOf } from './registry.ts';
import { instant, sealedSchema } from './shapes.ts';

/* The configuration of an account, and what a purge leaves to be done. */

export const otelRecords = {
  otel: record('d/a/<accountId>/otel', {
    schema: z.looseObject({
      /** Grows with every change, a purge too, so that a daemon's acknowledgement names one content. */
      revision: z.int().min(1),
      /** 64 random bits of this content: an ETag never repeats, not even after a restore. */
      tag: z.string(),
      at: instant,
      /** Absent after a purge. */
      config: z
        .looseObject({
          enabled: z.boolean(),
          endpoint: z.string(),
          evidenceLevel: z.enum(['hashes', 'redacted', 'full']),
          header: sealedSchema.optional(),
          /**
           * The revision with which the kept ones begin. It goes with the configuration, so that no replica shows a
           * revision of before a purge, whichever replica purged; absent where a replica that keeps none stored first.
           */
          keptFrom: z.int().min(1).optional(),
        })
        .optional(),
    }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: 'the OTel configuration, its header encrypted; its revision survives a purge',
  }),
  /**
   * A revision of the configuration as its commit stored it, without the header. A slot is written anew by the revision
   * that is 50 later, so that an account never has more of them. It lies outside of the cached range: no request but
   * those for the list and for a restoration reads it.
   */
  otelRevision: record(
    'revision/<accountId>/<slot>',
    {
      schema: z.looseObject({
        revision: z.int().min(1),
        at: instant,
        enabled: z.boolean(),
        endpoint: z.string(),
        evidenceLevel: z.enum(['hashes', 'redacted', 'full']),
        authHeaderSet: z.boolean(),
        /** The actor as the audit names it, and the name that a user or a key had then. */
        by: z.looseObject({ actor: z.string(), name: z.string().optional() }),
        /** The revision that this one restored. */
        restores: z.int().min(1).optional(),
        /** The rollout of the revision that this one replaced, as it was then. */
        replaced: z
          .looseObject({
            revision: z.int().min(1),
            applied: z.int().min(0),
            failed: z.int().min(0),
            pending: z.int().min(0),
            stale: z.int().min(0),
          })
          .optional(),
      }),
      writeClass: 'by commit',
      backup: 'kept',
      holds: 'one of the last 50 revisions of the configuration, without its header; a purge removes them all',
    },
    (accountId: string, revision: number) => [accountId, revision % LIMITS.otelRevisionsMax],
  ),
  collectorTest: record('collector-test/<accountId>', {
    schema: z.looseObject({ at: instant }),
    writeClass: 'growth',
    backup: 'left out',
    holds: 'when the collector of an account was last tested; quiet',
  }),
  /** `keyNumber` is there where it held a secret. */
  purge: record('purge/<marker>', {
    schema: z.looseObject({ at: instant, keyNumber: z.int().min(1).optional() }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: "a purge that is still in the store's history",
  }),
  /** Purges that are out of the history, and unreadable for good only when their key is retired (O10). */
  purged: record('purged/<keyNumber>', {
    schema: z.looseObject({ count: z.int().min(0) }),
    // Written by what removes other records, at the end of a purge.
    writeClass: 'vital',
    backup: 'kept',
    holds: 'how many purged secrets a key had encrypted, for its retirement',
  }),
};
export type OtelRecord = RecordOf<typeof otelRecords.otel>;
export type OtelRevisionRecord = RecordOf<typeof otelRecords.otelRevision>;
