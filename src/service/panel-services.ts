import { networkInterfaces } from 'node:os';
import { halfAtMost, type ConnectionBounds } from './bounds/connection-bounds.ts';
import { builtPages } from '../api/panel/pages/built-pages.ts';
import { createLiveHub } from '../api/panel/live/live-hub.ts';
import { createRemovedApps } from '../api/panel/live/removed-apps.ts';
import { linkBody } from '../api/operator/users.ts';
import type { PanelDeps } from '../api/panel/panel-server.ts';
import { OPERATIONS } from '../api/panel/routes.ts';
import { openTo } from '../api/serve/role-rights.ts';
import { createSpentOnce } from '../api/panel/request/flows.ts';
import { createSealedCookies } from '../api/panel/request/sealed-cookie.ts';
import { createWatchedReads } from '../api/panel/live/shared-reads.ts';
import { ConfigError } from '../config/files/config-error.ts';
import type { ListenAddress } from '../config/config.ts';
import type { ListenerName } from '../config/listeners.ts';
import { isLoopbackHost, type PanelConfig } from '../config/panel.ts';
import { createRefusedSignIns } from '../domain/access-audit/refused-sign-ins.ts';
import { generateMarker } from '../domain/credentials/random-ids.ts';
import { Secret } from '../domain/credentials/secret.ts';
import { createGuardedEgress, type GuardedEgress } from '../domain/egress/guarded-egress.ts';
import { systemResolve } from '../domain/egress/names.ts';
import { LIMITS } from '../domain/limits.ts';
import type { LimitedAccounts } from '../domain/limited-accounts/service.ts';
import { argon2IsThere, createPasswords } from '../domain/passwords/password-hash.ts';
import type { RateWindow } from '../domain/rate-window/local-window.ts';
import { createCollectorTests } from '../domain/otel-config/collector-test.ts';
import { createReviewCounts } from '../domain/review-queue/review-counts.ts';
import { createServiceState } from '../domain/service-state/service-state.ts';
import { createRefreshTokens } from '../domain/sessions/refresh-tokens.ts';
import { createSignIns } from '../domain/sign-ins/sign-ins.ts';
import { createAcceptLink } from '../domain/users/accept-link.ts';
import { createPasskeys, setPassword } from '../domain/users/passkeys.ts';
import { createProviderUsers } from '../domain/users/provider-users.ts';
import { createProviderClient } from '../oidc/provider-client.ts';
import { createRenewRoles } from '../oidc/renew-roles.ts';
import { createEgress } from '../outgoing/egress.ts';
import { createAddressRates, createPanelRates } from './admission-services.ts';
import type { Core, DeviceServices, DomainServices } from './domain-services.ts';
import { watchedProvider } from './files/provider-files.ts';
import { publicUrlsOf } from './public-urls.ts';
import { ownersReference } from './reference.ts';

/* The part of the composition root that only the panel's listener uses. */

/**
 * The folder in which `npm run build:web` puts the pages, beside `src` in a checkout, in the image and in the package.
 */
const PAGES = new URL('../../web/dist/', import.meta.url);

/**
 * The public origin of the panel.
 * @param port of its listener on this replica, which the system may have chosen; 0 where another role serves it
 */
export function panelUrlOf({ config }: Pick<Core, 'config'>, port: number): string {
  const scheme = config.tls.panel === undefined ? 'http' : 'https';
  return config.panel?.url ?? `${scheme}://localhost:${port || (config.listen.panel?.port ?? 0)}`;
}

/** Makes the link for the first operator (`Service.firstLink`). @param address of the panel's listener */
export async function firstLink(
  core: Core,
  { links }: Pick<DomainServices, 'links'>,
  { host, port }: ListenAddress,
): Promise<Secret | undefined> {
  if (port === 0 || !isLoopbackHost(host)) return undefined;
  const { clock, random, deadlines } = core;
  const made = await links.forFirstOperator({
    actor: 'muster',
    requestId: generateMarker(random),
    at: clock.now(),
    deadline: clock.monotonic() + deadlines.requestMs,
  });
  return made && new Secret(linkBody(made, panelUrlOf(core, port)).url);
}

