import { pagesOf, type Listed, type PageOf } from '../../store/pages.ts';
import { expectAsFound, expectUnchanged, type Store, type Write } from '../../store/port.ts';
import type { AccountReader, AppEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { mutate } from '../mutation/mutation.ts';
import { StaleRead } from '../mutation/stale-read.ts';
import { withParts, type MutationDeps, type Origin, type Step } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import type { BindingRecord, RecoveryRecord } from '../records/binding-records.ts';
import { parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { resourceNameOf } from './adoption.ts';
import { allBindings, type BindingOf, type Bindings } from './bindings.ts';

/*
 * A restored cluster has the custom resources of before under new UIDs. They take up what the former UIDs stood for
 * once an operator has consented, for one namespace by its UID (docs/adr/0064-resources-under-new-uids.md).
 */

/** A custom resource with what it stands for. */
export interface BoundResource extends Pick<BindingRecord, 'kind' | 'namespace' | 'name' | 'accountId' | 'appId'> {
  readonly uid: string;
  /** The id of the API key that works. */
  readonly keyId: string | undefined;
}

/** The resource that takes up the binding of a former UID. */
export interface Heir {
  readonly uid: string;
  readonly namespace: string;
  /** As the API server has it now. */
  readonly namespaceUid: string;
  readonly generation: number;
}

/** The consents that resources take up bindings of former UIDs, and what they allow. */
export interface Recoveries {
  /**
   * Lists the bindings in the order of the UIDs. It looks at `LIMITS.bindingsLookedAtMax` of them at most: a page of a
   * namespace may be shorter than its limit, and the next one goes on.
   * @throws StoreUnavailable, BadRecord
   */
  list(page: PageOf & { readonly namespace: string | undefined }): Promise<Listed<BoundResource>>;
  /** The consent that holds now for a namespace of this name. @throws StoreUnavailable, BadRecord */
  holding(namespace: string): Promise<RecoveryRecord | undefined>;
  /** All of them, with their namespaces. @throws StoreUnavailable, BadRecord */
  all(): AsyncIterable<RecoveryRecord & { readonly namespace: string }>;
  /** Consents from now on, in place of any consent for a namespace of this name. @throws StoreUnavailable, Busy */
  allow(origin: Origin, namespace: string, namespaceUid: string): Promise<RecoveryRecord>;
  /**
   * Moves a binding to another resource, as by the consent it may. The account or app that followed the former resource
   * follows this one. It counts as carried out: it gives no access that was taken away since.
   * @throws StaleRead where the binding or the consent has changed, or the term has ended; StoreUnavailable, Busy
   */
  recover(origin: Origin, bindings: Bindings, former: BindingOf, heir: Heir): Promise<void>;
}

/** Creates the operations; see `Recoveries`. */
export function createRecoveries(deps: MutationDeps): Recoveries {
  return {
    list: (page) => list(deps, page),
    async holding(namespace) {
      const found = (await consentOf(deps, namespace))?.record;
      return found && deps.clock.now() < found.until ? found : undefined;
    },
    all: () => all(deps),
    allow: (origin, namespace, namespaceUid) => allow(deps, origin, namespace, namespaceUid),
    recover: (origin, bindings, former, heir) => recover(deps, origin, bindings, { former, heir }),
  };
}

async function list(
  { store }: MutationDeps,
  { namespace, limit, after = '' }: PageOf & { readonly namespace: string | undefined },
): Promise<Listed<BoundResource>> {
  const items: BoundResource[] = [];
  let [seen, last] = [0, after];
  for await (const { uid, record } of allBindings(store, after)) {
    if (items.length === limit || seen === LIMITS.bindingsLookedAtMax) return { items, next: last };
    seen += 1;
    last = uid;
    if (namespace === undefined || record.namespace === namespace) items.push(boundAs(uid, record));
  }
  return { items, next: undefined };
}

const boundAs = (uid: string, { kind, namespace, name, accountId, appId, key }: BindingRecord): BoundResource => ({
  uid,
  kind,
  namespace,
  name,
  accountId,
  appId,
  keyId: key?.keyId,
});

async function consentOf(
  { store }: Pick<MutationDeps, 'store'>,
  namespace: string,
): Promise<Versioned<RecoveryRecord> | undefined> {
  const entry = await store.get(KEYS.recovery(namespace));
  return entry && parseRecord(KEYS.recovery, entry);
}

async function* all({ store }: { readonly store: Pick<Store, 'list'> }) {
  const prefix = KEYS.recovery.under();
  for await (const { entries } of pagesOf(store, { prefix, limit: 500 })) {
    for (const entry of entries) {
      yield { namespace: entry.key.slice(prefix.length), ...parseRecord(KEYS.recovery, entry).record };
    }
  }
}

async function allow(
  deps: MutationDeps,
  origin: Origin,
  namespace: string,
  namespaceUid: string,
): Promise<RecoveryRecord> {
  const consent = { namespaceUid, until: origin.at + LIMITS.consentMs };
  return await mutate<RecoveryRecord>(deps, origin, async (): Promise<Step<RecoveryRecord>> => {
    const key = KEYS.recovery(namespace);
    const before = await consentOf(deps, namespace);
    return {
      accountId: OPERATOR_AUDIT,
      action: 'resource.recovery-allowed',
      detail: { namespace, namespaceUid },
      expect: [expectAsFound(key, before)],
      write: [put(key, { ...before?.record, ...consent })],
      result: consent,
    };
  });
}

async function recover(
  deps: MutationDeps,
  origin: Origin,
  bindings: Bindings,
  { former, heir }: { readonly former: BindingOf; readonly heir: Heir },
): Promise<void> {
  const { record } = former;
  const { accountId, appId, kind } = record;
  const precondition = bindings.handover(former, heir.uid, { ...record, generation: heir.generation });
  await mutate<void>(deps, origin, async (reader): Promise<Step<void>> => {
    await precondition.recheck();
    const consent = await consentOf(deps, heir.namespace);
    if (consent?.record.namespaceUid !== heir.namespaceUid || deps.clock.now() >= consent.record.until) {
      throw new StaleRead(`No consent holds for the namespace ${heir.namespace} any more.`);
    }
    const account = await reader.account(accountId);
    const app = appId === undefined ? undefined : await account?.app(appId);
    const isGiven = kind === 'FleetAccount' && account?.record.managedBy?.uid !== former.uid;
    if (!account || isGiven)
      throw new StaleRead(`The account ${accountId} follows another resource by now, or is gone.`);
    const step: Step<void> = {
      accountId,
      action: 'resource.recovered',
      ...(appId !== undefined && { appId }),
      detail: { kind, resource: resourceNameOf(record), formerUid: former.uid, uid: heir.uid },
      expect: [consent, account, ...(app ? [app] : [])].map(expectUnchanged),
      write: [...followingAccount(account, former.uid, heir), ...followingApp(accountId, app, former.uid, heir)],
      result: undefined,
    };
    return withParts(step, precondition);
  });
}

/** The account follows the heir where it followed the former resource. */
function followingAccount({ id, record }: AccountReader, formerUid: string, { uid, namespaceUid }: Heir): Write[] {
  const { managedBy } = record;
  if (managedBy?.uid !== formerUid) return [];
  return [put(KEYS.account(id), { ...record, managedBy: { ...managedBy, uid, namespaceUid } })];
}

/** An app that was created for its resource names none: the binding does. */
function followingApp(accountId: string, app: AppEntry | undefined, formerUid: string, { uid }: Heir): Write[] {
  const { managedBy } = app?.record ?? {};
  if (!app || managedBy?.uid !== formerUid) return [];
  return [put(KEYS.app(accountId, app.id), { ...app.record, managedBy: { ...managedBy, uid } })];
}
