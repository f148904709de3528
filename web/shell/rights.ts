import type { Me, Role } from '../api/panel.ts';
import { useSession } from './session.tsx';

/*
 * The rights of the user, in one place: what a member may is told by the role on the account, and what `support` and
 * `auditor` may by the list of operations that the service sends with the user. No page knows a role of its own.
 */

/** The user's role on an account: that of an owner for an operator; undefined where he has none. */
function roleOn({ operator, accounts }: Me, accountId: string): Role | undefined {
  if (operator) return 'owner';
  return accounts.find((account) => account.accountId === accountId)?.role;
}

/** Tells whether the user may change the account. */
export const useIsOwner = (accountId: string): boolean => roleOn(useSession().me, accountId) === 'owner';

/**
 * Tells whether the role on the installation opens an operation of the service.
 * @param operation its id
 * @param body the fields that a request would have
 */
export function isOpenTo({ operator, open }: Me, operation: string, body: object = {}): boolean {
  if (operator) return true;
  const right = open.find((one) => one.operation === operation);
  if (right?.only === undefined) return right !== undefined;
  const { only } = right;
  return Object.entries(body).every(
    ([name, value]) => only.includes(name) || only.includes(`${name}: ${String(value)}`),
  );
}

/** Tells whether the user may read something of an account: as a member, or by the role on the installation. */
export const mayRead = (me: Me, accountId: string, operation: string): boolean =>
  roleOn(me, accountId) !== undefined || isOpenTo(me, operation);

/** Tells whether the user may do something for which the role of an operator is needed, or one to which it is open. */
export const useIsOpen = (): ((operation: string, body?: object) => boolean) => {
  const { me } = useSession();
  return (operation, body) => isOpenTo(me, operation, body);
};

/** Tells whether the user may change something of an account: as an owner, or by the role on the installation. */
export const useMay = (accountId: string): ((operation: string, body?: object) => boolean) => {
  const { me } = useSession();
  const isOwner = useIsOwner(accountId);
  return (operation, body) => isOwner || isOpenTo(me, operation, body);
};
