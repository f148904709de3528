import type { IncomingMessage } from 'node:http';
import type { ListenerName } from '../config/listeners.ts';
import type { DeviceDeps } from '../api/device/deps.ts';
import { createDevicePlane, isEnrollment } from '../api/device/device-plane.ts';
import { AwaitedBodies, BODY_BYTES_MIN } from '../api/http/awaited-bodies.ts';
import type { Pool } from '../api/listener/admission.ts';
import { TrustedProxies } from '../api/http/client-address.ts';
import { errorBody, ERRORS, type ErrorCode } from '../api/http/errors.ts';
import type { FixedResponse } from '../api/listener/fixed-response.ts';
import type { TlsPair } from '../api/listener/http-server.ts';
import { inProportion, type ConnectionBounds } from './bounds/connection-bounds.ts';
import { openListener, type Listener, type ListenerOptions } from '../api/listener/listener.ts';
import { createOpsServer } from '../api/operator/ops-server.ts';
import { OwedBytes } from '../api/http/pieces/owed-bytes.ts';
import { createPanelServer } from '../api/panel/panel-server.ts';
import { createGateway } from '../api/v1/gateway.ts';
import { Semaphore } from '../concurrency/semaphore.ts';
import type { ListenAddress } from '../config/config.ts';
import { configuredPair } from '../config/files/configured-file.ts';
import type { Role } from '../config/environment.ts';
import { withLimitsCounted } from '../domain/access-audit/limits-met.ts';
import { fullInWords } from '../domain/fullness/write-class.ts';
import { keyMissing } from '../domain/keys/active-key.ts';
import { LIMITS } from '../domain/limits.ts';
import type { LimitedAccounts } from '../domain/limited-accounts/service.ts';
import type { RateWindow } from '../domain/rate-window/local-window.ts';
import { jitter } from '../time/jitter.ts';
import { createFailedAttempts } from './admission-services.ts';
import type { Core, DeviceServices, DomainServices } from './domain-services.ts';
import { opampRoute, type OpampFiles } from './opamp-services.ts';
import { panelDeps, panelUrlOf } from './panel-services.ts';
import { referenceFiles } from './reference.ts';
import { certificateUse, type Certificate } from './files/tls-certificate.ts';
import type { WatchedFile } from './files/watched-file.ts';

/** The load that a listener takes. */
export interface ListenerBounds {
  /** Requests in flight, held polls not counted; a further one is told to retry later. */
  readonly concurrencyMax: number;
  /** Open connections; for a further one, the one that has been idle longest is closed. */
  readonly connectionsMax: number;
  /** The connections of one address that have not authenticated; 0 is no bound. */
  readonly strangersPerAddressMax?: number;
  /** How long, in milliseconds, a connection stays open without a request. */
  readonly keepAliveMs?: number;
}

/**
 * The requests of a kubelet and of Prometheus take none of the others' slots: an overload must neither get the replica
 * killed nor hide itself. Scrapes share their answer, and wait for it together at the cost of a connection each.
 */
const POOLS: ReadonlyMap<string, Pool> = new Map<string, Pool>([
  ['/livez', 'probes'],
  ['/readyz', 'probes'],
  ['/metrics', 'unbounded'],
]);

export type Listeners = { readonly [Name in ListenerName]: Name extends 'ops' ? Listener : Listener | undefined } & {
  /** One round of the renewal of mapped roles; undefined where nobody signs in at a provider here. */
  readonly renewRoles: ((signal: AbortSignal) => Promise<void>) | undefined;
};

/** The addresses of the listeners; port 0 where this process does not have the role. */
export function addressesOf(listeners: Listeners): Record<ListenerName, ListenAddress> {
  const address = (listener: Listener | undefined): ListenAddress => ({
    host: listener?.host ?? '',
    port: listener?.port ?? 0,
  });
  return {
    api: address(listeners.api),
    device: address(listeners.device),
    ops: address(listeners.ops),
    panel: address(listeners.panel),
  };
}

/** Requests in flight by open listener, held polls among them. */
export function inFlightOf(listeners: Listeners): readonly (readonly [listener: ListenerName, requests: number])[] {
  const all = [
    ['api', listeners.api],
    ['device', listeners.device],
    ['ops', listeners.ops],
    ['panel', listeners.panel],
  ] as const;
  return all.flatMap(([name, listener]) => (listener ? [[name, listener.inFlight] as const] : []));
}

