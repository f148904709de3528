import { Refusal } from '../refusal.ts';
import type { Sections } from '../../metrics/instruments/sections.ts';
import { roleRefusalsOf } from '../records/attempt-records.ts';
import type { FailedAttempts } from './failed-attempts.ts';

/*
 * Each refusal of what a role does not include is counted here, for operator tokens and people alike, and the audit of
 * the service tells of it, since somebody who tries what the own role forbids may be a thief of the token or the
 * session.
 */

/** The roles that are refused something; `none` is a person who has no role on the installation. */
const REFUSED_ROLES = ['support', 'billing', 'auditor', 'metrics', 'owner', 'viewer', 'none'] as const;
type RefusedRole = (typeof REFUSED_ROLES)[number];

/** A refusal of what the caller's role does not include. */
export class BeyondRole extends Refusal {
  readonly role: RefusedRole;

  /** @param role an operator is refused nothing */
  constructor(role: Exclude<RefusedRole, 'none'> | 'operator' | undefined, says?: string) {
    super('forbidden', says);
    this.role = role === undefined || role === 'operator' ? 'none' : role;
  }
}

export function roleRefusalMetrics({ requests }: Sections) {
  const refusals = requests.labelledCounter({
    name: 'muster_role_refusals_total',
    help: 'Requests that the role of an operator token, or of a person, does not include.',
    labels: { role: REFUSED_ROLES },
    unit: 'requests',
  });
  for (const role of REFUSED_ROLES) refusals.inc({ role }, 0);
  return { roleRefused: (role: RefusedRole): void => refusals.inc({ role }) };
}
export type RoleRefusalMetrics = ReturnType<typeof roleRefusalMetrics>;

/**
 * Counts a refusal by role. The audit hears of it later: no refusal waits for it.
 * @param caller the actor, as the audit names actors
 * @param client the address of the client
 */
export function countRoleRefusal(
  { role }: BeyondRole,
  caller: string,
  client: string,
  deps: { readonly metrics: RoleRefusalMetrics; readonly attempts: Pick<FailedAttempts, 'failed'> },
): void {
  deps.metrics.roleRefused(role);
  deps.attempts.failed({ of: roleRefusalsOf(caller), way: role, client });
}
