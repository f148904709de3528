import * as z from 'zod';
import { bindingSchema } from '../../../domain/resource-bindings/bindings.ts';
import { keptWindowSchema } from '../../../domain/rate-window/kept-windows.ts';
import { sharedWindowSchema } from '../../../domain/rate-window/shared/record-codec.ts';
import { attemptedSchema } from '../../../domain/records/attempt-records.ts';
import { chainSchema, sealSchema } from '../../../domain/records/audit-records.ts';
import { accountStatusChangeSchema, daySchema, statusChangeSchema } from '../../../domain/records/day-records.ts';
import { opampAgentSchema } from '../../../domain/records/opamp-records.ts';
import { ledgerSchema, meteredSchema, pricesSchema } from '../../../domain/records/metering-records.ts';
import {
  accountSchema,
  ackSchema,
  apiKeySchema,
  appSchema,
  auditSchema,
  compactionSchema,
  countersSchema,
  credentialSchema,
  formatSchema,
  idempotencyRecordSchema,
  idempotencyRingSchema,
  idempotencySlotSchema,
  keyLocatorSchema,
  keyUsesSchema,
  lastBackupSchema,
  lastSeenSchema,
  leaderSchema,
  noteSchema,
  otelSchema,
  purgeSchema,
  purgedSchema,
  storedSchema,
} from '../../../domain/records/records.ts';
import { activeKeySchema, replicaSchema, rewrappedSchema } from '../../../domain/records/replica-records.ts';
import { reviewIndexSchema, reviewSchema } from '../../../domain/records/review-records.ts';
import {
  linkSchema,
  membersSchema,
  newcomerSchema,
  operatorsSchema,
  refreshSchema,
  sessionSchema,
  sessionUsesSchema,
  signInNamesSchema,
  signInsSchema,
  userLocatorSchema,
  userSchema,
} from '../../../domain/records/user-records.ts';

const at = z.looseObject({ at: z.int().min(0) });

/**
 * The schema of every record, by its key; `*` stands for one part of it. Questions of replicas and their answers are gone
 * within seconds, and are looked at by nobody else.
 */
export const RECORD_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  'd/a/*': accountSchema,
  'd/a/*/key/*': apiKeySchema,
  'd/a/*/app/*': appSchema,
  'd/a/*/otel': otelSchema,
  'd/a/*/tally': countersSchema,
  'd/a/*/seen': lastSeenSchema,
  'd/a/*/members': membersSchema,
  'd/a/*/stored': storedSchema,
  'd/o': operatorsSchema,
  'd/newcomer': newcomerSchema,
  'd/u/*': userSchema,
  'd/s/*': sessionSchema,
  'login/*': userLocatorSchema,
  'identity/*': userLocatorSchema,
  'passkey/*': userLocatorSchema,
  'link/*/*': linkSchema,
  'session-uses/*': sessionUsesSchema,
  'sign-ins/*': signInsSchema,
  'sign-in-names/*': signInNamesSchema,
  'refresh/*': refreshSchema,
  'd/day': daySchema,
  'd/keys': activeKeySchema,
  'key/*': keyLocatorSchema,
  'cred/*': credentialSchema,
  'past/*/*': z.looseObject({}),
  'used/*': keyUsesSchema,
  'refused/*/*': noteSchema,
  'attempted/*': attemptedSchema,
  'audit/*/*': auditSchema,
  'seal/*/*': sealSchema,
  'chain/*': chainSchema,
  'life/*/*': accountStatusChangeSchema,
  'life/*/*/*': statusChangeSchema,
  'ledger/*/*/*': ledgerSchema,
  metered: meteredSchema,
  prices: pricesSchema,
  'idem/*/answer/*': idempotencyRecordSchema,
  'idem/*/slot/*': idempotencySlotSchema,
  'idem/*/ring': idempotencyRingSchema,
  'purge/*': purgeSchema,
  'purged/*': purgedSchema,
  'ack/*/*': ackSchema,
  'opamp/*/*': opampAgentSchema,
  'review/*/*/*': reviewSchema,
  'reviews/*/*': reviewIndexSchema,
  'kubernetes/*': bindingSchema,
  rewrapped: rewrappedSchema,
  'last-backup': lastBackupSchema,
  format: formatSchema,
  leader: leaderSchema,
  'replica/*': replicaSchema,
  'pin/*': at,
  'rate/*': z.union([keptWindowSchema, sharedWindowSchema]),
  'rate-ages/*/*': z.unknown(),
  compaction: compactionSchema,
  restoring: at,
};

const BY_LENGTH = Map.groupBy(
  Object.entries(RECORD_SCHEMAS).map(([pattern, schema]) => ({ parts: pattern.split('/'), schema })),
  ({ parts }) => parts.length,
);

/** The schema of the record at a key; undefined where Muster writes no such key. */
export function schemaOfKey(key: string): z.ZodType | undefined {
  const parts = key.split('/');
  return BY_LENGTH.get(parts.length)?.find((one) => one.parts.every((part, at) => part === '*' || part === parts[at]))
    ?.schema;
}