/** The services and signals that the listeners share with the loops. */
interface ListenerDeps {
  readonly rateWindow: RateWindow;
  readonly limitedAccounts: LimitedAccounts;
  readonly device: DeviceServices;
  readonly domain: DomainServices;
  readonly opampFiles: OpampFiles;
  /** Aborts when others are to take over: the replica is no longer ready and still serves. */
  readonly leaving: AbortSignal;
  readonly stopping: AbortSignal;
  /** Tells in words what the operator of custom resources misses; undefined when that is nothing. */
  readonly operatorTrouble: () => string | undefined;
  readonly bounds: Partial<Record<ListenerName, ListenerBounds>>;
  readonly connections: ConnectionBounds;
}

/**
 * Opens the listeners of this replica's roles, and the ops listener always. They are closed by `opened`.
 * @throws ConfigError when a certificate cannot be used; Error in words when a port cannot
 */
export async function openListeners(
  core: Core,
  { bounds, ...given }: ListenerDeps,
  opened: AsyncDisposableStack,
): Promise<Listeners> {
  const { clock, clockWatch, deadlines, log, metrics, fleet, config } = core;
  const serves = (role: Role): boolean => config.roles.has(role);
  const trustedProxies = new TrustedProxies(config.trustedProxies);
  const clientOf = (request: IncomingMessage): string => trustedProxies.clientOf(request);
  const awaitedBodies = new AwaitedBodies(LIMITS.bodyBytesAwaitedMax);
  const attempts = createFailedAttempts(core);
  const domain = { ...given.domain, apps: withLimitsCounted(given.domain.apps, attempts) };
  const shared = { ...given, domain };
  const cameByTls = (request: IncomingMessage): boolean => trustedProxies.cameByTls(request);
  const owedBytes = new OwedBytes({ strangersMax: LIMITS.owedBytesMax, knownMax: LIMITS.owedToKnownBytesMax });
  const base = { clock, deadlines, log, metrics, jitter, clientOf, cameByTls, awaitedBodies, owedBytes, attempts };
  const { apps, otelConfigs, keyUses, mutations } = shared.domain;
  const { rateWindow, limitedAccounts } = shared;

  const gateway = createGateway({
    ...base,
    fleet,
    rateWindow,
    limitedAccounts,
    keyUses,
    services: { apps, otelConfigs },
  });
  const deviceDeps: DeviceDeps = {
    ...mutations,
    ...base,
    ...shared.device,
    siteOf: (request) => trustedProxies.siteOf(request),
    clockWatch,
    stopping: shared.stopping,
    storeReads: new Semaphore(LIMITS.deviceStoreReadsMax),
    setBackReads: new Semaphore(LIMITS.deviceStoreReadsMax),
    enrollments: new Semaphore(bounds.device?.concurrencyMax ?? config.concurrencyMax.device),
    enrollmentBodies: new AwaitedBodies(enrollmentBytesMax(shared.connections)),
  };
  const devicePlane = createDevicePlane(deviceDeps, [opampRoute(core, deviceDeps, shared.opampFiles)]);
  let panelPort = 0;
  let listening: Readonly<Record<ListenerName, ListenAddress>> | undefined;
  const opsServer = createOpsServer({
    ...base,
    operatorTokens: core.operatorTokens,
    metricsAuth: config.metricsAuth,
    registry: metrics.registry,
    unready: () => unreadyReason(core, shared),
    degraded: () => degradedInWords(core, shared),
    services: { ...shared.domain, fleet, limitedAccounts, panelUrl: () => config.panel && panelUrlOf(core, panelPort) },
    publicFiles: referenceFiles(),
  });
  const to: ListenTo = { core, bounds, connections: shared.connections, trustedProxies };
  const open = (name: ListenerName, kind: ListenerKind): Promise<Listener> => listen(to, name, kind);
  const device: ListenerKind = {
    handle: devicePlane,
    belowRouting: 'invalid_request',
    overloaded: 'overloaded',
    perTurnMax: LIMITS.devicesPerTurnMax,
    parked: () => shared.device.heldPolls.count,
    poolOf: (request) => (isEnrollment(request) ? 'unbounded' : 'ordinary'),
  };
  const api: ListenerKind = { handle: gateway, belowRouting: 'not_found', overloaded: 'upstream_unavailable' };
  const ops: ListenerKind = {
    handle: opsServer,
    belowRouting: 'invalid_request',
    overloaded: 'overloaded',
    poolOf: ({ url = '' }) => POOLS.get(url.split('?', 1)[0] ?? '') ?? 'ordinary',
  };
  const panelParts =
    config.panel && panelDeps(core, { ...shared, listening: () => listening }, config.panel, () => panelPort);
  const panel: ListenerKind | undefined = panelParts && {
    handle: createPanelServer({ ...base, ...panelParts }),
    parked: () => panelParts.services.live.open,
    belowRouting: 'invalid_request',
    overloaded: 'overloaded',
  };
  const listeners: Listeners = {
    api: serves('api') ? opened.use(await open('api', api)) : undefined,
    device: serves('device') ? opened.use(await open('device', device)) : undefined,
    ops: opened.use(await open('ops', ops)),
    panel: panel && serves('api') ? opened.use(await open('panel', panel)) : undefined,
    renewRoles: panelParts?.renewRoles,
  };
  panelPort = listeners.panel?.port ?? 0;
  listening = addressesOf(listeners);
  return listeners;
}

