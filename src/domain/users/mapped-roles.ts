import type { GroupRule } from '../../config/panel.ts';
import { LIMITS } from '../limits.ts';
import type { Versioned } from '../records/codec.ts';
import { RESTRICTED_ROLES, type MemberRole, type RestrictedRole, type UserRecord } from '../records/user-records.ts';

/*
 * The roles that the groups of the provider give. A group gives a role on an account by its id, or one on the
 * installation.
 */

export type MappedRoles = NonNullable<UserRecord['mapped']>;
type GroupsFault = 'groups_missing' | 'groups_too_many';

const GROUP_CHARACTERS_MAX = 256;
const NO_ROLES: MappedRoles = { operator: false, accounts: [], at: 0 };

/**
 * The roles of a user.
 * @param claim the value of the groups claim
 * @param rules without any, groups give no roles and none are asked for: that is a setting, and no answer
 * @param when the instant, in milliseconds since 1970, and the store's revision before the provider was asked
 */
export function mappedRoles(
  claim: unknown,
  rules: readonly GroupRule[],
  when: { readonly at: number; readonly asked: number },
): MappedRoles | GroupsFault {
  if (rules.length === 0) return { operator: false, accounts: [], ...when, unruled: true };
  const groups = groupsOf(claim);
  if (typeof groups === 'string') return groups;
  const roles = new Map<string, MemberRole>();
  const installation = new Set<'operator' | RestrictedRole>();
  for (const rule of rules) {
    if (!groups.has(rule.group)) continue;
    if (!('accountId' in rule)) installation.add(rule.role);
    else if (roles.get(rule.accountId) !== 'owner') roles.set(rule.accountId, rule.role);
  }
  const accounts = Array.from(roles, ([accountId, role]) => ({ accountId, role }));
  const operator = installation.has('operator');
  // A person has one role on the installation: the greatest of them.
  const installationRole = operator ? undefined : RESTRICTED_ROLES.find((role) => installation.has(role));
  return {
    operator,
    ...(installationRole && { installationRole }),
    accounts: accounts.sort((a, b) => (a.accountId < b.accountId ? -1 : 1)),
    ...when,
  };
}

/** A list that is cut by the provider, or is none, says nothing of what is missing: it refuses (fail closed). */
function groupsOf(claim: unknown): ReadonlySet<string> | GroupsFault {
  if (!Array.isArray(claim)) return 'groups_missing';
  const names: readonly unknown[] = claim;
  const isSound = names.every((name) => typeof name === 'string' && name.length <= GROUP_CHARACTERS_MAX);
  if (!isSound || names.length > LIMITS.groupsMax) return 'groups_too_many';
  return new Set(names as readonly string[]);
}

/** The provider has refused the user since its last answer; an earlier version leaves the time of a refusal. */
export const isRefused = ({ mapped, providerRefusedAt }: UserRecord): boolean =>
  providerRefusedAt !== undefined && (mapped === undefined || mapped.at <= providerRefusedAt);

/** The roles that the groups gave last; undefined where the provider has refused the user since. */
export const rolesOf = (record: UserRecord): UserRecord['mapped'] => (isRefused(record) ? undefined : record.mapped);

/** Whether the groups give any role. */
export const hasRoles = (mapped: MappedRoles | undefined): boolean =>
  mapped !== undefined && (mapped.operator || mapped.installationRole !== undefined || mapped.accounts.length > 0);

/** The detail by which the audit tells of them. */
export const rolesTold = ({ operator, installationRole, accounts }: MappedRoles) => ({
  operator,
  ...(installationRole && { role: installationRole }),
  accounts: accounts.length,
});

/** Whether two computations gave the same roles. */
export function sameRoles(one: MappedRoles | undefined, other: MappedRoles | undefined): boolean {
  const spelled = (roles: MappedRoles | undefined): string =>
    JSON.stringify([
      roles?.operator ?? false,
      roles?.installationRole,
      (roles?.accounts ?? []).map(({ accountId, role }) => [accountId, role]),
    ]);
  return spelled(one) === spelled(other);
}

/**
 * Whether an answer of the provider is overtaken: another one that was asked for later told the roles that the user
 * has. Replicas ask at once, so the store's revision tells which one that is, and not a clock. Of two that were asked
 * for at one revision, the one that comes later may take roles, and gives none.
 */
export function isOvertaken(user: Versioned<UserRecord>, answer: MappedRoles): boolean {
  const known = user.record.mapped;
  // A revision that is newer than the record itself is of another store, from which the record was restored.
  if (known?.asked === undefined || known.asked > user.revision) return false;
  const asked = answer.asked ?? 0;
  return asked < known.asked || (asked === known.asked && !isWithin(answer, rolesOf(user.record) ?? NO_ROLES));
}

/** Whether all roles are among the others. */
function isWithin(roles: MappedRoles, others: MappedRoles): boolean {
  if (rankOf(roles) > rankOf(others)) return false;
  return roles.accounts.every(({ accountId, role }) =>
    others.accounts.some((one) => one.accountId === accountId && (one.role === role || one.role === 'owner')),
  );
}

/** The rank of the role on the installation; 0 is none. */
function rankOf({ operator, installationRole }: MappedRoles): number {
  if (operator) return RESTRICTED_ROLES.length + 1;
  return installationRole === undefined ? 0 : RESTRICTED_ROLES.length - RESTRICTED_ROLES.indexOf(installationRole);
}
