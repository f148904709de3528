import { lastSeenAt, type AppEntry } from '../../../../domain/fleet/reader.ts';
import { resourceNameOf } from '../../../../domain/resource-bindings/adoption.ts';
import { checksumOf } from '../../../../text/checksum.ts';
import { dateTime } from '../../../../time/date-time.ts';
import * as operations from '../../../contract/panel/apps/apps.ts';
import type { RemovedApps } from '../../live/removed-apps.ts';
import { handle } from '../../request/route.ts';
import { accountOf } from '../account.ts';

/*
 * The list of apps, of which a page reads only what has changed (ADR 0073). What a listed app has depends on its record
 * alone, so that its revision tells of every change; the last contacts are one record of the account and come apart.
 */

export function listedApp({ id, record }: AppEntry): operations.ListedApp {
  const { name, status, platform, agentVersion, connection, createdAt, managedBy } = record;
  return {
    appId: id,
    name,
    status,
    platform,
    agentVersion,
    connection,
    createdAt: dateTime(createdAt),
    ...(managedBy && { managedBy: resourceNameOf(managedBy) }),
  };
}

const newestFirst = (a: AppEntry, b: AppEntry): number =>
  b.record.createdAt - a.record.createdAt || (a.id < b.id ? -1 : 1);

/** GET /panel/v1/accounts/{accountId}/apps. */
export const listPanelApps = handle(operations.listPanelApps)(async (request, { removedApps }) => {
  const account = await accountOf(request);
  const seen = await account.lastSeen();
  const entries = (await account.apps()).toSorted(newestFirst);
  const rows = entries.map(listedApp);
  const [since, seenSince] = request.query.since?.split('.').map(Number) ?? [];
  const changes = changesSince(since, { accountId: account.id, entries, rows }, removedApps);
  const isQuiet = !changes.whole && changes.apps.length === 0 && seenSince === seen.revision;
  return {
    status: 200,
    body: {
      ...changes,
      revision: `${changes.revision}.${seen.revision}`,
      checksum: checksumOf(rows.map((row) => JSON.stringify(row))),
      ...(!isQuiet && { contacts: contactsOf(entries.map(({ record }) => lastSeenAt(record, seen.record))) }),
    },
  };
});

/** The apps of an account, in their order. */
interface Listed {
  readonly accountId: string;
  readonly entries: readonly AppEntry[];
  readonly rows: readonly operations.ListedApp[];
}

interface Changes extends Pick<operations.PanelApps, 'whole' | 'apps' | 'removed'> {
  /** The list is as it was at this revision of the store, or later, as far as this replica knows. */
  readonly revision: number;
}

function changesSince(since: number | undefined, { accountId, entries, rows }: Listed, removed: RemovedApps): Changes {
  const newest = entries.reduce((most, { revision }) => Math.max(most, revision), 0);
  if (since === undefined || since < removed.since) {
    return { whole: true, apps: [...rows], removed: [], revision: Math.max(newest, removed.since) };
  }
  const there = new Set(entries.map(({ id }) => id));
  const gone = [...removed.of(accountId, since)].filter(([appId]) => !there.has(appId));
  return {
    whole: false,
    apps: rows.filter((_, index) => (entries[index]?.revision ?? 0) > since),
    removed: gone.map(([appId]) => appId),
    revision: gone.reduce((most, [, revision]) => Math.max(most, revision), Math.max(newest, since)),
  };
}

const secondOf = (at: number): number => Math.floor(at / 1000);

function contactsOf(contacts: readonly (number | null)[]): operations.PanelApps['contacts'] {
  const newest = contacts.reduce<number | null>((most, at) => (at === null ? most : Math.max(most ?? at, at)), null);
  const last = secondOf(newest ?? 0);
  return {
    newest: newest === null ? null : dateTime(last * 1000),
    ages: contacts.map((at) => (at === null ? null : last - secondOf(at))),
  };
}
