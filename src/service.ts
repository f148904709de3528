import { createGateway } from './api/server.ts';
import { createDevicePlane } from './api/device/server.ts';
import { errorBody, ERRORS, type ErrorCode } from './api/errors.ts';
import { openListener, type Listener } from './api/listener.ts';
import { createOpsServer } from './api/ops-server.ts';
import { systemClock, type Clock } from './clock.ts';
import { ConfigError, type Config, type ListenAddress, type Role } from './config.ts';
import { openConfiguredStore } from './configured-store.ts';
import { createControllerMetrics, type ControllerMetrics } from './controller-metrics.ts';
import { runController } from './controller/controller.ts';
import { runLoop } from './controller/loop.ts';
import { createAccounts } from './domain/accounts.ts';
import { createApps } from './domain/apps.ts';
import { createAuditVerifier } from './domain/audit-verify.ts';
import { createBackups } from './domain/backup.ts';
import { createClockWatch, type ClockWatch } from './domain/clock-watch.ts';
import { createDeviceConfigs } from './domain/device-config.ts';
import { createChangeWaits, createVersionReports, type ChangeWaits } from './domain/device-plane.ts';
import { createDeviceRate } from './domain/device-rate.ts';
import { createEnvelope, type Envelope } from './domain/envelope.ts';
import { createFleet, type Fleet } from './domain/fleet.ts';
import { FleetMemory } from './domain/fleet-memory.ts';
import { settleFormat } from './domain/format.ts';
import { createHeartbeats, type Heartbeats } from './domain/heartbeats.ts';
import { createKeptAnswers } from './domain/idempotency.ts';
import { LIMITS } from './domain/limits.ts';
import { parseKeyRing, type KeyRing } from './domain/key-ring.ts';
import { createKeyRotation } from './domain/key-rotation.ts';
import type { MutationDeps } from './domain/mutation.ts';
import { createOtelConfigs } from './domain/otel-config.ts';
import { createReviewQueue } from './domain/review-queue.ts';
import { createRollouts } from './domain/rollout.ts';
import { createLocalRateWindow, type RateWindow } from './domain/rate-window.ts';
import type { Price } from './domain/prices.ts';
import { DIRECTORY_GROUPS } from './domain/records.ts';
import { ANNOUNCE_EVERY_MS, createReplicas, type Replicas } from './domain/replicas.ts';
import { restoreWindows, saveWindows } from './domain/saved-windows.ts';
import { createSharedRateWindow } from './domain/shared-window/shared-rate-window.ts';
import { Secret } from './domain/secret.ts';
import { drawMarker, systemDraw, type Draw } from './domain/secrets.ts';
import { createTallyLanes } from './domain/tally-lane.ts';
import { createUsages } from './domain/usage.ts';
import { keyMissing } from './domain/writing-key.ts';
import { keptKeyPath, keptKeyRing, keptOperatorTokens } from './embedded-secrets.ts';
import { watchedKeyFile, type KeyFile } from './key-file.ts';
import type { Log } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { createRateMetrics, type RateMetrics } from './rate-metrics.ts';
import { Directory } from './store/directory.ts';
import { observed } from './store/observed.ts';
import type { Store } from './store/port.ts';
import { VERSION } from './version.ts';

export interface Service {
  /** Port 0 where this process has not the role. */
  readonly api: ListenAddress;
  readonly device: ListenAddress;
  readonly ops: ListenAddress;
  /** Leaves the rotation, answers what is under way, writes what is in memory, and closes. Idempotent. */
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly config: Config;
  readonly log: Log;
  readonly clock?: Clock;
  /** For tests that bring trouble to the store. */
  readonly wrapStore?: (store: Store) => Store;
  /** For tests that fill a listener. */
  readonly bounds?: Partial<Record<ListenerName, ListenerBounds>>;
  /** For tests: off, every controller works at once and unfenced. */
  readonly election?: boolean;
}

type ListenerName = 'api' | 'device' | 'ops';

interface ListenerBounds {
  /** Requests in flight; one above it is told to come back later. */
  readonly concurrencyMax: number;
  /** Open connections; one above it is closed at once. */
  readonly connectionsMax: number;
}

