import { RecentMap } from '../../src/packed/recent-map.ts';
import { listOf, type AppList, type PanelApp } from './app-list.ts';
import { ask } from './client.ts';

/* The apps of an account that were read are kept for the visit: from then on only what has changed is asked for. */

const LISTS_MAX = 3;
const lists = new RecentMap<string, AppList>(LISTS_MAX);

/** Reads the list. @throws as `ask` */
export async function readApps(
  accountId: string,
  with_: { readonly signal?: AbortSignal } = {},
): Promise<{ readonly apps: readonly PanelApp[] }> {
  const before = lists.get(accountId);
  const query = before && { since: before.revision };
  const answer = await ask('GET /accounts/:accountId/apps', { accountId, ...(query && { query }), ...with_ });
  const list = listOf(answer, before) ?? listOf(await ask('GET /accounts/:accountId/apps', { accountId, ...with_ }));
  if (!list) throw new Error('The service did not answer with the whole list.');
  lists.set(accountId, list);
  return list;
}
