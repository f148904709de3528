import { setImmediate as nextTurn } from 'node:timers/promises';
import { expectUnchanged } from '../../store/port.ts';
import type { AccountView } from '../fleet/account-memory.ts';
import type { Precondition } from '../mutation/authority.ts';
import { mutate } from '../mutation/mutation.ts';
import { withParts, type MutationDeps, type Origin, type Step, type Unchanged } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { consentDetail, type Offer } from '../accounts/offers.ts';

/** An account or an app with a consent that names a namespace, and not yet its UID. */
export interface NamelessOffer {
  readonly accountId: string;
  readonly appId: string | undefined;
  /** `namespace/name`. */
  readonly adoptableBy: string;
  /** When the consent ends: one that is given anew has another end, and may mean another namespace. */
  readonly until: number;
}

/** The UIDs of the namespaces that consents mean. */
export interface OfferedNamespaces {
  /** The consents that hold now without one, of those that memory knows. @throws StoreUnavailable */
  missing(): AsyncIterable<NamelessOffer>;
  /** Called when memory learns of such a consent. @returns ends it */
  onMissing(listener: () => void): () => void;
  /**
   * Writes the UID into a consent; nothing where it is another one by now. @throws StaleRead; StoreUnavailable; Busy
   */
  note(origin: Origin, offer: NamelessOffer, namespaceUid: string, precondition: Precondition): Promise<void>;
}

/** Creates the operations; see `OfferedNamespaces`. */
export function createOfferedNamespaces(deps: MutationDeps): OfferedNamespaces {
  return {
    missing: () => nameless(deps),
    onMissing: (listener) =>
      deps.fleet.memory.onChange((accountId, appId) => {
        const account = deps.fleet.memory.account(accountId);
        const record = appId === undefined ? account?.record : account?.app(appId)?.record;
        if (record && lacksUid(record, deps.clock.now())) listener();
      }),
    note: (origin, offer, namespaceUid, precondition) => note(deps, origin, offer, { namespaceUid, precondition }),
  };
}

/**
 * Accounts that are read in one turn of the event loop: of 1000 apps each it takes 2 ms, and 500,000 apps take 110 ms.
 */
const ACCOUNTS_PER_TURN = 10;

async function* nameless({ fleet, clock }: MutationDeps): AsyncGenerator<NamelessOffer, void> {
  let accounts = 0;
  for (const account of (await fleet.whole()).accounts()) {
    yield* namelessOf(account, clock.now());
    accounts += 1;
    if (accounts % ACCOUNTS_PER_TURN === 0) await nextTurn();
  }
}

function* namelessOf(account: AccountView, now: number): Iterable<NamelessOffer> {
  if (lacksUid(account.record, now)) yield { accountId: account.id, appId: undefined, ...named(account.record) };
  for (const app of account.apps()) {
    // The flag spares most records from being parsed.
    if (!app.isOffered || !lacksUid(app.record, now)) continue;
    yield { accountId: account.id, appId: app.id, ...named(app.record) };
  }
}

const lacksUid = ({ adoptableBy, consent }: Offer, now: number): boolean =>
  adoptableBy !== undefined && consent !== undefined && consent.namespaceUid === undefined && now < consent.until;
const named = ({ adoptableBy = '', consent }: Offer) => ({ adoptableBy, until: consent?.until ?? 0 });

async function note(
  deps: MutationDeps,
  origin: Origin,
  { accountId, appId, adoptableBy, until }: NamelessOffer,
  { namespaceUid, precondition }: { readonly namespaceUid: string; readonly precondition: Precondition },
): Promise<void> {
  await mutate<void>(deps, origin, async (reader): Promise<Step<void> | Unchanged<void>> => {
    await precondition.recheck();
    const account = await reader.account(accountId);
    const app = appId === undefined ? undefined : await account?.app(appId);
    const found = appId === undefined ? account : app;
    if (!account || !found || !lacksUid(found.record, origin.at)) return { unchanged: undefined };
    const now = named(found.record);
    if (now.adoptableBy !== adoptableBy || now.until !== until) return { unchanged: undefined };
    const consent = { ...found.record.consent, namespaceUid, until };
    const write = app
      ? put(KEYS.app(accountId, app.id), { ...app.record, consent })
      : put(KEYS.account(accountId), { ...account.record, consent });
    const step: Step<void> = {
      accountId,
      action: appId === undefined ? 'account.changed' : 'app.changed',
      ...(appId !== undefined && { appId }),
      detail: consentDetail({ ...found.record, consent }),
      expect: [account, ...(app ? [app] : [])].map(expectUnchanged),
      write: [write],
      result: undefined,
    };
    return withParts(step, precondition);
  });
}
