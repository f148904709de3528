import type { ListedApp, PanelApps } from '../../src/api/contract/panel/apps/apps.ts';
import { checksumOf } from '../../src/text/checksum.ts';

/* The apps of an account, put together of a list that was read before and what has changed since. */

/** An app as lists show it, with its last contact. */
export interface PanelApp extends ListedApp {
  readonly lastSeenAt: string | null;
}

export interface AppList {
  /** The state of the list, by which the service tells what has changed. */
  readonly revision: string;
  /** Newest first. */
  readonly listed: readonly ListedApp[];
  readonly apps: readonly PanelApp[];
}

/**
 * The list of an answer. @param before the list of which the answer says what has changed
 * @returns undefined where the two are not the list that the service has: then all of it must be read
 */
export function listOf(answer: PanelApps, before?: AppList): AppList | undefined {
  if (answer.whole) return wholeList(answer);
  if (!before) return undefined;
  const byId = new Map(before.listed.map((app) => [app.appId, app]));
  for (const appId of answer.removed) byId.delete(appId);
  for (const app of answer.apps) byId.set(app.appId, app);
  const listed = [...byId.values()].sort(newestFirst);
  const { contacts, revision, checksum } = answer;
  const isTheirs = checksumOf(listed.map((app) => JSON.stringify(app))) === checksum;
  if (!isTheirs || (contacts && contacts.ages.length !== listed.length)) return undefined;
  return { revision, listed, apps: withContacts(listed, contacts, before.apps) };
}

const wholeList = ({ revision, apps: listed, contacts }: PanelApps): AppList => ({
  revision,
  listed,
  apps: withContacts(listed, contacts, []),
});

const newestFirst = (a: ListedApp, b: ListedApp): number =>
  a.createdAt === b.createdAt ? (a.appId < b.appId ? -1 : 1) : a.createdAt > b.createdAt ? -1 : 1;

/** @param before where the contacts are as they were */
function withContacts(
  listed: readonly ListedApp[],
  contacts: PanelApps['contacts'],
  before: readonly PanelApp[],
): readonly PanelApp[] {
  if (!contacts) {
    const known = new Map(before.map(({ appId, lastSeenAt }) => [appId, lastSeenAt]));
    return listed.map((app) => ({ ...app, lastSeenAt: known.get(app.appId) ?? null }));
  }
  const newest = Date.parse(contacts.newest ?? '');
  return listed.map((app, index) => {
    const age = contacts.ages[index] ?? null;
    return { ...app, lastSeenAt: age === null ? null : new Date(newest - age * 1000).toISOString() };
  });
}
