import type { ListenAddress } from '../config/config.ts';
import type { ListenerName } from '../config/listeners.ts';
import {
  connectionBounds,
  fewerInWords,
  hasFew,
  listenersOf,
  OPEN_FILES_ENOUGH,
  openFilesMax,
  type ConnectionBounds,
} from './bounds/connection-bounds.ts';
import type { KubeApi } from '../controller/kubernetes/client/kube-api.ts';
import { runLoop, type Reconciler } from '../controller/loop.ts';
import { KEY_USES_EVERY_MS, type LastUses } from '../domain/last-uses/last-uses.ts';
import type { Secret } from '../domain/credentials/secret.ts';
import type { HeldPolls } from '../domain/devices/held-polls.ts';
import { refusedWithKeys } from '../domain/users/credential-list.ts';
import { LIMITS } from '../domain/limits.ts';
import type { RateWindow } from '../domain/rate-window/local-window.ts';
import { FORMAT_CHECK_EVERY_MS, newerFormat } from '../domain/replicas/format.ts';
import { ANNOUNCE_AGAIN_MS, ANNOUNCE_EVERY_MS } from '../domain/replicas/replicas.ts';
import { VERSION } from '../version.ts';
import { runController } from './controller.ts';
import { openCore, type CoreOptions } from './core.ts';
import { createRateServices } from './admission-services.ts';
import {
  createDeviceServices,
  createDomainServices,
  type Core,
  type DeviceServices,
  type DomainServices,
} from './domain-services.ts';
import { openOperator } from './kubernetes-operator.ts';
import { ROUNDS_PAUSE_MS } from './files/watched-file.ts';
import { opampFiles } from './opamp-services.ts';
import { firstLink } from './panel-services.ts';
import { addressesOf, inFlightOf, openListeners, type ListenerBounds, type Listeners } from './listeners.ts';

/** A running service. */
export interface Service {
  /** The address of the API listener; port 0 where this process does not have the role. */
  readonly api: ListenAddress;
  readonly device: ListenAddress;
  readonly ops: ListenAddress;
  /** The address of the panel; port 0 where it is off. */
  readonly panel: ListenAddress;
  /**
   * Resolves to the format of the store's records when a newer Muster has raised it above the one that this program
   * knows: the process must end then. Never rejects.
   */
  readonly outdated: Promise<number>;
  /**
   * Makes the link for the first operator, and voids those of earlier starts. Its address is a secret for the terminal.
   * @returns undefined where the panel is off or not on a loopback address, or there is an operator
   * @throws StoreUnavailable; Busy
   */
  firstLink(): Promise<Secret | undefined>;
  /**
   * Leaves the rotation, lets requests in flight complete, writes what is in memory, and closes. Idempotent.
   * @param atOnce without the delay in which the replica is not ready and still serves
   */
  stop(atOnce?: boolean): Promise<void>;
}

/** The options of the core, and further parts that tests replace. */
export interface ServiceOptions extends CoreOptions {
  /** For tests that fill a listener. */
  readonly bounds?: Partial<Record<ListenerName, ListenerBounds>>;
  /** For tests that bring faults to the API server of Kubernetes. */
  readonly wrapKubernetes?: (api: KubeApi) => KubeApi;
  /** For tests that send more than an account may: no variable widens the window. */
  readonly wrapRateWindow?: (window: RateWindow) => RateWindow;
  /** For tests: without election every controller works at once and unfenced. */
  readonly election?: boolean;
}

const DRAIN_MS = 10_000;

/**
 * Starts the service: core → domain services → listeners → loops.
 * @throws ConfigError when a file of the configuration cannot be used; Error in words when the store or a port cannot;
 * the signal's reason when it aborted meanwhile
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const openMax = openFilesMax();
  const connections = connectionBounds(listenersOf(options.config), openMax);
  await using opened = new AsyncDisposableStack();
  const core = await openCore(options, opened);
  // The process may have been asked to end while it waited for the store.
  options.signal?.throwIfAborted();
  const { config, log, store } = core;
  const leaving = new AbortController();
  const stopping = new AbortController();
  const { rateWindow, limitedAccounts } = await createRateServices(core);
  const domain = createDomainServices(core);
  const device = createDeviceServices(core, domain, {
    turnsMax: LIMITS.devicesPerTurnMax,
    connections,
    stopping: stopping.signal,
  });
  const operator = await openOperator(core, domain, options.wrapKubernetes);
  const listeners = await openListeners(
    core,
    {
      domain,
      rateWindow: options.wrapRateWindow?.(rateWindow.window) ?? rateWindow.window,
      limitedAccounts,
      device,
      opampFiles: opampFiles(core),
      leaving: leaving.signal,
      stopping: stopping.signal,
      operatorTrouble: () => operator?.health.trouble(),
      bounds: options.bounds ?? {},
      connections,
    },
    opened,
  );
  registerGauges(core, device.heldPolls, listeners);
  const outdated = Promise.withResolvers<number>();
  const background = [
    device.heartbeats,
    ...backgroundLoops(core, { ...domain, ...device }, listeners, outdated.resolve),
    rateWindow,
    ...(config.roles.has('controller')
      ? [
          leadership(
            { ...core, ...domain, ...device, operator, limitedAccounts, election: options.election ?? true },
            leaving.signal,
          ),
        ]
      : []),
  ];
  const ended = Promise.all(background.map((work) => work.run(stopping.signal)));
  // A stop does these from the last to the first, and then closes what was opened before them.
  opened.defer(() => finish(background, ended));
  opened.defer(() => drain(listeners));
  opened.defer(() => stopping.abort());
  const running = opened.move();
  log.info(
    { version: VERSION, store: store.backend, ...addressesOf(listeners), openFilesMax: openMax, connections },
    'muster is listening',
  );
  tellFewer(core, connections, openMax);

  async function close(atOnce: boolean): Promise<void> {
    leaving.abort();
    if (config.drainDelayMs > 0 && !atOnce) await leave(core, listeners);
    log.info({}, 'muster is stopping');
    await running.disposeAsync();
    log.info({}, 'muster has stopped');
  }
  let closing: Promise<void> | undefined;
  return {
    ...addressesOf(listeners),
    outdated: outdated.promise,
    firstLink: () => firstLink(core, domain, addressesOf(listeners).panel),
    stop: (atOnce = false) => (closing ??= close(atOnce)),
  };
}

/** Serves on until the clients have found other replicas. */
async function leave({ clock, log, config }: Core, { api, device, panel }: Listeners): Promise<void> {
  log.info({ delayMs: config.drainDelayMs }, 'muster leaves the rotation');
  for (const listener of [api, device, panel]) listener?.leave();
  await clock.sleep(config.drainDelayMs);
}

