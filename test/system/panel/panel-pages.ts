import type { SeededAccount } from '../../support/panel/seeded-panel.ts';

/* The pages of the panel by name, for the tests that visit every one. */

interface PanelPage {
  readonly name: string;
  readonly path: (account: SeededAccount) => string;
  /** A text that stands there once the page has read what it shows. */
  readonly shows: RegExp;
}

const inAccount =
  (page: string) =>
  ({ accountId }: SeededAccount): string =>
    `/accounts/${accountId}${page}`;

const OWNER_PAGES: readonly PanelPage[] = [
  { name: 'overview', path: inAccount(''), shows: /Newest events/ },
  { name: 'apps', path: inAccount('/apps'), shows: /edge-001/ },
  {
    name: 'app',
    path: ({ accountId, appIds }) => `/accounts/${accountId}/apps/${appIds[0] ?? ''}`,
    shows: /created an app/,
  },
  { name: 'configuration', path: inAccount('/configuration'), shows: /set the configuration/ },
  { name: 'keys', path: inAccount('/keys'), shows: /Last used/ },
  { name: 'reviews', path: inAccount('/reviews'), shows: /secrets-in-prompt/ },
  { name: 'usage', path: inAccount('/usage'), shows: /Daemon-nights/ },
  { name: 'audit', path: inAccount('/audit'), shows: /created an app/ },
  { name: 'members', path: inAccount('/members'), shows: /Members/ },
  { name: 'me', path: () => '/me', shows: /this one/ },
];

const OPERATOR_PAGES: readonly PanelPage[] = [
  { name: 'accounts', path: () => '/operator/accounts', shows: /Acme Production/ },
  { name: 'account-settings', path: inAccount('/settings'), shows: /Adoption by a FleetAccount/ },
  { name: 'users', path: () => '/operator/users', shows: /Signs in as/ },
  { name: 'limits', path: () => '/operator/limits', shows: /near/ },
  { name: 'service', path: () => '/operator/service', shows: /leader|follower/ },
  { name: 'encryption', path: () => '/operator/encryption', shows: /Active key/ },
  { name: 'service-audit', path: () => '/operator/service-audit', shows: /signed in/ },
  { name: 'reference', path: () => '/operator/reference', shows: /OpenAPI documents/ },
];

export const PAGES: readonly PanelPage[] = [...OWNER_PAGES, ...OPERATOR_PAGES];
