import * as z from 'zod';

/** A sealed text as it is stored: `keys/envelope.ts` seals and opens it. */
export const sealedSchema = z.looseObject({
  /** Which key-encryption key wraps the data key. */
  keyNumber: z.int().min(1),
  wrappedKey: z.string().max(200),
  box: z.string().max(200_000),
});
export type Sealed = z.infer<typeof sealedSchema>;
