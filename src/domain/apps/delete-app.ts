import type { Store, Write } from '../../store/port.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import type { CountersPlan } from '../mutation/account-queue.ts';
import type { Step } from '../mutation/step.ts';
import type { CountersRecord } from '../records/account-records.ts';
import { appRemoval, KEYS } from '../records/keys.ts';
import { appTransition } from '../status-history/status-change.ts';
import { ownApp, type AppsDeps, type Caller } from './own-app.ts';
import { removePastCredentials } from './past-credentials.ts';

/** See `Apps.remove`. */
export async function deleteApp(deps: AppsDeps, caller: Caller, appId: string): Promise<void> {
  const { accountId, origin } = caller;
  const plan: CountersPlan<Leftovers> = async (reader, counters) => ({
    ...(await deletionStep(deps, caller, reader, appId)),
    counters: withoutApp(counters),
  });
  removeLeftovers(deps, accountId, appId, await deps.queues(accountId, origin, plan, caller.reader));
}

/** Whether hashes of past credentials were too many for the commit of the deletion. */
export type Leftovers = 'some' | 'none';

/** The counters of an account after the deletion of an app. */
export const withoutApp = (counters: CountersRecord): CountersRecord => ({
  ...counters,
  apps: Math.max(0, counters.apps - 1),
});

/** A9: one commit removes all of the app; the audit stays, and the status change that metering needs. */
export async function deletionStep(
  deps: AppsDeps,
  caller: Caller,
  reader: FleetReader,
  appId: string,
): Promise<Step<Leftovers>> {
  const { accountId, origin } = caller;
  const { app, expect, write: preconditionWrites } = await ownApp(caller, reader, appId);
  // An app that never enrolled has none.
  const past = app.record.enrolledAt === undefined ? NO_HASHES : await pastCredentials(deps.store, appId);
  const gone = await appTransition(deps, reader, app, 'none', origin.at);
  const write: Write[] = [...preconditionWrites, ...gone.write, ...appRemoval(accountId, appId)];
  // An enrollment between the two reads has put the credential among the past ones: then the commit conflicts.
  const hashes = new Set(app.record.credential === undefined ? [] : [app.record.credential]);
  if (past.complete) {
    write.push({ removeAll: KEYS.pastCredential.under(appId) });
    for (const hash of past.hashes) hashes.add(hash);
  }
  for (const hash of hashes) write.push({ remove: KEYS.credential(hash) });
  return {
    accountId,
    action: 'app.deleted',
    appId,
    detail: { from: app.record.status },
    countsAt: gone.at,
    expect: [...expect, ...gone.expect],
    write,
    result: past.complete ? 'none' : 'some',
  };
}

/**
 * The app is deleted, and the answer does not wait: a hash that is left binds no credential
 * (domain/devices/enrollment.ts).
 */
export function removeLeftovers(
  { store, log }: Pick<AppsDeps, 'store' | 'log'>,
  accountId: string,
  appId: string,
  leftovers: Leftovers,
): void {
  if (leftovers === 'none') return;
  removePastCredentials(store, appId).catch((error: unknown) => {
    log.warn({ err: error, accountId, appId }, 'past credentials of a deleted app are left over');
  });
}

const NO_HASHES = { hashes: [], complete: true };

async function pastCredentials(store: Store, appId: string): Promise<{ hashes: string[]; complete: boolean }> {
  const prefix = KEYS.pastCredential.under(appId);
  const page = await store.list({ prefix, limit: LIMITS.pastCredentialsPerCommitMax, keysOnly: true });
  return { hashes: page.entries.map((entry) => entry.key.slice(prefix.length)), complete: page.next === undefined };
}
