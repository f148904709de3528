import { createDevicePlane } from './api/device/server.ts';
import { errorBody, ERRORS, type ErrorCode } from './api/errors.ts';
import { openListener, type Listener } from './api/listener.ts';
import { createOpsServer } from './api/ops-server.ts';
import { createGateway } from './api/server.ts';
import type { ListenAddress, Role } from './config.ts';
import { configuredPrice, type Core } from './core.ts';
import { createAccounts } from './domain/accounts.ts';
import { createApps } from './domain/apps.ts';
import { createAuditVerifier } from './domain/audit-verify.ts';
import { createBackups } from './domain/backup.ts';
import { createDeviceConfigs } from './domain/device-config.ts';
import { createVersionReports, type ChangeWaits } from './domain/device-plane.ts';
import { createDeviceRate } from './domain/device-rate.ts';
import type { Heartbeats } from './domain/heartbeats.ts';
import { createKeptAnswers } from './domain/idempotency.ts';
import { createKeyRotation } from './domain/key-rotation.ts';
import { LIMITS } from './domain/limits.ts';
import type { MutationDeps } from './domain/mutation.ts';
import { createOtelConfigs } from './domain/otel-config.ts';
import type { RateWindow } from './domain/rate-window.ts';
import { createReviewQueue } from './domain/review-queue.ts';
import { createRollouts } from './domain/rollout.ts';
import { createTallyLanes } from './domain/tally-lane.ts';
import { createUsages } from './domain/usage.ts';
import { keyMissing } from './domain/writing-key.ts';
import { VERSION } from './version.ts';

export type ListenerName = 'api' | 'device' | 'ops';

export interface ListenerBounds {
  /** Requests in flight; one above it is told to come back later. */
  readonly concurrencyMax: number;
  /** Open connections; one above it is closed at once. */
  readonly connectionsMax: number;
}

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

export type Listeners = { readonly [Name in ListenerName]: Name extends 'ops' ? Listener : Listener | undefined };

export function addressesOf(listeners: Listeners): Record<ListenerName, ListenAddress> {
  const address = (listener: Listener | undefined): ListenAddress => ({
    host: listener?.host ?? '',
    port: listener?.port ?? 0,
  });
  return { api: address(listeners.api), device: address(listeners.device), ops: address(listeners.ops) };
}

/** What the listeners have in common with the loops. */
export interface Shared {
  readonly rateWindow: RateWindow;
  readonly heartbeats: Heartbeats;
  readonly waits: ChangeWaits;
  readonly stopping: AbortSignal;
  readonly bounds: Partial<Record<ListenerName, ListenerBounds>>;
}

/** @throws Error in words when a port cannot be used */
export async function openListeners(
  core: Core,
  { bounds, ...shared }: Shared,
  opened: AsyncDisposableStack,
): Promise<Listeners> {
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
      ? opened.use(await listen(core, bounds, 'api', gateway, 'not_found', 'upstream_unavailable'))
      : undefined,
    device: serves('device')
      ? opened.use(await listen(core, bounds, 'device', devicePlane, 'invalid_request', 'overloaded'))
      : undefined,
    ops: opened.use(await listen(core, bounds, 'ops', opsServer, 'invalid_request', 'upstream_unavailable')),
  };
}

function listen(
  { config, metrics }: Core,
  bounds: Partial<Record<ListenerName, ListenerBounds>>,
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
    ...(bounds[name] ?? BOUNDS[name]),
    onTurnedAway: (reason) => metrics.requestShed(name, reason),
  });
}

function unreadyReason({ directory, fleet, keyRing }: Core, stopping: AbortSignal): string | undefined {
  if (stopping.aborted) return 'draining';
  if (!directory.ready) return 'the store does not answer, or the directory is being filled';
  return keyMissing(fleet.memory.writingKey()?.record, keyRing);
}