/** The ops listener closes last: until then /readyz says that the replica drains, and /livez that it lives. */
async function drain({ api, device, panel, ops }: Listeners): Promise<void> {
  await Promise.all([api?.drain(DRAIN_MS), device?.drain(DRAIN_MS), panel?.drain(DRAIN_MS)]);
  await ops.drain(DRAIN_MS);
}

async function finish(background: readonly Background[], ended: Promise<unknown>): Promise<void> {
  await ended;
  for (const work of background) await work.finish?.();
}

/**
 * The loops of a replica, whatever its roles. @param outdated is called with a format that a newer Muster has raised
 */
function backgroundLoops(
  core: Core,
  domain: DomainServices & Pick<DeviceServices, 'listening'>,
  { renewRoles }: Listeners,
  outdated: (format: number) => void,
): readonly Background[] {
  const { store, files, replicas } = core;
  return [
    kept(core, 'key-uses', KEY_USES_EVERY_MS, domain.keyUses),
    kept(core, 'session-uses', LIMITS.sessionUsesEveryMs, domain.sessionLastUses),
    ...(renewRoles
      ? [loop(core, { name: 'mapped-roles', everyMs: MAPPED_ROLES_EVERY_MS, reconcile: renewRoles })]
      : []),
    loop(core, { name: 'files', everyMs: ROUNDS_PAUSE_MS, reconcile: () => files.round() }),
    // Once the store is back, a rotation relies on the registry, and this replica charges nobody before.
    loop(core, {
      name: 'replicas',
      everyMs: ANNOUNCE_EVERY_MS,
      pauseMaxMs: ANNOUNCE_AGAIN_MS,
      wakes: () => replicas.registration()?.lost,
      async reconcile() {
        await replicas.round();
        domain.listening.answered();
      },
    }),
    // The format is read and not watched: a watch that is silent would go unnoticed.
    steady(core, 'format', FORMAT_CHECK_EVERY_MS, async () => {
      const newer = await newerFormat(store);
      if (newer !== undefined) outdated(newer);
    }),
  ];
}

/**
 * The leader's loops. Leadership ends at once, and not after the delay: a replica that stays may lead. With an embedded
 * store no replica stays, and purges until the end must leave the history in time (O10).
 */
const leadership = (deps: Parameters<typeof runController>[0], leaving: AbortSignal): Background => ({
  run: (stopping) => runController(deps, deps.store.backend === 'sqlite' ? stopping : leaving),
});

function tellFewer({ log }: Core, connections: ConnectionBounds, openMax: number | undefined): void {
  const fewer = fewerInWords(connections);
  if (fewer === undefined) return;
  const level = hasFew(connections) ? 'warn' : 'info';
  log[level](
    { openFilesMax: openMax, enough: OPEN_FILES_ENOUGH },
    `the limit of open files leaves fewer connections: ${fewer}`,
  );
}

function registerGauges(core: Core, heldPolls: HeldPolls, listeners: Listeners): void {
  const { metrics, store, watchCache } = core;
  const { memory } = core.fleet;
  metrics.accountCount(() => memory.accountCount);
  metrics.appCount(() => memory.appCount);
  metrics.usersRefusedWithKeys(() => refusedWithKeys(memory));
  metrics.heldPolls(() => heldPolls.count);
  metrics.requestsInFlight(() => inFlightOf(listeners).map(([listener, count]) => [{ listener }, count]));
  metrics.storeFullness(() => store.fullness());
  metrics.cacheReady(() => watchCache.ready);
  metrics.cacheLag(() => watchCache.lag);
}

/** Roles that the provider's groups give are looked at so often. */
const MAPPED_ROLES_EVERY_MS = 60_000;

/** Work that a replica does until it stops. */
interface Background {
  run(signal: AbortSignal): Promise<void>;
  /** Writes what it still has in memory. Never throws. */
  finish?(): Promise<void>;
}

const loop = (core: Core, reconciler: Reconciler): Background => ({
  run: (signal) => runLoop(core, reconciler, signal),
});

/** A loop whose pace stays the same through an outage. */
const steady = (core: Core, name: Reconciler['name'], everyMs: number, reconcile: () => Promise<void>): Background =>
  loop(core, { name, everyMs, pauseMaxMs: everyMs, reconcile });

const kept = (core: Core, name: Reconciler['name'], everyMs: number, uses: LastUses): Background => ({
  ...steady(core, name, everyMs, () => uses.flush()),
  finish: () => uses.finish(),
});
