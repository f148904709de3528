import { ConfigError, type Config } from '../config/config.ts';
import type { ConfiguredFile } from '../config/files/configured-file.ts';
import type { AuditSink } from '../domain/audit-log/audit-log.ts';
import { generateMarker, systemRandom } from '../domain/credentials/random-ids.ts';
import { keysInUse, keysLacking } from '../domain/key-rotation/keys-in-use.ts';
import type { KeyRing } from '../domain/keys/key-ring.ts';
import { DEADLINES, type Deadlines } from '../domain/limits.ts';
import { refuseNewerFormat, refuseUnfitStore, settleFormat } from '../domain/replicas/format.ts';
import { guardedWrites } from '../domain/replicas/guarded-writes.ts';
import { StoreIdentity } from '../domain/replicas/store-identity.ts';
import type { Log, LogOutput } from '../log.ts';
import { createMetrics } from '../metrics/service-metrics.ts';
import { StoreHealth } from '../store/health.ts';
import { instrumented } from '../store/instrumented.ts';
import { Outages } from '../store/outages.ts';
import type { Store } from '../store/port.ts';
import { systemBoot, type Boot } from '../time/boot.ts';
import { systemClock, type Clock } from '../time/clock.ts';
import { VERSION } from '../version.ts';
import { createFleetServices, createReplicaServices, type Core } from './domain-services.ts';
import { faultOfAddresses } from './etcd-address.ts';
import { AuditFile, auditOutput } from './files/audit-file.ts';
import { watchedEtcdAccess, type EtcdConnections } from './files/etcd-files.ts';
import { generatedKeyFile, generatedTokenFile } from './files/generated-secrets.ts';
import { inUseInWords, watchedKeyFile } from './files/key-file.ts';
import { watchedOperatorTokens } from './files/operator-token-file.ts';
import { WatchedFiles } from './files/watched-file.ts';
import { prepareDataDirectory } from './data-directory.ts';
import { openConfiguredStore, openWithRetry } from './open-store.ts';
import type { StartProgress } from './start-deadline.ts';

/** The configuration and the log, and the parts that tests replace. */
export interface CoreOptions {
  readonly config: Config;
  readonly log: Log;
  /** The output of the log, where that may drop lines. */
  readonly logOutput?: Pick<LogOutput, 'append' | 'onDropped'>;
  /** The id that the lines of the log have; drawn where it is absent. */
  readonly replicaId?: string;
  readonly clock?: Clock;
  readonly boot?: Boot;
  /** For tests without an outage: a busy machine is as slow as one. */
  readonly deadlines?: Deadlines;
  /** Aborts when the process is asked to end, perhaps before it has started. */
  readonly signal?: AbortSignal;
  /** Is told what the start waits for. */
  readonly progress?: StartProgress;
  /** For tests that bring faults to the store, and for benchmarks. */
  readonly wrapStore?: (store: Store) => Store;
}

/**
 * Opens the parts that the whole process stands on: secrets, store, registry of replicas, memory and metrics. They are
 * closed by `opened`.
 * @throws ConfigError when the key file or the token file cannot be used; Error in words when the store cannot
 */
