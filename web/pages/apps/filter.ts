import { anyText, oneOf, type QueryState } from '../../address/use-query.ts';
import type { Delivery, PanelApp } from '../../api/panel.ts';

/** From the one that needs somebody most. */
export const DELIVERY_STATES = [
  'failed',
  'unhealthy',
  'silent',
  'pending',
  'applied',
] as const satisfies readonly Delivery['state'][];

/** What each daemon does with the configuration, by its app. */
export type Deliveries = ReadonlyMap<string, Delivery>;

/** What is looked for among the apps, in the address. A platform or a version is `=` and its text; `''` is any. */
export const APP_FILTER = {
  q: anyText(200),
  status: oneOf<'' | PanelApp['status']>('', 'pending', 'active', 'revoked'),
  platform: anyText(200),
  version: anyText(200),
  configuration: oneOf('', ...DELIVERY_STATES),
  silent: oneOf('any', 'hour', 'day', 'week', 'never'),
};
export type AppFilter = QueryState<typeof APP_FILTER>;
export const NO_FILTER: AppFilter = { q: '', status: '', platform: '', version: '', configuration: '', silent: 'any' };

/** Tells whether anything is asked for. */
export const isFiltered = ({ silent, ...filter }: AppFilter): boolean =>
  silent !== 'any' || Object.values(filter).some((value) => value !== '');

const HOUR_MS = 3_600_000;
const SILENT_MS = { hour: HOUR_MS, day: 24 * HOUR_MS, week: 7 * 24 * HOUR_MS } as const;

/** The apps that fit, in their order. @param now milliseconds since 1970 */
export function shownApps(
  apps: readonly PanelApp[],
  deliveries: Deliveries,
  filter: AppFilter,
  now: number,
): readonly PanelApp[] {
  const text = filter.q.trim().toLowerCase();
  const isAsked = (wanted: string, value: string): boolean => wanted === '' || wanted === `=${value}`;
  return apps.filter(
    (app) =>
      (text === '' || app.name.toLowerCase().includes(text) || app.appId.includes(text)) &&
      (filter.status === '' || app.status === filter.status) &&
      isAsked(filter.platform, app.platform) &&
      isAsked(filter.version, app.agentVersion) &&
      (filter.configuration === '' || deliveries.get(app.appId)?.state === filter.configuration) &&
      isSilent(app, filter.silent, now),
  );
}

function isSilent({ lastSeenAt }: PanelApp, silent: AppFilter['silent'], now: number): boolean {
  if (silent === 'any') return true;
  if (silent === 'never') return lastSeenAt === null;
  return lastSeenAt !== null && now - Date.parse(lastSeenAt) >= SILENT_MS[silent];
}

/** Options of one list: more of them would not be looked through. */
const OPTIONS_MAX = 100;

/** The platforms and versions that the apps have. */
export function optionsOf(apps: readonly PanelApp[]): {
  readonly platforms: readonly string[];
  readonly versions: readonly string[];
} {
  const distinct = (values: readonly string[]): readonly string[] =>
    [...new Set(values)].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).slice(0, OPTIONS_MAX);
  return {
    platforms: distinct(apps.map(({ platform }) => platform)),
    versions: distinct(apps.map(({ agentVersion }) => agentVersion)),
  };
}
