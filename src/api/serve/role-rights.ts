import { OPERATOR_ROLES, type OperatorRole } from '../../config/operator-tokens.ts';
import { BeyondRole } from '../../domain/access-audit/role-refusals.ts';
import { RESTRICTED_ROLES, type RestrictedRole } from '../../domain/records/user-records.ts';
import type { BodyField, LesserRole, RoleRight, RoleRights } from '../contract/operation.ts';

/*
 * The rights of roles on the installation: an operation says which roles may call it, and nothing but that judges the
 * operator tokens and the people who have one.
 */

/** Somebody with a role on the installation, and what gives it. */
export interface RoleHolder {
  readonly role: OperatorRole;
  readonly by: 'token' | 'person';
}

/**
 * Refuses what the role does not include before the body is read and before any record is looked for, so that nothing
 * is told of what is there.
 * @returns the same for the body, of which a role may have some fields alone
 * @throws BeyondRole
 */
export function refuseBeyondRole(holder: RoleHolder, rights: RoleRights = {}): (body: object) => void {
  const { role } = holder;
  const right = rightOf(role, rights);
  const { yours, useOf } = WORDS[holder.by];
  if (right === undefined) {
    const others = OPERATOR_ROLES.filter((one): one is LesserRole => one !== 'operator' && rights[one] === true);
    throw new BeyondRole(role, `The role ${role} ${yours} does not allow this. ${useOf(listed(others, holder))}`);
  }
  return (body) => {
    if (isWithin(right, body)) return;
    const only = rightInWords(right);
    throw new BeyondRole(
      role,
      `The role ${role} ${yours} allows nothing here but ${only}. ${useOf(listed([], holder))}`,
    );
  };
}

/** The right that a role on the installation has of an operation; undefined where it has none. */
export const rightOf = (role: OperatorRole, rights: RoleRights = {}): RoleRight | undefined =>
  role === 'operator' ? true : rights[role];

/** The restricted roles of people that may do the operation: with any body, or with this one. */
export const rolesOpenTo = (rights: RoleRights = {}, body?: object): readonly RestrictedRole[] =>
  RESTRICTED_ROLES.filter((role) => {
    const right = rights[role];
    return right !== undefined && (body === undefined || isWithin(right, body));
  });

const WORDS = {
  token: { yours: 'of your operator token', useOf: (roles: string) => `Use a token with the role ${roles}.` },
  person: { yours: 'that you have here', useOf: (roles: string) => `It takes the role ${roles}.` },
} as const;

const ALTERNATIVES = new Intl.ListFormat('en-GB', { type: 'disjunction' });
/** Some roles are of tokens alone. */
function listed(others: readonly LesserRole[], { by }: RoleHolder): string {
  const known: readonly string[] = by === 'token' ? OPERATOR_ROLES : RESTRICTED_ROLES;
  return ALTERNATIVES.format([...others.filter((one) => known.includes(one)), 'operator']);
}

/** Tells whether a body has none but the fields of the right. */
function isWithin(right: RoleRight, body: object): boolean {
  if (right === true) return true;
  const given = Object.entries(body).filter(([, value]) => value !== undefined);
  return given.every(([name, value]: [string, unknown]) => right.some((field) => isOf(field, name, value)));
}

const isOf = (field: BodyField<string>, name: string, value: unknown): boolean =>
  typeof field === 'string' ? field === name : field.field === name && field.is === value;

/** The fields of a right, each as a person reads it, such as `disabled: true`; undefined for the whole operation. */
const fieldsOf = (right: RoleRight): readonly string[] | undefined =>
  right === true
    ? undefined
    : right.map((field) => (typeof field === 'string' ? field : `${field.field}: ${String(field.is)}`));

/** An operation that a restricted role may call, and the fields that a body may have then, where not all. */
export interface OpenOperation {
  readonly operation: string;
  readonly only?: readonly string[];
}

/** Lists what a restricted role may call of some operations. */
export const openTo = (
  operations: readonly { readonly id: string; readonly roles?: RoleRights }[],
  role: RestrictedRole,
): readonly OpenOperation[] =>
  operations.flatMap(({ id: operation, roles = {} }) => {
    const right = roles[role];
    if (right === undefined) return [];
    const only = fieldsOf(right);
    return [{ operation, ...(only && { only }) }];
  });

/** A right as a person reads it. */
export const rightInWords = (right: RoleRight): string => fieldsOf(right)?.join(', ') ?? 'all';
