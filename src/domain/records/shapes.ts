import * as z from 'zod';

/* Shapes that several records have. */

/** Milliseconds since 1970. */
export const instant = z.int().min(0);

/** A custom resource of Kubernetes that an account or an app follows, or followed until it was deleted. */
export const resourceSchema = z.looseObject({ uid: z.string(), namespace: z.string(), name: z.string() });

/**
 * The end of `adoptableBy`, and the UID of the namespace that it means: another namespace of that name gets
 * nothing. Without the UID nobody has asked the cluster yet. Absent in records of earlier versions, whose consents hold
 * no more.
 */
export const consentSchema = z.looseObject({ until: instant, namespaceUid: z.string().optional() });

/** A sealed text as it is stored: `keys/envelope.ts` seals and opens it. */
export const sealedSchema = z.looseObject({
  /** Which key-encryption key wraps the data key. */
  keyNumber: z.int().min(1),
  wrappedKey: z.string().max(200),
  box: z.string().max(200_000),
});
export type Sealed = z.infer<typeof sealedSchema>;

/** A UTC day, written `YYYY-MM-DD`. */
export const dayText = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
