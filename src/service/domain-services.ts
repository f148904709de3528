import { halfAtMost, type ConnectionBounds } from './bounds/connection-bounds.ts';
import { TurnQueue } from '../concurrency/turn-queue.ts';
import type { Config } from '../config/config.ts';
import { createAuditedExport, type AuditedExport } from '../domain/access-audit/audited-exports.ts';
import { createAccounts, type Accounts } from '../domain/accounts/accounts.ts';
import { createApiKeys, type ApiKeys } from '../domain/accounts/api-keys.ts';
import { createApps, type Apps } from '../domain/apps/apps.ts';
import { createAuditEntries, type AuditEntries } from '../domain/audit/list.ts';
import { createAuditVerifier, type AuditVerifier } from '../domain/audit/verify.ts';
import { createBackups, type Backups } from '../domain/backup/backup.ts';
import type { RandomSource } from '../domain/credentials/random-ids.ts';
import { createDeviceRate, type DeviceRate } from '../domain/devices/device-rate-limit.ts';
import { createHeartbeats, type Heartbeats } from '../domain/devices/heartbeats.ts';
import { createHeldPolls, heldPollBounds, type HeldPolls } from '../domain/devices/held-polls.ts';
import { createRecentlyRejected, type RecentlyRejected } from '../domain/devices/recently-rejected.ts';
import { createSharedCredentials, type SharedCredentials } from '../domain/shared-credentials/shared-credentials.ts';
import { createSilentWatchCheck } from '../domain/devices/silent-watch.ts';
import { createVersionReports } from '../domain/devices/version-reports.ts';
import { createFleet, type Fleet } from '../domain/fleet/fleet.ts';
import { FleetMemory } from '../domain/fleet/memory.ts';
import { createPulse, type Pulse } from '../domain/fleet/pulse.ts';
import { createKeyRotation, type KeyRotation } from '../domain/key-rotation/key-rotation.ts';
import { createEnvelope, type Envelope } from '../domain/keys/envelope.ts';
import type { KeyRing } from '../domain/keys/key-ring.ts';
import { createLastUses, type LastUses } from '../domain/last-uses/last-uses.ts';
import { LIMITS, type Deadlines } from '../domain/limits.ts';
import type { Price } from '../domain/metering/prices.ts';
import { createUsages, type Usages } from '../domain/metering/usage.ts';
import { createAccountQueues, type AccountQueues } from '../domain/mutation/account-queue.ts';
import { createIdempotencyRecords } from '../domain/mutation/idempotency.ts';
import { createOperatorCreates } from '../domain/mutation/operator-creates.ts';
import type { MutationDeps } from '../domain/mutation/step.ts';
import { createDeviceConfigs, type DeviceConfigs } from '../domain/otel-config/delivered-config.ts';
import { createOtelConfigs, type OtelConfigs } from '../domain/otel-config/otel-config.ts';
import { createRollouts, type Rollouts } from '../domain/otel-config/rollout.ts';
import { CACHED_GROUPS } from '../domain/records/keys.ts';
import { createQuotas } from '../domain/quota/quotas.ts';
import { createReplicas, type Replicas } from '../domain/replicas/replicas.ts';
import { createAppConsents, type AppConsents } from '../domain/resource-bindings/app-consents.ts';
import { createBindings, type Bindings } from '../domain/resource-bindings/bindings.ts';
import { createBoundAccounts, type BoundAccounts } from '../domain/resource-bindings/bound-accounts.ts';
import { createBoundApps, type BoundApps } from '../domain/resource-bindings/bound-apps.ts';
import { createGoneResources, type GoneResources } from '../domain/resource-bindings/gone-resources.ts';
import { createOfferedNamespaces, type OfferedNamespaces } from '../domain/resource-bindings/offered-namespaces.ts';
import { createBoundKeys, type BoundKeys } from '../domain/resource-bindings/bound-keys.ts';
import { createReviewQueue, type ReviewQueue } from '../domain/review-queue/review-queue.ts';
import { createSessions, type Sessions } from '../domain/sessions/sessions.ts';
import { createSessionUses, type SessionUses } from '../domain/sessions/session-uses.ts';
import { createClockWatch, type ClockWatch } from '../domain/status-history/clock-trust.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics/service-metrics.ts';
import type { Expectation, Store } from '../store/port.ts';
import { WatchCache } from '../store/watch-cache/watch-cache.ts';
import type { Boot } from '../time/boot.ts';
import type { Clock } from '../time/clock.ts';
import { VERSION } from '../version.ts';
import { createUserServices, type UserServices } from './user-services.ts';

