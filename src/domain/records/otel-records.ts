import * as z from 'zod';
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
        })
        .optional(),
    }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: 'the OTel configuration, its header encrypted; its revision survives a purge',
  }),
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
