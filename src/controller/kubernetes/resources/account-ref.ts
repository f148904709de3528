import type { AccountReader } from '../../../domain/fleet/reader.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import { isFalse, type ConditionState } from '../runtime/conditions.ts';
import type { NamespaceView, ReconcileContext } from '../runtime/kind.ts';
import { accountNameOf, DEPENDANTS, isInUse } from '../runtime/namespace-cache.ts';
import type { Resource } from '../runtime/resource.ts';

/** The account that a resource's `accountRef` leads to, or the reason why it leads to none. */
export type AccountState =
  | { readonly is: 'ready'; readonly account: AccountReader }
  | { readonly is: 'AccountNotFound' | 'AccountNotReady' }
  /** `accountId` is that of the reference; the resource belongs to another account. */
  | { readonly is: 'AccountReplaced'; readonly accountId: string };

/**
 * Finds the account by UIDs and Muster's own records, never by a status: anybody who may write a status could name any
 * account there.
 * @param own the binding of the resource that refers
 * @throws StoreUnavailable, BadRecord
 */
export async function accountOf(
  context: Pick<ReconcileContext, 'find' | 'bindings' | 'fleet'>,
  name: string,
  own: Binding | undefined,
): Promise<AccountState> {
  const object = context.find('FleetAccount', name);
  if (!object) return { is: 'AccountNotFound' };
  const { uid } = object.metadata;
  const binding = await context.bindings.get(uid);
  const account = binding && (await (await context.fleet.current()).account(binding.record.accountId));
  if (!account || account.record.managedBy?.uid !== uid) return { is: 'AccountNotReady' };
  if (own && own.record.accountId !== account.id) return { is: 'AccountReplaced', accountId: account.id };
  return { is: 'ready', account };
}

/** The pause before the next reconciliation of a resource without an account; a change of the account comes sooner. */
export const ACCOUNT_REQUEUE_MS = 60_000;

/** The same of a resource whose Secret is another's: that is not watched. It is looked at within 30 s of a change. */
export const SECRET_REQUEUE_MS = 25_000;

/**
 * Whether a Secret that memory does not know is asked for: one was written before, or is another's. A first one is
 * created without a look, which finds one that is there as well. Behind a resource that is deleted none is read: the
 * right to may be gone.
 */
export function looksForSecret(
  { deleting, conditions }: Pick<Resource<unknown, unknown>, 'deleting' | 'conditions'>,
  binding: Binding | undefined,
): boolean {
  if (deleting) return false;
  const { key, code, credential, pending } = binding?.record ?? {};
  return Boolean(key ?? code ?? credential ?? pending) || conditions.some(({ reason }) => reason === 'SecretNotOwned');
}

/** The annotation by which the owner of a resource says that it is to move to another account, by the account's id. */
const REBIND_ANNOTATION = 'muster.dev/rebind-to';

/**
 * Whether the resource is to leave its account for the one that its reference leads to now: what it stands for is
 * cleaned up as when it is deleted, and made anew there. Without that word it stays where it is.
 */
export function rebinds({ object }: Resource<unknown, unknown>, account: AccountState): boolean {
  if (account.is !== 'AccountReplaced') return false;
  const annotations: unknown = object.metadata['annotations'];
  const found = typeof annotations === 'object' && annotations !== null ? Object.entries(annotations) : [];
  return found.some(([name, value]) => name === REBIND_ANNOTATION && value === account.accountId);
}

/** The condition `Ready` of a resource whose account cannot be used. */
export function accountTrouble(account: Exclude<AccountState, { is: 'ready' }>, name: string): ConditionState {
  return isFalse('Ready', account.is, troubleOf(account, name));
}

function troubleOf(account: Exclude<AccountState, { is: 'ready' }>, name: string): string {
  switch (account.is) {
    case 'AccountNotFound':
      return `There is no FleetAccount ${name} in this namespace.`;
    case 'AccountNotReady':
      return `The FleetAccount ${name} stands for no account yet; its conditions tell why.`;
    case 'AccountReplaced':
      return (
        `The FleetAccount ${name} stands for another account than before. To begin anew there, annotate this resource ` +
        `with ${REBIND_ANNOTATION}=${account.accountId}, or delete it and create it again.`
      );
  }
}

/** The resources that refer to a FleetAccount and are not cleaned up, by kind and name. */
export type AccountUsers = readonly string[];

const NAMED_MAX = 3;

/** Resources that are being deleted count until their clean-up is done. */
export function accountUsers(view: Pick<NamespaceView, 'all'>, account: string): AccountUsers {
  return DEPENDANTS.flatMap((kind) =>
    [...view.all(kind)]
      .filter((object) => accountNameOf(object) === account && isInUse(object))
      .map(({ metadata }) => `${kind} ${metadata.name}`)
      .toSorted(),
  );
}

/** Names the first few users, and counts the others. */
export function usersInWords(users: AccountUsers): string {
  const others = users.length - NAMED_MAX;
  const named = users.slice(0, NAMED_MAX).join(', ');
  return others > 0 ? `${named} and ${others} more` : named;
}
