import * as z from 'zod';

/* Failed secrets: as a replica publishes them, and as the leader has entered them in the audit. */

/** The failed secrets for one account, or for the operator, that a replica has counted since an instant. */
const attemptsSchema = z.looseObject({
  /** An account's id, or `operator`. */
  of: z.string(),
  /** When the count began, on the replica's wall clock. */
  since: z.int(),
  count: z.int().min(0),
  /** The ids of the keys that were tried within the hour, and the addresses of the clients: the latest of them. */
  keyIds: z.array(z.string()),
  clients: z.array(z.string()),
});
export type Attempts = z.infer<typeof attemptsSchema>;
export const publishedAttemptsSchema = z.array(attemptsSchema);

/** `attempted/<of>`: when failed secrets last entered the audit, and the counts of each replica that have. */
export const attemptedSchema = z.looseObject({
  at: z.int().min(0),
  counted: z.record(z.string(), z.looseObject({ since: z.int(), count: z.int().min(0) })),
});
export type AttemptedRecord = z.infer<typeof attemptedSchema>;
