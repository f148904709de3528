import type { AccountState } from '../../../src/controller/kubernetes/resources/account-ref.ts';
import type { AccountReader } from '../../../src/domain/fleet/reader.ts';
import { type AccountRecord, NO_COUNTERS } from '../../../src/domain/records/account-records.ts';
import { NO_MEMBERS } from '../../../src/domain/records/user-records.ts';
import { foundAt } from '../store/snapshots.ts';

/** An account without anything in it, as a decision sees it. */
export const anAccount = (id: string, entitlement: AccountRecord['entitlement'] = 'standard'): AccountReader => ({
  id,
  ...foundAt(1, { name: 'acme', entitlement, disabled: false, createdAt: 0 }),
  appsVersion: undefined,
  app: () => undefined,
  apps: () => [],
  apiKey: () => undefined,
  apiKeys: () => [],
  otel: () => undefined,
  counters: () => foundAt(0, NO_COUNTERS),
  members: () => foundAt(0, NO_MEMBERS),
  lastSeen: () => foundAt(0, new Map<number, number>()),
});

/** The account that a reference leads to. */
export const aReadyAccount = (id: string, entitlement?: AccountRecord['entitlement']): AccountState => ({
  is: 'ready',
  account: anAccount(id, entitlement),
});
