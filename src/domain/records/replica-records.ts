import * as z from 'zod';

/* What replicas tell one another: that they live, which keys they know, and which key writes. */

/** `replica/<replicaId>`: rewritten every few seconds, gone with its replica. */
export const replicaSchema = z.looseObject({
  replicaId: z.string(),
  startedAt: z.int().min(0),
  version: z.string(),
  /** Of the key-encryption keys in its key file, ascending. */
  keyNumbers: z.array(z.int().min(1)),
  /** Of each of these keys, by number: tells two keys of the same number apart, and tells nothing else of them. */
  fingerprints: z.record(z.string(), z.string()),
  /** Its wall clock when it wrote this. */
  clock: z.int(),
  /** The newest format of records that it knows. Programs that did not announce it know the first alone. */
  format: z.int().min(1).default(1),
  /** The additive changes of records that it knows (record-changes.ts). */
  knows: z.array(z.string()).default([]),
});
export type ReplicaRecord = z.infer<typeof replicaSchema>;

/** `d/keys`: the key that seals what is written from now on. */
export const activeKeySchema = z.looseObject({ number: z.int().min(1), fingerprint: z.string() });
export type ActiveKeyRecord = z.infer<typeof activeKeySchema>;

/** `rewrapped`: everything was looked at after `number` began to write, and `left` is what other keys still seal. */
export const rewrappedSchema = z.looseObject({
  number: z.int().min(1),
  left: z.array(z.int().min(1)),
  at: z.int().min(0),
});
export type RewrappedRecord = z.infer<typeof rewrappedSchema>;
