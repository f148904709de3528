import { createAccounts, type Accounts } from '../domain/accounts/accounts.ts';
import { createApiKeys, type ApiKeys } from '../domain/accounts/api-keys.ts';
import { createApps, type Apps } from '../domain/apps/apps.ts';
import { createAuditEntries, type AuditEntries } from '../domain/audit/list.ts';
import { createAccountQueues, type AccountQueues } from '../domain/mutation/account-queue.ts';
import { createIdempotencyRecords } from '../domain/mutation/idempotency.ts';
import type { MutationDeps } from '../domain/mutation/step.ts';
import { createOtelConfigs, type OtelConfigs } from '../domain/otel-config/otel-config.ts';
import { createRollouts, type Rollouts } from '../domain/otel-config/rollout.ts';
import type { Core } from './core.ts';

/** What the listeners and the operator of custom resources do with the fleet, by the same functions. */
export interface Domain {
  readonly mutations: MutationDeps;
  readonly queues: AccountQueues;
  readonly accounts: Accounts;
  readonly apiKeys: ApiKeys;
  readonly auditEntries: AuditEntries;
  readonly apps: Apps;
  readonly otelConfigs: OtelConfigs;
  readonly rollouts: Rollouts;
}

export function openDomain({ store, fleet, clock, clockWatch, random, log, metrics, envelope, config }: Core): Domain {
  const mutations: MutationDeps = { store, fleet, clock, random, log, metrics };
  const queues = createAccountQueues(mutations);
  return {
    mutations,
    queues,
    accounts: createAccounts({ ...mutations, clockWatch }),
    apiKeys: createApiKeys(mutations),
    auditEntries: createAuditEntries({ store, fleet }),
    apps: createApps({ ...mutations, clockWatch, queues, idempotency: createIdempotencyRecords(store, envelope) }),
    otelConfigs: createOtelConfigs({ ...mutations, envelope }),
    rollouts: createRollouts(mutations, config.pollIntervalSeconds),
  };
}