const DRAIN_MS = 10_000;
/**
 * What bounds requests is the work that an event loop can do in a few seconds. Held polls are cheap: a full house of
 * them (LIMITS.heldPollsMax) leaves the device listener 10,000 places. A connection costs memory and a file descriptor
 * even where nobody speaks on it.
 */
const BOUNDS: Readonly<Record<ListenerName, ListenerBounds>> = {
  api: { concurrencyMax: 2_000, connectionsMax: 10_000 },
  device: { concurrencyMax: LIMITS.heldPollsMax + 10_000, connectionsMax: 100_000 },
  ops: { concurrencyMax: 200, connectionsMax: 1_000 },
};

interface Core {
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: Metrics & ControllerMetrics & RateMetrics & { gauges: ReturnType<typeof createMetrics>['gauges'] };
  readonly store: Store;
  readonly draw: Draw;
  readonly keyRing: KeyRing;
  readonly keyFile: KeyFile;
  readonly envelope: Envelope;
  readonly replicas: Replicas;
  readonly clockWatch: ClockWatch;
  readonly operatorTokens: readonly Secret[];
  readonly directory: Directory;
  readonly fleet: Fleet;
  readonly bounds: Readonly<Record<ListenerName, ListenerBounds>>;
  /** Of this process, from start to stop. */
  readonly replicaId: string;
  readonly election: boolean;
}

/**
 * The composition root: config → store → memory → listeners → loops.
 * @throws ConfigError when the key file is none; Error in words when the store or a port cannot be used
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  await using opened = new AsyncDisposableStack();
  const core = await openCore(options, opened);
  const { log, clock, metrics, store, fleet, directory } = core;
  const stopping = new AbortController();
  const rateWindow = await openRateWindow(core);
  const heartbeats = createHeartbeats({ store, memory: fleet.memory, clock, log, metrics });
  const waits = createChangeWaits(fleet);
  registerGauges(core, rateWindow.window, waits);

  const listeners = await openListeners(
    core,
    { rateWindow: rateWindow.window, heartbeats, waits, stopping: stopping.signal },
    opened,
  );
  const loops = Promise.all([
    heartbeats.run(stopping.signal),
    rateWindow.run(stopping.signal),
    ...replicaLoops(core, stopping.signal),
    ...backgroundLoops(core, stopping.signal),
  ]);
  const whole = opened.move();
  log.info({ version: VERSION, store: store.backend, ...addressesOf(listeners) }, 'muster is listening');

  async function close(): Promise<void> {
    log.info({}, 'muster is stopping');
    stopping.abort();
    // The ops listener stays until the others are done: /readyz says that the replica drains, /livez that it lives.
    await Promise.all([listeners.api?.drain(DRAIN_MS), listeners.device?.drain(DRAIN_MS)]);
    await listeners.ops.drain(DRAIN_MS);
    await loops;
    await heartbeats.finish();
    await rateWindow.finish();
    await directory[Symbol.asyncDispose]();
    await whole.disposeAsync();
    log.info({}, 'muster has stopped');
  }
  let closing: Promise<void> | undefined;
  return { ...addressesOf(listeners), stop: () => (closing ??= close()) };
}

interface OpenRateWindow {
  readonly window: RateWindow;
  run(signal: AbortSignal): Promise<void>;
  /** Keeps for others, or for the next start, what they must know. Never throws. */
  finish(): Promise<void>;
}

/** H13: one process counts exactly, in memory; on a store that replicas share they share the window, too. */
async function openRateWindow(core: Core): Promise<OpenRateWindow> {
  const { store, clock, log } = core;
  if (store.backend !== 'sqlite') {
    const shared = createSharedRateWindow(core);
    return { window: shared, run: (signal) => shared.run(signal), finish: () => shared.finish() };
  }
  const local = createLocalRateWindow(clock);
  await restoreWindows(store, local);
  return {
    window: local,
    run: async () => undefined,
    // A disk that is full must not keep the process from ending: at worst the accounts begin a new window.
    finish: () =>
      saveWindows(store, local).catch((error: unknown) => {
        log.warn({ err: error }, 'the rate windows could not be kept over the restart');
      }),
  };
}

type Listeners = { readonly [Name in ListenerName]: Name extends 'ops' ? Listener : Listener | undefined };

