import type { PanelApp } from '../../../../web/api/app-list.ts';

/** Apps as the panel's API answers them, for a page that is to show many. */
const panelApps = (count: number): readonly PanelApp[] =>
  Array.from({ length: count }, (_, index) => ({
    appId: String(index).padStart(20, '0'),
    name: `edge-${index}`,
    status: 'active',
    statusAt: '2026-01-01T00:00:00.000Z',
    platform: 'linux/arm64',
    agentVersion: '1.4.2',
    connection: 'cloud',
    createdAt: '2026-01-01T00:00:00.000Z',
    lastSeenAt: '2026-01-01T00:00:00.000Z',
    openCodes: 0,
  }));

/** The list of so many apps, none of which the page has read before. */
export const wholeList = (count: number): object => ({
  whole: true,
  revision: '1',
  apps: panelApps(count),
  contacts: { newest: '2026-01-01T00:00:00.000Z', ages: panelApps(count).map(() => 0) },
});