/*
 * The composition root of the domain: this file, admission-services.ts, opamp-services.ts, panel-services.ts,
 * term-services.ts and user-services.ts alone construct its services (test/repository/composition.test.ts).
 * Each function makes the services of one stage or one part of the process, in the order in which they can be made.
 */

/** The values that every service is made from. */
export interface Surroundings {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** This process among the replicas. */
interface ReplicaServices {
  readonly replicas: Replicas;
  readonly clockWatch: ClockWatch;
}

/**
 * The registry of replicas, and the judgement of the clock that rests on it: both are needed before the process serves.
 */
export function createReplicaServices(
  deps: Surroundings & Pick<Parameters<typeof createReplicas>[0], 'replicaId' | 'keyRing' | 'operatorTokens'>,
): ReplicaServices {
  const { clock, log } = deps;
  const replicas = createReplicas({ ...deps, version: VERSION });
  const clockWatch = createClockWatch({ clock, log, othersDisagree: () => replicas.othersDisagree() });
  return { replicas, clockWatch };
}

/** The fleet in memory, and the cache that fills it. */
interface FleetServices {
  readonly watchCache: WatchCache;
  readonly fleet: Fleet;
  readonly envelope: Envelope;
}

/** The fleet in memory, the watch cache that fills it once it is started, and the envelope that seals secrets. */
export function createFleetServices(
  deps: Surroundings & {
    readonly deadlines: Deadlines;
    readonly keyRing: KeyRing;
    readonly random: RandomSource;
  },
): FleetServices {
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

/** The part of the process that the domain services stand on. */
export interface Foundation extends Surroundings, ReplicaServices, FleetServices {
  readonly config: Config;
  readonly random: RandomSource;
  readonly keyRing: KeyRing;
  readonly boot: Boot;
  /** Identifies this process from start to stop. */
  readonly replicaId: string;
  readonly deadlines: Deadlines;
}

/** The services that the API, the operator API and the operator of custom resources share. */
export interface DomainServices extends UserServices {
  readonly mutations: MutationDeps;
  readonly queues: AccountQueues;
  readonly accounts: Accounts;
  readonly apiKeys: ApiKeys;
  readonly keyUses: LastUses;
  readonly auditEntries: AuditEntries;
  readonly apps: Apps;
  readonly appConsents: AppConsents;
  readonly otelConfigs: OtelConfigs;
  readonly rollouts: Rollouts;
  readonly auditVerifier: AuditVerifier;
  readonly reviewQueue: ReviewQueue;
  readonly keyRotation: KeyRotation;
  readonly backups: Backups;
  readonly auditExport: AuditedExport;
  readonly usages: Usages;
  readonly sessions: Sessions;
  readonly sessionUses: SessionUses;
  readonly sessionLastUses: LastUses;
}

/** Makes the services that every role uses. None of them starts anything. */
export function createDomainServices(foundation: Foundation): DomainServices {
  const { store, fleet, clock, clockWatch, random, log, metrics, envelope, keyRing, config } = foundation;
  const quotas = createQuotas({ fleet, clock, accountQuotaMb: config.accountQuotaMb });
  const mutations: MutationDeps = { store, fleet, clock, random, log, metrics, quotas };
  const queues = createAccountQueues(mutations);
  const keysOf = (accountId: string): readonly string[] =>
    (fleet.memory.account(accountId)?.apiKeys() ?? []).map(({ id }) => id);
  const keyUses = createLastUses('API keys', { store, clock, log, idsOf: keysOf });
  const operatorCreates = createOperatorCreates({ ...mutations, envelope });
  const sessionsOf = (userId: string): readonly string[] => fleet.memory.sessionsOf(userId).map(({ id }) => id);
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
    apps: createApps({ ...mutations, clockWatch, queues, idempotency: createIdempotencyRecords(store, envelope) }),
    appConsents: createAppConsents(mutations),
    otelConfigs: createOtelConfigs({ ...mutations, envelope }),
    rollouts: createRollouts(mutations, config.pollIntervalSeconds),
    auditVerifier: createAuditVerifier({ store, fleet }),
    reviewQueue: createReviewQueue(mutations),
    keyRotation: createKeyRotation(foundation),
    backups: createBackups({ ...mutations, metrics, keyRing, version: VERSION }),
    auditExport: createAuditedExport({ ...mutations, metrics }),
    usages: createUsages({ store, accounts, clock, price: configuredPrice(config) }),
    ...createUserServices(mutations, config, keyUses),
    sessions: createSessions({ ...mutations, uses: sessionUses, sessionMs: config.sessions.maxMs }),
    sessionUses,
    sessionLastUses,
  };
}

/** The price that is recorded from now on; a night is billed at the price on record at its midnight. */
export function configuredPrice({ metering }: Pick<Config, 'metering'>): Price {
  return { price: metering.pricePerDaemonMonth, currency: metering.currency };
}

/** The services that only the device plane uses, and the loops that serve it. */
export interface DeviceServices {
  readonly configs: DeviceConfigs;
  readonly heartbeats: Heartbeats;
  readonly rate: DeviceRate;
  readonly heldPolls: HeldPolls;
  /** Of this replica: streams of the panel are judged by it as well. */
  readonly pulse: Pulse;
  readonly recentlyRejected: RecentlyRejected;
  readonly sharedCredentials: SharedCredentials;
  readonly reportVersion: ReturnType<typeof createVersionReports>;
  /** Lets many requests that waited for the same thing go on in pieces. */
  readonly turns: TurnQueue;
}

interface DeviceServiceOptions {
  /** How many requests that waited together go on in one turn of the event loop. */
  readonly turnsMax: number;
  /** A held poll has a connection of its own, which does not give way. */
  readonly connections: ConnectionBounds;
  /** Ends every held poll. */
  readonly stopping: AbortSignal;
}

/** The services of the device plane. */
export function createDeviceServices(
  { store, fleet, clock, log, metrics, envelope, config }: Foundation,
  { mutations }: Pick<DomainServices, 'mutations'>,
  { turnsMax, connections, stopping }: DeviceServiceOptions,
): DeviceServices {
  const turns = new TurnQueue(turnsMax);
  const pulse = createPulse({ fleet, clock, log, stopping });
  const check = createSilentWatchCheck({ store, fleet, pulse }, () => heldPolls);
  const heldPolls = createHeldPolls(
    { memory: fleet.memory, turns, metrics, stopping, begun: check },
    heldPollBounds(halfAtMost(LIMITS.heldPollsMax, connections.device)),
  );
  return {
    turns,
    pulse,
    configs: createDeviceConfigs(envelope, config.pollIntervalSeconds),
    heartbeats: createHeartbeats({ store, memory: fleet.memory, clock, log, metrics }),
    rate: createDeviceRate(config.deviceRatePerMinute, clock),
    heldPolls,
    recentlyRejected: createRecentlyRejected(),
    sharedCredentials: createSharedCredentials({ ...mutations, metrics }),
    reportVersion: createVersionReports(mutations),
  };
}

/** The services that bind accounts, keys and apps to custom resources. */
interface BindingServices {
  readonly boundAccounts: BoundAccounts;
  readonly boundKeys: BoundKeys;
  readonly boundApps: BoundApps;
  readonly goneResources: GoneResources;
  readonly offeredNamespaces: OfferedNamespaces;
  /** @param fence the expectations of every commit of the leader's term */
  readonly bindings: (fence: readonly Expectation[]) => Bindings;
}

/** The services that only the operator of custom resources uses. */
export function createBindingServices(
  { store, clockWatch }: Foundation,
  { mutations, queues }: DomainServices,
): BindingServices {
  return {
    boundAccounts: createBoundAccounts({ ...mutations, clockWatch }),
    boundKeys: createBoundKeys(mutations),
    boundApps: createBoundApps({ ...mutations, clockWatch, queues }),
    goneResources: createGoneResources(mutations),
    offeredNamespaces: createOfferedNamespaces(mutations),
    bindings: (fence) => createBindings(store, fence),
  };
}
