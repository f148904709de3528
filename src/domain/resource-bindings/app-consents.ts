import { expectUnchanged } from '../../store/port.ts';
import type { Listed, PageOf } from '../../store/pages.ts';
import { existing } from '../accounts/accounts.ts';
import { consentDetail, isSameOffer, offerOf, refuseUidAlone, type Consent } from '../accounts/offers.ts';
import type { AppEntry } from '../fleet/reader.ts';
import { mutate } from '../mutation/mutation.ts';
import type { MutationDeps, Origin, Step, Unchanged } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { AppRecord } from '../records/app-records.ts';
import { Refusal } from '../refusal.ts';
import { isAppOfAnother, resourceNameOf } from './adoption.ts';
import { allBindings } from './bindings.ts';

/** An app as the operator sees it who gives it to a custom resource. */
export interface ConsentedApp extends Pick<AppRecord, 'name' | 'status' | 'adoptableBy' | 'consent'> {
  readonly appId: string;
  /** `namespace/name` of the FleetApp that stands for the app. */
  readonly managedBy: string | undefined;
}

/** The operator's consent that custom resources adopt apps, as `Accounts` has it for accounts. */
export interface AppConsents {
  /**
   * Lists the apps of an account in the order of their ids.
   * @throws Refusal `not_found`; StoreUnavailable, BadRecord
   */
  list(accountId: string, page: PageOf): Promise<Listed<ConsentedApp>>;
  /**
   * Names the custom resource that may adopt the app, once; `null` allows none. Either forgets the resource that
   * released the app.
   * @throws Refusal `not_found`, `conflict` for a UID without a consent; StoreUnavailable, Busy
   */
  change(origin: Origin, accountId: string, appId: string, wanted: Consent): Promise<ConsentedApp>;
}

/** Creates the operator's consents on apps; see `AppConsents`. */
export function createAppConsents(deps: MutationDeps): AppConsents {
  return {
    list: (accountId, page) => list(deps, accountId, page),
    change: (origin, accountId, appId, wanted) => change(deps, origin, accountId, appId, wanted),
  };
}

async function list(
  { fleet, store }: MutationDeps,
  accountId: string,
  { limit, after = '' }: PageOf,
): Promise<Listed<ConsentedApp>> {
  const account = await existing(await fleet.current(), accountId);
  const later = [...(await account.apps())].filter(({ id }) => id > after).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const page = later.slice(0, limit);
  // An app that was created for its resource does not name it: the binding does.
  const apps = new Map(page.map((app) => [app.id, app.record]));
  const bound = new Map<string, string>();
  for await (const { uid, record } of page.length === 0 ? [] : allBindings(store)) {
    const { appId = '' } = record;
    const app = record.accountId === accountId ? apps.get(appId) : undefined;
    if (app && !isAppOfAnother(app, uid)) bound.set(appId, resourceNameOf(record));
  }
  const items = page.map((app) => viewOf(app, app.record, bound.get(app.id)));
  return { items, next: later.length > limit ? page.at(-1)?.id : undefined };
}

const viewOf = ({ id }: AppEntry, record: AppRecord, bound?: string): ConsentedApp => ({
  appId: id,
  name: record.name,
  status: record.status,
  adoptableBy: record.adoptableBy,
  consent: record.consent,
  managedBy: record.managedBy ? resourceNameOf(record.managedBy) : bound,
});

async function change(
  deps: MutationDeps,
  origin: Origin,
  accountId: string,
  appId: string,
  wanted: Consent,
): Promise<ConsentedApp> {
  refuseUidAlone(wanted);
  return await mutate<ConsentedApp>(
    deps,
    origin,
    async (reader): Promise<Step<ConsentedApp> | Unchanged<ConsentedApp>> => {
      const account = await existing(reader, accountId);
      const app = await account.app(appId);
      if (!app) throw new Refusal('not_found');
      const { adoptableBy: _before, consent: _former, releasedBy, ...rest } = app.record;
      const record: AppRecord = {
        ...rest,
        ...(releasedBy && { releasedBy: { ...releasedBy, withdrawn: true } }),
        ...offerOf(wanted, origin.at),
      };
      const result = viewOf(app, record);
      const remembers = releasedBy !== undefined && releasedBy.withdrawn !== true;
      if (isSameOffer(app.record, record) && !remembers) return { unchanged: result };
      return {
        accountId,
        action: 'app.changed',
        appId,
        detail: consentDetail(record),
        expect: [expectUnchanged(account), expectUnchanged(app)],
        write: [put(KEYS.app(accountId, appId), record)],
        result,
      };
    },
  );
}
