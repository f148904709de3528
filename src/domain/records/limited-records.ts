import * as z from 'zod';

/* The fields of `replica/<replicaId>` by which replicas know which accounts are limited, or near it. */

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

export const limitedSchema = z.looseObject({
  /** The accounts that were refused most. */
  accounts: z.array(limitedAccountSchema),
  /** The ids of all limited accounts. */
  ids: z.array(z.string()),
  /** The accounts whose window is a quarter full or more, the fullest first, each with its fill from 0 to 1. */
  fills: z.array(z.tuple([z.string(), z.number()])),
});
/** What one replica knows of limited accounts, within bounds. */
export type Limited = z.infer<typeof limitedSchema>;