function addressesOf(listeners: Listeners): Record<ListenerName, ListenAddress> {
  const address = (listener: Listener | undefined): ListenAddress => ({
    host: listener?.host ?? '',
    port: listener?.port ?? 0,
  });
  return { api: address(listeners.api), device: address(listeners.device), ops: address(listeners.ops) };
}

async function openCore(options: ServiceOptions, opened: AsyncDisposableStack): Promise<Core> {
  const { config, log, clock = systemClock, wrapStore = (store) => store } = options;
  const draw = systemDraw();
  const secrets = secretsOf(config, log, draw);
  const base = createMetrics(VERSION);
  const metrics = { ...base, ...createControllerMetrics(base.registry), ...createRateMetrics(base.registry) };
  const store = opened.use(
    observed(wrapStore(await openConfiguredStore(config, (message) => log.warn({}, message))), clock, metrics),
  );
  await settleFormat(store);
  const replicaId = drawMarker(draw);
  const { keyRing } = secrets;
  const replicas = createReplicas({ store, clock, log, metrics, replicaId, version: VERSION, keyRing });
  opened.defer(() => replicas.release());
  const unfit = await replicas.announce();
  if (unfit !== undefined) throw new ConfigError(`MUSTER_KEY_FILE: ${unfit}`);
  const clockWatch = createClockWatch({ clock, log, othersDisagree: () => replicas.othersDisagree() });
  metrics.clockTrusted(() => clockWatch.trusted());
  const memory = new FleetMemory({
    onUnreadable(error) {
      metrics.recordUnreadable();
      log.error({ err: error }, 'a record cannot be read; what depends on it is refused');
    },
  });
  const directory = new Directory({ store, sink: memory, clock, log, metrics, groups: DIRECTORY_GROUPS });
  opened.use(directory);
  directory.start();
  return {
    config,
    log,
    clock,
    metrics,
    store,
    draw,
    directory,
    fleet: createFleet(store, directory, memory),
    bounds: { ...BOUNDS, ...options.bounds },
    replicaId,
    replicas,
    clockWatch,
    envelope: createEnvelope(keyRing, draw),
    election: options.election ?? true,
    ...secrets,
  };
}

/** What is not configured, an embedded store keeps beside its data; with etcd the configuration has refused before. */
function secretsOf(config: Config, log: Log, draw: Draw): Pick<Core, 'keyRing' | 'keyFile' | 'operatorTokens'> {
  const tokens = config.operatorTokens ?? keptOperatorTokens(config.dataDir, draw);
  const first = config.keyFile === undefined ? keptKeyRing(config.dataDir, draw) : configuredKeyRing(config.keyFile);
  const keyFile = watchedKeyFile(config.keyFilePath ?? keptKeyPath(config.dataDir), first, log);
  return { keyFile, keyRing: keyFile.ring, operatorTokens: tokens.map((token) => new Secret(token)) };
}

function configuredKeyRing(text: string): KeyRing {
  try {
    return parseKeyRing(text);
  } catch (error) {
    throw new ConfigError(`MUSTER_KEY_FILE: ${(error as Error).message}`);
  }
}

function registerGauges(core: Core, rateWindow: RateWindow, waits: ChangeWaits): void {
  const { memory } = core.fleet;
  core.metrics.gauges({
    accounts: () => memory.accountCount,
    apps: () => memory.appCount,
    heldPolls: () => waits.held(),
    rateFill: () => rateWindow.fills(),
    accountsLimitedLately: () => rateWindow.accountsLimitedLately(),
    storeFullness: () => core.store.fullness(),
    directoryReady: () => core.directory.ready,
    storeRevisionLag: () => core.directory.lag,
  });
}

interface Shared {
  readonly rateWindow: RateWindow;
  readonly heartbeats: Heartbeats;
  readonly waits: ChangeWaits;
  readonly stopping: AbortSignal;
}

