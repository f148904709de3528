import { expectUnchanged } from '../../store/port.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import { relyingOn, type Precondition } from '../mutation/authority.ts';
import { mutate } from '../mutation/mutation.ts';
import type { MutationDeps, Origin, Step, Unchanged } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { Offer } from '../accounts/offers.ts';

/** An account or an app with a consent that names a namespace, and not yet its UID. */
export interface NamelessOffer {
  readonly accountId: string;
  readonly appId: string | undefined;
  /** `namespace/name`. */
  readonly adoptableBy: string;
}

/** The UIDs of the namespaces that consents mean. */
export interface OfferedNamespaces {
  /** The consents that hold now without one, of those that memory knows. @throws StoreUnavailable */
  missing(): Promise<readonly NamelessOffer[]>;
  /** Writes the UID into a consent; nothing where it is another one by now. @throws StaleRead; StoreUnavailable; Busy */
  note(origin: Origin, offer: NamelessOffer, namespaceUid: string, precondition: Precondition): Promise<void>;
}

/** Creates the operations; see `OfferedNamespaces`. */
export function createOfferedNamespaces(deps: MutationDeps): OfferedNamespaces {
  return {
    missing: async () => [...nameless(await deps.fleet.whole(), deps.clock.now())],
    note: (origin, offer, namespaceUid, precondition) => note(deps, origin, offer, { namespaceUid, precondition }),
  };
}

function* nameless(memory: FleetMemory, now: number): Iterable<NamelessOffer> {
  for (const account of memory.accounts()) {
    if (lacksUid(account.record, now)) yield { accountId: account.id, appId: undefined, ...named(account.record) };
    for (const { id, record } of account.apps()) {
      if (lacksUid(record, now)) yield { accountId: account.id, appId: id, ...named(record) };
    }
  }
}

const lacksUid = ({ adoptableBy, consent }: Offer, now: number): boolean =>
  adoptableBy !== undefined && consent !== undefined && consent.namespaceUid === undefined && now < consent.until;
const named = ({ adoptableBy = '' }: Offer) => ({ adoptableBy });

async function note(
  deps: MutationDeps,
  origin: Origin,
  { accountId, appId, adoptableBy }: NamelessOffer,
  { namespaceUid, precondition }: { readonly namespaceUid: string; readonly precondition: Precondition },
): Promise<void> {
  await mutate<void>(deps, origin, async (reader): Promise<Step<void> | Unchanged<void>> => {
    await precondition.recheck();
    const account = await reader.account(accountId);
    const app = appId === undefined ? undefined : await account?.app(appId);
    const found = appId === undefined ? account : app;
    if (!account || !found || found.record.adoptableBy !== adoptableBy || !lacksUid(found.record, origin.at)) {
      return { unchanged: undefined };
    }
    const key = appId === undefined ? KEYS.account(accountId) : KEYS.app(accountId, appId);
    const record = { ...found.record, consent: { ...found.record.consent, namespaceUid } };
    return relyingOn<void>(precondition, {
      accountId,
      action: appId === undefined ? 'account.changed' : 'app.changed',
      ...(appId !== undefined && { appId }),
      detail: { adoptableBy, namespaceUid },
      expect: [account, ...(app ? [app] : [])].map(expectUnchanged),
      write: [put(key, record)],
      result: undefined,
    });
  });
}
