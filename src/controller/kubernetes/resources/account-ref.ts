import type { AccountReader } from '../../../domain/fleet/reader.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import { isFalse, type Finding } from '../runtime/conditions.ts';
import type { Look } from '../runtime/kind.ts';

/** The account that a resource's `accountRef` leads to, or why it leads to none. */
export type AccountState =
  | { readonly is: 'ready'; readonly account: AccountReader }
  | { readonly is: 'AccountNotFound' | 'AccountNotReady' | 'AccountReplaced' };

/**
 * The way goes by UIDs and Muster's own records, never by what a status says: whoever may write a status could name any
 * account there.
 * @param own the binding of the resource that refers
 */
export async function accountOf(look: Look, name: string, own: Binding | undefined): Promise<AccountState> {
  const object = look.find('FleetAccount', name);
  if (!object) return { is: 'AccountNotFound' };
  const { uid } = object.metadata;
  const binding = await look.bindings.get(uid);
  const account = binding && (await (await look.fleet.current()).account(binding.record.accountId));
  if (!account || account.record.managedBy?.uid !== uid) return { is: 'AccountNotReady' };
  if (own && own.record.accountId !== account.id) return { is: 'AccountReplaced' };
  return { is: 'ready', account };
}

/** When to look again: a change of the account comes by itself. */
export const ACCOUNT_AGAIN_MS = 60_000;

export function accountTrouble(is: Exclude<AccountState['is'], 'ready'>, name: string): Finding {
  const messages = {
    AccountNotFound: `There is no FleetAccount ${name} in this namespace.`,
    AccountNotReady: `The FleetAccount ${name} stands for no account yet; its conditions tell why.`,
    AccountReplaced: `The FleetAccount ${name} stands for another account now. Delete this resource and create it anew.`,
  };
  return isFalse('Ready', is, messages[is]);
}