async function openListeners(core: Core, shared: Shared, opened: AsyncDisposableStack): Promise<Listeners> {
  const { clock, clockWatch, log, metrics, store, fleet, draw, config, envelope } = core;
  const { random } = Math;
  const serves = (role: Role): boolean => config.roles.has(role);
  const base = { clock, log, metrics, random };
  const mutations: MutationDeps = { store, fleet, clock, draw, log, metrics };
  const apps = createApps({
    ...mutations,
    clockWatch,
    lanes: createTallyLanes(mutations),
    kept: createKeptAnswers(store, envelope),
  });
  const otelConfigs = createOtelConfigs({ ...mutations, envelope });

  const gateway = createGateway({ ...base, fleet, rateWindow: shared.rateWindow, services: { apps, otelConfigs } });
  const devicePlane = createDevicePlane({
    ...mutations,
    ...base,
    ...shared,
    clockWatch,
    configs: createDeviceConfigs(envelope, config.pollIntervalSeconds),
    rate: createDeviceRate(config.deviceRatePerMinute, clock),
    reportVersion: createVersionReports(mutations),
  });
  const accounts = createAccounts({ ...mutations, clockWatch });
  const opsServer = createOpsServer({
    ...base,
    operatorTokens: core.operatorTokens,
    registry: metrics.registry,
    unready: () => unreadyReason(core, shared.stopping),
    services: {
      accounts,
      auditVerifier: createAuditVerifier({ store, fleet }),
      reviewQueue: createReviewQueue(mutations),
      rollouts: createRollouts(mutations, config.pollIntervalSeconds),
      keyRotation: createKeyRotation(core),
      backups: createBackups({ store, clock, draw, version: VERSION }),
      usages: createUsages({ store, accounts, clock, price: configuredPrice(config) }),
    },
  });
  return {
    api: serves('api')
      ? opened.use(await listen(core, 'api', gateway, 'not_found', 'upstream_unavailable'))
      : undefined,
    device: serves('device')
      ? opened.use(await listen(core, 'device', devicePlane, 'invalid_request', 'overloaded'))
      : undefined,
    ops: opened.use(await listen(core, 'ops', opsServer, 'invalid_request', 'upstream_unavailable')),
  };
}

function listen(
  { config, metrics, bounds }: Core,
  name: ListenerName,
  handle: Parameters<typeof openListener>[0]['handle'],
  belowRouting: ErrorCode,
  overloaded: ErrorCode,
): Promise<Listener> {
  const fixed = (code: ErrorCode): { status: number; body: string } => ({
    status: ERRORS[code].status,
    body: errorBody(code),
  });
  return openListener({
    name,
    ...config.listen[name],
    handle,
    belowRouting: fixed(belowRouting),
    overloaded: fixed(overloaded),
    ...bounds[name],
    onTurnedAway: (reason) => metrics.requestShed(name, reason),
  });
}

function unreadyReason({ directory, fleet, keyRing }: Core, stopping: AbortSignal): string | undefined {
  if (stopping.aborted) return 'draining';
  if (!directory.ready) return 'the store does not answer, or the directory is being filled';
  return keyMissing(fleet.memory.writingKey()?.record, keyRing);
}

const KEY_FILE_EVERY_MS = 10_000;

/** What every replica does, whatever its roles. */
function replicaLoops(core: Core, signal: AbortSignal): Promise<void>[] {
  const { keyFile, replicas } = core;
  // It keeps its pace through an outage: once the store is back, a rotation relies on who is on the registry.
  const announcing = { everyMs: ANNOUNCE_EVERY_MS, pauseMaxMs: ANNOUNCE_EVERY_MS };
  return [
    runLoop(core, { name: 'key-file', everyMs: KEY_FILE_EVERY_MS, reconcile: () => keyFile.reread() }, signal),
    runLoop(core, { name: 'replicas', ...announcing, reconcile: () => replicas.round() }, signal),
  ];
}

function backgroundLoops(core: Core, signal: AbortSignal): Promise<void>[] {
  const { config } = core;
  const compacts = config.store.kind === 'sqlite' || config.store.compact;
  return config.roles.has('controller')
    ? [
        runController(
          {
            ...core,
            compacts,
            auditRetentionDays: config.auditRetentionDays,
            pollIntervalSeconds: config.pollIntervalSeconds,
            price: configuredPrice(config),
            meteringDelayMs: config.metering.delaySeconds * 1000,
          },
          signal,
        ),
      ]
    : [];
}

/** What is recorded from now on; a night has what was on record at its midnight. */
function configuredPrice({ metering }: Config): Price {
  return { price: metering.pricePerDaemonMonth, currency: metering.currency };
}
