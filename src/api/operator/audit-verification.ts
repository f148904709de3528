import type { AuditFault } from '../../domain/audit/faults.ts';
import type { AuditVerifier } from '../../domain/audit/verify.ts';
import { OPERATOR_AUDIT } from '../../domain/records/audit-records.ts';
import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/audit.ts';
import { handle } from './route.ts';

/** A verification of more than a million entries ends within this time. */
const DEADLINE_MS = 120_000;

const faultBody = ({ what, block, entry, at, says }: AuditFault) => ({
  what,
  ...(block !== undefined && { block }),
  ...(entry !== undefined && { entry }),
  ...(at !== undefined && { at: instantText(at) }),
  says,
});

/** A forged key may claim an instant that no date has. */
const instantText = (at: number): string | null => (Number.isNaN(new Date(at).getTime()) ? null : dateTime(at));

/** Serves `muster audit verify`. Each of its many reads has the deadline of the store. */
export const verifyAudit = handle(operations.verifyAudit, { deadlineMs: DEADLINE_MS })(
  ({ accountId }, { auditVerifier }) => verification(accountId, auditVerifier),
);

/** The same for the audit of the service. */
export const verifyServiceAudit = handle(operations.verifyServiceAudit, { deadlineMs: DEADLINE_MS })(
  (_request, { auditVerifier }) => verification(OPERATOR_AUDIT, auditVerifier),
);

async function verification(accountId: string, auditVerifier: AuditVerifier) {
  const found = await auditVerifier.verify(accountId, AbortSignal.timeout(DEADLINE_MS));
  const { head, faults, own, ...counts } = found;
  const headBody = head && { number: head.number, digest: head.digest, at: dateTime(head.at) };
  const bytes = { ownBytes: own.bytes, notedBytes: own.noted ?? null };
  const body = { ...counts, ...bytes, ...(headBody && { head: headBody }), faults: faults.map(faultBody) };
  return { status: 200, body } as const;
}