interface ListenerKind extends Pick<ListenerOptions, 'handle' | 'perTurnMax' | 'parked' | 'poolOf'> {
  readonly belowRouting: ErrorCode;
  readonly overloaded: ErrorCode;
}

interface ListenTo {
  readonly core: Core;
  readonly trustedProxies: TrustedProxies;
  readonly bounds: Partial<Record<ListenerName, ListenerBounds>>;
  readonly connections: ConnectionBounds;
}

async function listen(
  { core, bounds, connections, trustedProxies }: ListenTo,
  name: ListenerName,
  { belowRouting, overloaded, ...kind }: ListenerKind,
): Promise<Listener> {
  const fixed = (code: ErrorCode, message?: string): FixedResponse => ({
    status: ERRORS[code].status,
    body: errorBody(code, message),
  });
  const { config, metrics } = core;
  let listener: Listener | undefined;
  const certificate = certificateOf(core, name, (pair) => listener?.present(pair));
  listener = await openListener({
    name,
    ...(certificate && { tls: certificate.current.pair }),
    ...(config.listen[name] ?? { host: '', port: 0 }),
    ...kind,
    belowRouting: fixed(belowRouting),
    otherScheme: fixed(belowRouting, `This port speaks ${certificate ? 'HTTPS: use https:' : 'HTTP: use http:'}//.`),
    overloaded: fixed(overloaded),
    trustedProxies,
    keepAliveMs: config.idleSeconds[name] * 1000,
    ...(bounds[name] ?? {
      concurrencyMax: config.concurrencyMax[name],
      connectionsMax: connections[name],
      strangersPerAddressMax: perAddressMax(config.connectionsPerAddressMax[name], name, connections),
    }),
    onRejected: (reason) => metrics.requestRejected(name, reason),
  });
  return listener;
}

/** The certificate of a listener, as its files have it. @param present is called with each new one */
function certificateOf(
  { config, files, clock, log }: Core,
  name: ListenerName,
  present: (pair: TlsPair) => void,
): WatchedFile<Certificate> | undefined {
  const listener = name.toUpperCase() as Uppercase<ListenerName>;
  const pair = configuredPair(config.files, `MUSTER_${listener}_TLS_CERT_FILE`, `MUSTER_${listener}_TLS_KEY_FILE`);
  return pair && files.add(certificateUse(pair, { clock, log }, (certificate) => present(certificate.pair)));
}

/** 0 is no bound. */
const perAddressMax = (max: number, name: ListenerName, connections: ConnectionBounds): number =>
  max === 0 ? 0 : inProportion(max, name, connections);

/**
 * Strangers whose bodies are on their way do not give way: they have a quarter of the connections at most, where these
 * are so few.
 */
const enrollmentBytesMax = ({ device }: ConnectionBounds): number =>
  Math.min(LIMITS.bodyBytesAwaitedMax, Math.floor(device / 4) * BODY_BYTES_MIN);

/** A full store is ready: it is read, and takes revocations. */
function degradedInWords(
  { store, storeHealth, files, replicas }: Core,
  { operatorTrouble }: Pick<ListenerDeps, 'operatorTrouble'>,
): string | undefined {
  const full = fullInWords(store.fullness());
  const all = [operatorTrouble(), files.trouble(), storeHealth.degraded, full, replicas.unregistered()?.message];
  const faults = all.filter((fault) => fault !== undefined);
  return faults.length === 0 ? undefined : faults.join('; ');
}

function unreadyReason(
  { config, watchCache, fleet, keyRing, storeHealth }: Core,
  { leaving, operatorTrouble }: Pick<ListenerDeps, 'leaving' | 'operatorTrouble'>,
): string | undefined {
  if (leaving.aborted) return 'draining';
  if (storeHealth.trouble !== undefined) return storeHealth.trouble;
  if (!watchCache.ready) return 'the store does not answer, or the watch cache is being filled';
  const serves = config.roles.has('api') || config.roles.has('device');
  // The API and the device plane do not need Kubernetes: a replica that serves them stays ready when the API server is
  // away.
  return keyMissing(fleet.memory.activeKey()?.record, keyRing) ?? (serves ? undefined : operatorTrouble());
}
