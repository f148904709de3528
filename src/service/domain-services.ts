import { halfAtMost, type ConnectionBounds } from './bounds/connection-bounds.ts';
import { TurnQueue } from '../concurrency/turn-queue.ts';
import type { Config } from '../config/config.ts';
import { createAuditedExport } from '../domain/access-audit/audited-exports.ts';
import { createAccounts } from '../domain/accounts/accounts.ts';
import { createApiKeys } from '../domain/accounts/api-keys.ts';
import { createBatchAnswers, OTHER_BATCH } from '../domain/apps/batch-answers.ts';
import { createApps } from '../domain/apps/apps.ts';
import { createAuditEntries } from '../domain/audit/reading/list.ts';
import type { AuditSink } from '../domain/audit-log/audit-log.ts';
import { createAuditVerifier } from '../domain/audit/verify.ts';
import { createBackups } from '../domain/backup/backup.ts';
import type { RandomSource } from '../domain/credentials/random-ids.ts';
import { createDeviceRate } from '../domain/devices/device-rate-limit.ts';
import { createHeartbeats } from '../domain/devices/heartbeats.ts';
import { createListening } from '../domain/devices/listening.ts';
import { createHeldPolls, heldPollBounds } from '../domain/devices/held-polls.ts';
import { createRecentlyRejected } from '../domain/devices/recently-rejected.ts';
import { createSharedCredentials } from '../domain/shared-credentials/shared-credentials.ts';
import { createSilentWatchCheck } from '../domain/devices/silent-watch.ts';
import { createVersionReports } from '../domain/devices/version-reports.ts';
import { createFleet } from '../domain/fleet/fleet.ts';
import { FleetMemory } from '../domain/fleet/memory.ts';
import { createPulse } from '../domain/fleet/pulse.ts';
import { createKeyRotation } from '../domain/key-rotation/key-rotation.ts';
import { createEnvelope } from '../domain/keys/envelope.ts';
import type { KeyRing } from '../domain/keys/key-ring.ts';
import { createLastUses } from '../domain/last-uses/last-uses.ts';
import { LIMITS, type Deadlines } from '../domain/limits.ts';
import type { Price } from '../domain/metering/prices.ts';
import { createUsages } from '../domain/metering/usage.ts';
import { createAccountQueues } from '../domain/mutation/account-queue.ts';
import { createIdempotencyRecords } from '../domain/mutation/idempotency.ts';
import { createOperatorCreates } from '../domain/mutation/operator-creates.ts';
import type { MutationDeps } from '../domain/mutation/step.ts';
import { createDeviceConfigs } from '../domain/otel-config/delivered-config.ts';
import { createOtelConfigs } from '../domain/otel-config/otel-config.ts';
import { createAccountRollouts } from '../domain/rollouts/account-rollouts.ts';
import { staleAfterMs } from '../domain/rollouts/rollout.ts';
import { createRollouts } from '../domain/rollouts/rollouts.ts';
import { CACHED_GROUPS } from '../domain/records/keys.ts';
import { createQuotas } from '../domain/quota/quotas.ts';
import type { OperatorToken } from '../domain/replicas/operator-tokens.ts';
import { createReplicas } from '../domain/replicas/replicas.ts';
import { createAppConsents } from '../domain/resource-bindings/app-consents.ts';
import { createBindings } from '../domain/resource-bindings/bindings.ts';
import { createBoundAccounts } from '../domain/resource-bindings/bound-accounts.ts';
import { createBoundApps } from '../domain/resource-bindings/bound-apps.ts';
import { createGoneResources } from '../domain/resource-bindings/gone-resources.ts';
import { createOfferedNamespaces } from '../domain/resource-bindings/offered-namespaces.ts';
import { createRecoveries } from '../domain/resource-bindings/recoveries.ts';
import { createBoundKeys } from '../domain/resource-bindings/bound-keys.ts';
import { createReviewQueue } from '../domain/review-queue/review-queue.ts';
import { createSessions } from '../domain/sessions/sessions.ts';
import { createSessionUses } from '../domain/sessions/session-uses.ts';
import { createClockWatch } from '../domain/status-history/clock-trust.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics/service-metrics.ts';
import type { StoreHealth } from '../store/health.ts';
import type { Expectation, Store } from '../store/port.ts';
import { WatchCache } from '../store/watch-cache/watch-cache.ts';
import type { Boot } from '../time/boot.ts';
import type { Clock } from '../time/clock.ts';
import { VERSION } from '../version.ts';
import type { WatchedFiles } from './files/watched-file.ts';
import { createUserServices } from './user-services.ts';

