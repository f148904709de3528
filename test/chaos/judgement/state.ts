import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { PAGE_ENTRIES_MAX, type Entry, type Store } from '../../../src/store/port.ts';
import type { AccountField } from './history.ts';

/** The store at one revision, as far as checkers ask. */
export interface State {
  readonly accounts: ReadonlyMap<
    string,
    { readonly disabled: boolean; readonly counters: number; readonly keys: ReadonlySet<string> }
  >;
  readonly apps: ReadonlyMap<string, StoredApp>;
  /** The collector's address, by account; undefined after a purge. */
  readonly endpoints: ReadonlyMap<string, string | undefined>;
  /** The app that each credential leads to. */
  readonly credentials: ReadonlyMap<string, string>;
  readonly audits: readonly StoredAudit[];
}

export interface StoredApp {
  readonly account: string;
  readonly status: 'pending' | 'active' | 'revoked';
  readonly slot: number;
  readonly enrolled: boolean;
  readonly credential: string | undefined;
  readonly openCodes: readonly string[];
}

/** The fields of an account as a revision has them, as text; `''` for one that is not there. */
export interface StoredAccount {
  readonly account: string;
  readonly fields: Readonly<Record<AccountField, string>>;
  /** When the consent in `adoptableBy` ends; `''` without one. */
  readonly consentEnd: string;
}

export interface StoredAudit {
  readonly account: string;
  readonly app: string | undefined;
  readonly action: string;
  readonly requestId: string;
  readonly revision: number;
}

/** The record of an account that a key of the cached range names. */
export function placeOf(key: string): { account: string; what: string; id: string } | undefined {
  const parts = /^d\/a\/([^/]+)(?:\/([a-z]+)(?:\/(.+))?)?$/.exec(key);
  return parts ? { account: parts[1] ?? '', what: parts[2] ?? 'account', id: parts[3] ?? '' } : undefined;
}

/** The fields of an account's record that changes name. */
export function accountOf(account: string, value: string): StoredAccount {
  const record = JSON.parse(value) as Partial<Record<AccountField, string | boolean>> & {
    consent?: { until?: number };
  };
  const textOf = (field: AccountField): string => String(record[field] ?? '');
  return {
    account,
    fields: {
      name: textOf('name'),
      entitlement: textOf('entitlement'),
      adoptableBy: textOf('adoptableBy'),
      disabled: textOf('disabled'),
    },
    consentEnd: String(record.consent?.until ?? ''),
  };
}

export function auditOf(entry: Entry): StoredAudit {
  const { record } = parseRecord(KEYS.audit, entry);
  const { action, requestId, appId: app } = record;
  return { account: entry.key.split('/')[1] ?? '', app, action, requestId, revision: entry.revision };
}

/** Reads all of it at one revision. */
export async function readState(store: Store): Promise<State> {
  for (;;) {
    const state = await readAt(store, (await store.head()).revision);
    // Its history went away meanwhile: once more, at a newer one.
    if (state !== 'compacted') return state;
  }
}

async function readAt(store: Store, revision: number): Promise<State | 'compacted'> {
  const prefixes = [KEYS.account.under(), 'cred/', KEYS.audit.under()];
  const lists = await Promise.all(prefixes.map((prefix) => allAt(store, prefix, revision)));
  if (lists.includes('compacted')) return 'compacted';
  const [directory = [], credentials = [], audits = []] = lists.filter((list) => list !== 'compacted');
  return {
    ...directoryState(directory),
    credentials: new Map(
      credentials.map((entry) => [entry.key.slice('cred/'.length), parseRecord(KEYS.credential, entry).record.appId]),
    ),
    audits: audits.map(auditOf),
  };
}

function directoryState(entries: readonly Entry[]): Pick<State, 'accounts' | 'apps' | 'endpoints'> {
  const accounts = new Map<string, { disabled: boolean; counters: number; keys: Set<string> }>();
  const apps = new Map<string, StoredApp>();
  const endpoints = new Map<string, string | undefined>();
  // In key order an account comes before its own records.
  for (const entry of entries) {
    const { account = '', what, id = '' } = placeOf(entry.key) ?? {};
    const known = accounts.get(account) ?? { disabled: false, counters: 0, keys: new Set<string>() };
    accounts.set(account, known);
    if (what === 'account') known.disabled = parseRecord(KEYS.account, entry).record.disabled;
    if (what === 'tally') known.counters = parseRecord(KEYS.counters, entry).record.apps;
    if (what === 'key' && parseRecord(KEYS.apiKey, entry)) known.keys.add(id);
    if (what === 'otel') endpoints.set(account, parseRecord(KEYS.otel, entry).record.config?.endpoint);
    if (what === 'app') apps.set(id, storedApp(account, entry));
  }
  return { accounts, apps, endpoints };
}

function storedApp(account: string, entry: Entry): StoredApp {
  const { status, slot, credential, enrolledAt, codes } = parseRecord(KEYS.app, entry).record;
  const openCodes = codes.map(({ hash }) => hash);
  return { account, status, slot, enrolled: enrolledAt !== undefined, credential, openCodes };
}

async function allAt(store: Store, prefix: string, revision: number): Promise<Entry[] | 'compacted'> {
  const entries: Entry[] = [];
  let after: string | undefined;
  do {
    const page = await store.listAt({ prefix, limit: PAGE_ENTRIES_MAX, after }, revision);
    if (page === 'compacted') return page;
    entries.push(...page.entries);
    after = page.next;
  } while (after !== undefined);
  return entries;
}
