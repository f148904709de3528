import * as z from 'zod';
import { record, type RecordOf } from './registry.ts';
import { instant } from './shapes.ts';

/* The bindings of custom resources of Kubernetes (domain/resource-bindings/bindings.ts). */

/** A supervisor's file: the digest of its text, and that of all it was made from but the credential. */
const file = z.looseObject({ digest: z.string(), settings: z.string() });

export const bindingRecords = {
  binding: record('kubernetes/<uid>', {
    schema: z.looseObject({
      kind: z.string(),
      namespace: z.string(),
      name: z.string(),
      accountId: z.string(),
      /** The generation of the resource whose requests for more access were carried out last: no loop repeats them. */
      generation: z.int().min(0),
      appId: z.string().optional(),
      /** The API key that works, and the Secret that holds it. */
      key: z
        .looseObject({
          keyId: z.string(),
          hash: z.string(),
          issuedAt: instant,
          secretName: z.string(),
          expiresAt: instant.optional(),
        })
        .optional(),
      /** The generated secret whose hash is not registered yet; its Secret may have been written. */
      pending: z
        .looseObject({
          keyId: z.string().optional(),
          hash: z.string(),
          voids: z.string().optional(),
          /** Present where the secret is a credential, which stands in a supervisor's file as well. */
          file: file.optional(),
        })
        .optional(),
      /**
       * The next secret of the key, whose hash is not its own yet; its Secret may have been written. It has a field of
       * its own: a program that rotates by another key would take a `pending` one for that.
       */
      rotation: z.looseObject({ hash: z.string() }).optional(),
      previousKey: z.looseObject({ keyId: z.string(), validUntil: instant }).optional(),
      /** The Secret that holds what an app's daemon enrolls with. */
      secretName: z.string().optional(),
      /** The Secret that held this before, under a name that the resource does not give any more. */
      oldSecret: z.string().optional(),
      /** The enrollment code that was registered last. */
      code: z.looseObject({ hash: z.string(), expiresAt: instant }).optional(),
      /** The credential with which the operator enrolled the app last, and the file that holds it. */
      credential: z.looseObject({ hash: z.string(), file }).optional(),
    }),
    writeClass: 'upkeep',
    backup: 'kept',
    holds: 'the binding of a custom resource to its account, app and keys',
  }),
  /** A restore keeps it: until it ends it also keeps the former cluster's clean-up from what is bound. */
  recovery: record('recovery/<name>', {
    schema: z.looseObject({ namespaceUid: z.string(), until: instant }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: 'the consent that the resources of a namespace, by its UID, take up the bindings of former UIDs',
  }),
};
export type BindingRecord = RecordOf<typeof bindingRecords.binding>;
export type RecoveryRecord = RecordOf<typeof bindingRecords.recovery>;