/*
 * The composition root of the domain: this file, admission-services.ts, opamp-services.ts, panel-services.ts,
 * term-services.ts and user-services.ts alone construct its services (test/repository/composition.test.ts).
 * Each function makes the services of one stage or one part of the process, in the order in which they can be made.
 */

/** The values that the first services are made from. */
interface Base {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/**
 * The registry of replicas, and the judgement of the clock that rests on it: both are needed before the process serves.
 */
export function createReplicaServices(
  deps: Base & Pick<Parameters<typeof createReplicas>[0], 'replicaId' | 'keyRing' | 'operatorTokens'>,
) {
  const { clock, log, store } = deps;
  const replicas = createReplicas({ ...deps, version: VERSION, isShared: store.backend !== 'sqlite' });
  const clockWatch = createClockWatch({ clock, log, othersDisagree: () => replicas.othersDisagree() });
  return { replicas, clockWatch };
}

/** The fleet in memory, the watch cache that fills it once it is started, and the envelope that seals secrets. */
export function createFleetServices(
  deps: Base & {
    readonly deadlines: Deadlines;
    readonly keyRing: KeyRing;
    readonly random: RandomSource;
  },
) {
  const { store, clock, log, metrics, deadlines, keyRing, random } = deps;
  const memory = new FleetMemory({
    clock,
    onUnreadable(error) {
      metrics.recordUnreadable();
      log.error({ err: error }, 'a record cannot be read; what depends on it is refused');
    },
  });
  const watchCache = new WatchCache({ store, sink: memory, clock, log, metrics, groups: CACHED_GROUPS });
  return {
    watchCache,
    fleet: createFleet(store, watchCache, memory, deadlines),
    envelope: createEnvelope(keyRing, random),
  };
}

/** The parts that services, listeners and loops stand on, while the process runs. */
export interface Core extends Base, ReturnType<typeof createReplicaServices>, ReturnType<typeof createFleetServices> {
  readonly config: Config;
  readonly random: RandomSource;
  readonly keyRing: KeyRing;
  readonly boot: Boot;
  /** Identifies this process from start to stop. */
  readonly replicaId: string;
  readonly deadlines: Deadlines;
  readonly files: WatchedFiles;
  /** The tokens that are valid at present; another list whenever they change. */
  readonly operatorTokens: () => readonly OperatorToken[];
  readonly storeHealth: StoreHealth;
  /** The place of the entries of all audits as lines; undefined for none. */
  readonly auditSink: AuditSink | undefined;
}

/**
 * Makes the services that every role uses: the API, the operator API and the operator of custom resources share them.
 * None of them starts anything.
 */
export function createDomainServices(core: Core) {
  const { store, fleet, clock, clockWatch, random, log, metrics, envelope, keyRing, config } = core;
  const quotas = createQuotas({ fleet, clock, accountQuotaMb: config.accountQuotaMb });
  const mutations: MutationDeps = { store, fleet, clock, random, log, metrics, quotas };
  const queues = createAccountQueues(mutations);
  const keysOf = (accountId: string): readonly string[] =>
    (fleet.memory.account(accountId)?.apiKeys() ?? []).map(({ id }) => id);
  const keyUses = createLastUses('API keys', { store, clock, log, idsOf: keysOf });
  const operatorCreates = createOperatorCreates({ ...mutations, envelope });
  const sessionsOf = (userId: string): readonly string[] =>
    [...fleet.memory.sessionsOf(userId), ...fleet.memory.accessTokensOf(userId)].map(({ id }) => id);
  const sessionLastUses = createLastUses('sessions', { store, clock, log, idsOf: sessionsOf });
  const sessionUses = createSessionUses({ lastUses: sessionLastUses, clock, idleMs: config.sessions.idleMs });
  const accounts = createAccounts({ ...mutations, clockWatch, operatorCreates });
  return {
    mutations,
    queues,
    accounts,
    apiKeys: createApiKeys({ ...mutations, keyUses, operatorCreates }),
    keyUses,
    auditEntries: createAuditEntries({ store, fleet }),
    apps: createApps({
      ...mutations,
      clockWatch,
      queues,
      idempotency: createIdempotencyRecords(store, envelope),
      keyAnswers: createIdempotencyRecords(store, envelope, undefined, LIMITS.idempotencyKeptPerKeyMax),
      batchAnswers: createBatchAnswers(
        store,
        createIdempotencyRecords(store, envelope, OTHER_BATCH, LIMITS.batchesKeptPerAccountMax),
      ),
    }),
    appConsents: createAppConsents(mutations),
    recoveries: createRecoveries(mutations),
    otelConfigs: createOtelConfigs({ ...mutations, envelope, staleAfterMs: staleAfterMs(config.pollIntervalSeconds) }),
    rollouts: createRollouts(mutations, config.pollIntervalSeconds),
    accountRollouts: createAccountRollouts(core),
    auditVerifier: createAuditVerifier({ store, fleet }),
    reviewQueue: createReviewQueue(mutations),
    keyRotation: createKeyRotation(core),
    backups: createBackups({ ...mutations, metrics, keyRing, version: VERSION }),
    auditExport: createAuditedExport({ ...mutations, metrics }),
    usages: createUsages({ store, accounts, clock, price: configuredPrice(config) }),
    ...createUserServices(mutations, config, keyUses, sessionLastUses),
    sessions: createSessions({ ...mutations, uses: sessionUses, sessionMs: config.sessions.maxMs }),
    sessionUses,
    sessionLastUses,
  };
}

export type DomainServices = ReturnType<typeof createDomainServices>;

/** The price that is recorded from now on; a night is billed at the price on record at its midnight. */
export function configuredPrice({ metering }: Pick<Config, 'metering'>): Price {
  return { price: metering.pricePerDaemonMonth, currency: metering.currency };
}

interface DeviceServiceOptions {
  /** How many requests that waited together go on in one turn of the event loop. */
  readonly turnsMax: number;
  /** A held poll has a connection of its own, which does not give way. */
  readonly connections: ConnectionBounds;
  /** Ends every held poll. */
  readonly stopping: AbortSignal;
}

/** The services that only the device plane uses, and the loops that serve it. */
export function createDeviceServices(
  { store, fleet, clock, log, metrics, envelope, config }: Core,
  { mutations }: Pick<DomainServices, 'mutations'>,
  { turnsMax, connections, stopping }: DeviceServiceOptions,
) {
  const turns = new TurnQueue(turnsMax);
  const listening = createListening(clock, staleAfterMs(config.pollIntervalSeconds));
  const pulse = createPulse({ fleet, clock, log, stopping });
  const check = createSilentWatchCheck({ store, fleet, pulse }, () => heldPolls);
  const heldPolls = createHeldPolls(
    { memory: fleet.memory, turns, metrics, stopping, begun: check },
    heldPollBounds(halfAtMost(LIMITS.heldPollsMax, connections.device)),
  );
  return {
    /** Lets many requests that waited for the same thing go on in pieces. */
    turns,
    /** The replica has one: streams of the panel are judged by it as well. */
    pulse,
    configs: createDeviceConfigs(envelope, config.pollIntervalSeconds),
    listening,
    heartbeats: createHeartbeats({ store, memory: fleet.memory, clock, log, metrics, listening }),
    rate: createDeviceRate(config.deviceRatePerMinute, clock),
    heldPolls,
    recentlyRejected: createRecentlyRejected(),
    sharedCredentials: createSharedCredentials({ ...mutations, metrics }),
    reportVersion: createVersionReports(mutations),
  };
}

export type DeviceServices = ReturnType<typeof createDeviceServices>;

/** The services that only the operator of custom resources uses. */
export function createBindingServices({ store, clockWatch }: Core, { mutations, queues }: DomainServices) {
  return {
    boundAccounts: createBoundAccounts({ ...mutations, clockWatch }),
    boundKeys: createBoundKeys(mutations),
    boundApps: createBoundApps({ ...mutations, clockWatch, queues }),
    goneResources: createGoneResources(mutations),
    offeredNamespaces: createOfferedNamespaces(mutations),
    /** @param fence the expectations of every commit of the leader's term */
    bindings: (fence: readonly Expectation[]) => createBindings(store, fence),
  };
}
