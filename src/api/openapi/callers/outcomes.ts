import { OPERATOR_ROLES } from '../../../config/operator-tokens.ts';
import { isFor, type KeyUse } from '../../../domain/key-validity/key-restriction.ts';
import { INSTALLATION_ROLES, type InstallationRole, type MemberRole } from '../../../domain/records/user-records.ts';
import { includesRole, isOpen } from '../../../domain/users/roles.ts';
import type { Operation } from '../../contract/operation.ts';
import { isForTokens } from '../../contract/panel/access-tokens/reach.ts';
import { rightInWords, rightOf, rolesOpenTo } from '../../serve/role-rights.ts';
import type { ApiName } from '../apis.ts';

/*
 * The kinds of callers of each API, and the answer of an operation to each, by the operation's own declaration and by
 * the functions that judge its requests. CONTRACT.md#callers is the table that is made of it.
 */

type Judged = Pick<Operation, 'path' | 'keyUse' | 'roles' | 'access' | 'freshProof' | 'credential'>;

/**
 * The answer to a caller: the request is judged by what it asks, or is refused with a status. In part it is open for a
 * body of some fields, for pending apps that the key itself created, or for what needs no fresh proof.
 */
export type Outcome = 'yes' | 'own-pending' | 'unproved' | { readonly only: string } | 401 | 403 | 404;

/** A kind of caller. */
interface Caller {
  readonly name: string;
  readonly outcome: (operation: Judged) => Outcome;
}

const byKey = (access: KeyUse): Caller => ({
  name: access,
  outcome({ keyUse, path }) {
    if (!isFor(access, keyUse ?? 'full')) return 403;
    return access === 'enroll' && path.includes(':appId') ? 'own-pending' : 'yes';
  },
});

const byRole = (role: (typeof OPERATOR_ROLES)[number], { roles }: Judged): Outcome => {
  const right = rightOf(role, roles);
  if (right === undefined) return 403;
  return right === true ? 'yes' : { only: rightInWords(right) };
};

/** The access of an operation, as admission reads it: without one it is for operators. */
const accessOf = ({ access = 'operator' }: Judged) => access;

/** A person with a role on the installation. */
const byInstallation = (installationRole: InstallationRole): Caller => ({
  name: installationRole,
  outcome(operation) {
    const access = accessOf(operation);
    if (access === 'anyone' || access === 'signed-in') return 'yes';
    return isOpen({ installationRole }, rolesOpenTo(operation.roles)) ? byRole(installationRole, operation) : 403;
  },
});

/** A person with a role on the account in the path, or on another one. */
const byMembership = (name: string, role?: MemberRole): Caller => ({
  name,
  outcome(operation) {
    const access = accessOf(operation);
    if (access === 'anyone' || access === 'signed-in') return 'yes';
    if (access === 'operator') return 403;
    if (role === undefined) return 404;
    return includesRole(role, access) ? 'yes' : 403;
  },
});

/** An access token of the account in the path, or of another one. */
const byToken = (name: string, role?: MemberRole): Caller => ({
  name,
  outcome(operation) {
    const { access, freshProof } = operation;
    if (!isForTokens(operation)) return 403;
    if (role === undefined) return 404;
    if (!includesRole(role, access === 'viewer' ? 'viewer' : 'owner')) return 403;
    return freshProof === undefined ? 'yes' : 'unproved';
  },
});

const nobody = (isForAll: (operation: Judged) => boolean): Caller => ({
  name: 'nobody',
  outcome: (operation) => (isForAll(operation) ? 'yes' : 401),
});

export const CALLERS: Readonly<Record<ApiName, readonly Caller[]>> = {
  v1: [byKey('full'), byKey('read'), byKey('enroll'), nobody(() => false)],
  device: [{ name: 'daemon', outcome: () => 'yes' }, nobody(({ credential }) => credential === 'optional')],
  operator: [
    ...OPERATOR_ROLES.map((role) => ({ name: role, outcome: (operation: Judged) => byRole(role, operation) })),
    nobody(() => false),
  ],
  panel: [
    ...INSTALLATION_ROLES.map(byInstallation),
    byMembership('owner', 'owner'),
    byMembership('viewer', 'viewer'),
    byMembership('of another account'),
    byToken('token: owner', 'owner'),
    byToken('token: viewer', 'viewer'),
    byToken('token: another account'),
    nobody((operation) => accessOf(operation) === 'anyone'),
  ],
};
