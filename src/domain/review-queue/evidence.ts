import { NEVER_STORED, type OtelConfig } from '../otel-config/otel-config.ts';
import type { Versioned } from '../records/codec.ts';
import type { AccountRecord } from '../records/account-records.ts';
import type { OtelRecord } from '../records/otel-records.ts';
import type { ReviewRecord } from '../records/review-records.ts';

export type EvidenceLevel = OtelConfig['evidenceLevel'];
type Evidence = ReviewRecord['evidence'];

/**
 * Returns how much evidence the account allows now: the level of its stored configuration, enabled or not. It is hashes
 * alone where none is stored, or the account is not Enterprise (O11: its devices get no configuration).
 */
export function evidenceLevelOf(
  account: Pick<AccountRecord, 'entitlement'>,
  otel: Versioned<OtelRecord> | undefined,
): EvidenceLevel {
  if (account.entitlement !== 'enterprise') return NEVER_STORED.evidenceLevel;
  return otel?.record.config?.evidenceLevel ?? NEVER_STORED.evidenceLevel;
}

/** Returns the parts of the evidence that the level allows, and nothing else of it. */
export function cutEvidence({ hash, redacted, full }: Evidence, level: EvidenceLevel): Evidence {
  return {
    hash,
    ...(level !== 'hashes' && redacted !== undefined && { redacted }),
    ...(level === 'full' && full !== undefined && { full }),
  };
}