/** The parts of the panel's listener. */
interface PanelParts extends Pick<PanelDeps, 'services' | 'pages' | 'reference' | 'isTls' | 'rates'> {
  /** One round of the loop that renews the roles which the provider's groups give; undefined without a provider. */
  readonly renewRoles: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/** The way by which this process calls addresses that owners choose. */
const ownersEgress = (
  { clock, config: { egressAllow, egressProxy, store } }: Pick<Core, 'clock' | 'config'>,
  ownPorts: () => readonly number[],
): GuardedEgress =>
  createGuardedEgress({
    clock,
    resolve: systemResolve,
    allow: egressAllow,
    proxy: egressProxy,
    ownAddresses: () => Object.values(networkInterfaces()).flatMap((each = []) => each.map(({ address }) => address)),
    ownPorts,
    storeUrls: store.kind === 'etcd' ? store.endpoints : [],
  });

/** The services and settings of the panel's listener. @param port of the listener, once the system has chosen it */
export function panelDeps(
  core: Core,
  shared: {
    readonly domain: DomainServices;
    readonly limitedAccounts: LimitedAccounts;
    readonly rateWindow: RateWindow;
    readonly leaving: AbortSignal;
    readonly device: Pick<DeviceServices, 'pulse'>;
    readonly connections: ConnectionBounds;
    /** The addresses of this process's listeners, once the system has chosen their ports. */
    readonly listening: () => Readonly<Record<ListenerName, ListenAddress>> | undefined;
  },
  panel: PanelConfig,
  port: () => number,
): PanelParts {
  const { config, fleet, keyRing, random, clock, store, log } = core;
  const isTls = config.tls.panel !== undefined;
  if (panel.passwords && !argon2IsThere()) {
    throw new ConfigError('MUSTER_PANEL_PASSWORDS: this Node has no Argon2 (24.7 and newer have); set it to off');
  }
  const { mutations, links, userDeps } = shared.domain;
  const countReviews = createReviewCounts(core);
  const rateFill = (accountId: string): number => shared.rateWindow.fills().get(accountId) ?? 0;
  const watched = createWatchedReads({
    ...shared.domain,
    clock,
    countReviews,
    limitedAccounts: shared.limitedAccounts,
    rateFill,
  });
  const url = (): string => panelUrlOf(core, port());
  const providerUsers = createProviderUsers(userDeps);
  const refreshTokens = createRefreshTokens(core);
  const settings = watchedProvider(core.files, config.files, panel.provider);
  const egress = createEgress(core.config.egressProxy);
  const provider = settings && {
    client: createProviderClient({ provider: settings, panelUrl: url, clock, egress }),
    settings,
  };
  const { sessions } = shared.domain;
  return {
    renewRoles:
      provider &&
      createRenewRoles({
        ...core,
        ...provider.settings,
        client: provider.client,
        refreshTokens,
        providerUsers,
        sessions,
      }),
    services: {
      ...shared.domain,
      fleet,
      store,
      clock,
      limitedAccounts: shared.limitedAccounts,
      sealedCookies: createSealedCookies({ keyRing, random, clock }),
      random,
      passwords: createPasswords({ random }),
      passkeys: createPasskeys(userDeps),
      signIns: createSignIns(core),
      refusedSignIns: createRefusedSignIns(core),
      signInMetrics: core.metrics,
      acceptLink: createAcceptLink({ ...userDeps, links }),
      setPassword: (origin, change) => setPassword(mutations, origin, change),
      addressRates: createAddressRates({ clock }, panel),
      spentStates: createSpentOnce(),
      spentTickets: createSpentOnce(),
      provider,
      providerUsers,
      refreshTokens,
      log,
      panelUrl: url,
      collectorTests: createCollectorTests({
        ...mutations,
        metrics: core.metrics,
        envelope: core.envelope,
        egress: ownersEgress(core, () => Object.values(shared.listening() ?? {}).map(({ port: own }) => own)),
      }),
      publicUrls: () => publicUrlsOf(config, panel, shared.listening()),
      serviceState: createServiceState({ ...core, usages: shared.domain.usages }),
      watched,
      openTo: (role) => openTo(OPERATIONS, role),
      removedApps: createRemovedApps({ memory: fleet.memory, revision: () => core.watchCache.applied }),
      live: createLiveHub({
        ...core,
        watched,
        sessionUses: shared.domain.sessionUses,
        revision: () => core.watchCache.applied,
        streamsMax: halfAtMost(LIMITS.eventStreamsMax, shared.connections.panel),
        leaving: shared.leaving,
        pulse: shared.device.pulse,
        secondFactor: panel.secondFactor,
      }),
      pollIntervalSeconds: config.pollIntervalSeconds,
      panel: {
        ...panel,
        get url() {
          return url();
        },
      },
    },
    pages: builtPages(PAGES),
    reference: ownersReference(),
    isTls,
    rates: createPanelRates({ clock }),
  };
}
