import type { AccountReader } from '../../../domain/fleet/reader.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import { isFalse, type ConditionState } from '../runtime/conditions.ts';
import type { ReconcileContext } from '../runtime/kind.ts';

/** The account that a resource's `accountRef` leads to, or the reason why it leads to none. */
export type AccountState =
  | { readonly is: 'ready'; readonly account: AccountReader }
  | { readonly is: 'AccountNotFound' | 'AccountNotReady' | 'AccountReplaced' };

/**
 * Finds the account by UIDs and Muster's own records, never by a status: anybody who may write a status could name any
 * account there.
 * @param own the binding of the resource that refers
 * @throws StoreUnavailable, BadRecord
 */
export async function accountOf(
  context: ReconcileContext,
  name: string,
  own: Binding | undefined,
): Promise<AccountState> {
  const object = context.find('FleetAccount', name);
  if (!object) return { is: 'AccountNotFound' };
  const { uid } = object.metadata;
  const binding = await context.bindings.get(uid);
  const account = binding && (await (await context.fleet.current()).account(binding.record.accountId));
  if (!account || account.record.managedBy?.uid !== uid) return { is: 'AccountNotReady' };
  if (own && own.record.accountId !== account.id) return { is: 'AccountReplaced' };
  return { is: 'ready', account };
}

/** The pause before the next reconciliation of a resource without an account; a change of the account comes sooner. */
export const ACCOUNT_REQUEUE_MS = 60_000;

/** The condition `Ready` of a resource whose account cannot be used. */
export function accountTrouble(is: Exclude<AccountState['is'], 'ready'>, name: string): ConditionState {
  const messages = {
    AccountNotFound: `There is no FleetAccount ${name} in this namespace.`,
    AccountNotReady: `The FleetAccount ${name} stands for no account yet; its conditions tell why.`,
    AccountReplaced: `The FleetAccount ${name} stands for another account now. Delete this resource and create it anew.`,
  };
  return isFalse('Ready', is, messages[is]);
}