export async function openCore(options: CoreOptions, opened: AsyncDisposableStack): Promise<Core> {
  const { config, log, clock = systemClock, wrapStore = (store) => store, deadlines = DEADLINES } = options;
  const random = systemRandom();
  prepareDataDirectory(config);
  const metrics = createMetrics(VERSION);
  metrics.rolesAre(config.roles);
  options.logOutput?.onDropped((lines) => metrics.logLinesDropped(lines));
  const identity = new StoreIdentity(config.storeId);
  const files = new WatchedFiles({ clock, log, metrics });
  // A fault of the configuration is told before the store is waited for.
  const readable = Promise.withResolvers<Store>();
  const watchKeys = (file: ConfiguredFile): KeyRing =>
    watchedKeyFile(files, file, async (numbers) => await neededKeys(await readable.promise, numbers));
  const configured = config.files.MUSTER_KEY_FILE && watchKeys(config.files.MUSTER_KEY_FILE);
  const backend = wrapStore(await openBackend({ ...options, clock, deadlines }, files, identity));
  let registration = (): object | undefined => undefined;
  const storeHealth = new StoreHealth(log);
  const observed = instrumented(backend, clock, storeHealth.observing(metrics), new Outages({ clock, log }));
  const store: Store = opened.use({ ...observed, ...guardedWrites(observed, () => registration()) });
  // A lost key is told before anything is written into the store, and a wrong store before a key is made for it.
  await refuseUnfitStore(store, { identity });
  readable.resolve(store);
  const { dataDir, ownOperatorTokens, operatorTokens } = config;
  // With an embedded store the secrets that are not configured lie beside its data; with etcd the configuration
  // requires them. A key file is only made for a store that is new.
  const tokenFile = operatorTokens
    ? config.files.MUSTER_OPERATOR_TOKEN_FILE
    : await generatedTokenFile(dataDir, random);
  const secrets = {
    operatorTokens: watchedOperatorTokens(files, ownOperatorTokens, tokenFile),
    keyRing: configured ?? watchKeys(await generatedKeyFile(dataDir, random, store)),
  };
  await settleFormat(store, { identity, random });
  const { replicaId = generateMarker(random) } = options;
  const { keyRing } = secrets;
  const { replicas, clockWatch } = createReplicaServices({ store, clock, log, metrics, replicaId, ...secrets });
  metrics.clockTrusted(() => clockWatch.trusted());
  metrics.wallClock(() => clock.now() / 1000);
  registration = () => replicas.registration();
  opened.defer(() => replicas.release());
  metrics.replicaRegistered(() => replicas.unregistered() === undefined);
  const unfit = await replicas.announceAtStart();
  if (unfit !== undefined) throw new ConfigError(`MUSTER_KEY_FILE: ${unfit}`);
  // Not before the announcement: from then on a rotation asks this replica for the key, so no other one comes into use.
  const lacking = await keysLacking(store, keyRing);
  if (lacking.length > 0) throw new ConfigError(`MUSTER_KEY_FILE: ${inUseInWords(lacking)}`);
  // From here on whoever raises the format waits for this replica; one that was raised before is seen here.
  await refuseNewerFormat(store);
  const services = createFleetServices({ store, clock, log, metrics, deadlines, keyRing, random });
  opened.use(services.watchCache);
  services.watchCache.start();
  return {
    config,
    log,
    clock,
    metrics,
    store,
    random,
    boot: options.boot ?? systemBoot(),
    replicaId,
    deadlines,
    replicas,
    clockWatch,
    storeHealth,
    files,
    auditSink: auditSinkOf(options, opened),
    ...services,
    ...secrets,
  };
}

/**
 * Opens the store that the configuration names, once it answers.
 * @param mark tells it from another one
 * @throws as `openCore`
 */
async function openBackend(
  { config, log, clock, deadlines, signal, progress }: CoreOptions & Pick<Core, 'clock' | 'deadlines'>,
  files: WatchedFiles,
  mark: StoreIdentity,
): Promise<Store> {
  let connections: EtcdConnections | undefined;
  const access = watchedEtcdAccess(files, config, {
    clock,
    log,
    connections: () => connections,
    faultOf: async (url, tls, answerMs) => (await faultOfAddresses([url], tls, answerMs))?.fault,
  });
  const renewable = (opened: EtcdConnections): void => void (connections = opened);
  const warn = (message: string): void => log.warn({}, message);
  const open = (): Promise<Store> => openConfiguredStore(config, warn, { ...deadlines, mark, access, renewable });
  return await openWithRetry(open, { clock, log, signal, waiting: (cause) => progress?.waiting(cause) });
}

/** @throws Error in words where it cannot be told */
async function neededKeys(store: Store, numbers: readonly number[]): Promise<readonly number[]> {
  try {
    return await keysInUse(store, numbers);
  } catch (error) {
    const why = `key ${numbers.join(', ')} is not in it, and whether it is in use cannot be told: the store does not answer`;
    throw new Error(why, { cause: error });
  }
}

function auditSinkOf({ config, logOutput }: CoreOptions, opened: AsyncDisposableStack): AuditSink | undefined {
  if (config.auditLog?.kind === 'file') return opened.use(new AuditFile(config.auditLog.path));
  return config.auditLog && logOutput && auditOutput(logOutput);
}
