import type { Offer } from '../accounts/offers.ts';
import { StaleRead } from '../mutation/stale-read.ts';
import type { AccountRecord } from '../records/account-records.ts';
import type { AppRecord } from '../records/app-records.ts';

/*
 * The rules by which a custom resource comes to stand for an account or an app that is there already
 * (docs/adr/0041-adoption.md).
 */

/**
 * A custom resource that an account or an app follows. The UID of its namespace tells it from a resource of a later
 * namespace of that name; it is absent where it could not be read.
 */
export type Owner = NonNullable<AccountRecord['managedBy']>;

interface InNamespace extends Named {
  readonly namespaceUid?: string | undefined;
}

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** The name of a custom resource as a consent has it. */
export const resourceNameOf = ({ namespace, name }: Named): string => `${namespace}/${name}`;

const isNamed = (record: Named | undefined, owner: Named): boolean =>
  record !== undefined && record.namespace === owner.namespace && record.name === owner.name;

/**
 * Whether an operator has consented that this resource adopts the account or the app: by its name, not too long ago,
 * and in the namespace that the consent means. A consent without a UID means the namespace that has the name when
 * Muster first looks. A namespace whose UID cannot be read may be a later one of the name: it gets nothing.
 */
export const isOfferedTo = ({ adoptableBy, consent }: Offer, owner: InNamespace, now: number): boolean =>
  adoptableBy === resourceNameOf(owner) &&
  consent !== undefined &&
  now < consent.until &&
  owner.namespaceUid !== undefined &&
  owner.namespaceUid === (consent.namespaceUid ?? owner.namespaceUid);

/**
 * The words for a resource that may adopt nothing. They are the same whether or not there is such an account or app: a
 * writer of resources must not find that out.
 * @param what such as `the account 4f2a…`
 */
export const notOffered = (what: string, owner: InNamespace): string =>
  owner.namespaceUid === undefined
    ? `The namespace ${owner.namespace} cannot be read: an adoption needs the right to get it, for its UID.`
    : `An operator must set adoptableBy of ${what} to ${resourceNameOf(owner)}, for 7 days and for this namespace.`;

/** Whether an operator has promised it to another resource: the word goes before what the account or app remembers. */
const isPromisedElsewhere = ({ adoptableBy }: { readonly adoptableBy?: string | undefined }, owner: Named): boolean =>
  adoptableBy !== undefined && adoptableBy !== resourceNameOf(owner);

/**
 * Whether the account last followed a resource that this one replaces: one of the same name in the same namespace, by
 * the namespace's UID, that was deleted. Where the former resource still manages the account it was removed by force,
 * since two resources of one name never exist at once.
 */
export function wasAccountOf(account: Ownership, owner: Owner): boolean {
  const former = account.managedBy ?? account.releasedBy;
  if (!former || owner.namespaceUid === undefined || former.namespaceUid !== owner.namespaceUid) return false;
  return isNamed(former, owner) && former.uid !== owner.uid && !isPromisedElsewhere(account, owner);
}
type Ownership = Pick<AccountRecord, 'adoptableBy' | 'managedBy' | 'releasedBy'>;

/**
 * Whether the app last followed a resource of the same name that was deleted. The namespace's UID is not asked for: the
 * resource's account is that of its namespace already.
 */
export function wasAppOf(
  app: Pick<AppRecord, 'adoptableBy' | 'managedBy' | 'releasedBy'>,
  owner: Named & { uid: string },
): boolean {
  if (!app.managedBy && app.releasedBy?.withdrawn) return false;
  const former = app.managedBy ?? app.releasedBy;
  return isNamed(former, owner) && former?.uid !== owner.uid && !isPromisedElsewhere(app, owner);
}

/** Whether the app follows another resource than this one, or did so last. */
export function isAppOfAnother({ managedBy, releasedBy }: AppRecord, uid: string): boolean {
  const last = managedBy ?? releasedBy;
  return last !== undefined && last.uid !== uid;
}

/** Throws StaleRead for an app that follows another resource than this one by now: only its own resource changes it. */
export const mayChangeAs =
  (uid: string) =>
  (app: AppRecord): void => {
    if (isAppOfAnother(app, uid)) throw new StaleRead('The app follows another resource by now.');
  };

/** The record as the account or app follows this resource from now on; the consent is used up. */
export function adoptedBy<T extends AccountRecord | AppRecord>(record: T, owner: Owner): T {
  const adopted = { ...record, managedBy: owner };
  delete adopted.adoptableBy;
  delete adopted.consent;
  delete adopted.releasedBy;
  return adopted;
}
