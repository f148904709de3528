import type { Clock } from '../../time/clock.ts';
import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import { ABSENT, StoreUnavailable, type Store } from '../../store/port.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { AppEntry, FleetReader, FoundApp } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { mutate, type MutationDeps, type Origin } from '../mutation/mutation.ts';
import { KEYS, ackSchema, parseRecord, put, type AccountRecord, type AckRecord } from '../records/records.ts';
import { Refusal } from '../refusal.ts';
import type { TurnQueue } from '../../concurrency/turn-queue.ts';

/**
 * Who polls: the app whose credential this is now.
 * @param hash of the credential (`tokenHash`)
 * @throws Refusal `invalid_credential` or `account_disabled`; StoreUnavailable
 */
export function authenticateDevice(reader: FleetReader, hash: string): MaybePromise<FoundApp> {
  return andThen(reader.appOfCredential(hash), (found) => {
    if (found?.app.status !== 'active') throw new Refusal('invalid_credential');
    if (found.account.record.disabled) throw new Refusal('account_disabled');
    return found;
  });
}

/** Waits for a change of an app, or of its account or configuration. */
export interface ChangeWaits {
  /** Resolves at the next change, when the signal aborts, or when the process is to end. Taken before the state is read, so that none is missed. */
  next(found: FoundApp, signal: AbortSignal): Promise<void>;
  readonly held: () => number;
}

/**
 * @param turns a change, or the end, may let very many go on at once: they do so in pieces
 * @param stopping ends every wait
 */
export function createChangeWaits(fleet: Fleet, turns: TurnQueue, stopping: AbortSignal): ChangeWaits {
  const byApp = new Map<string, Set<() => void>>();
  const byAccount = new Map<string, Set<() => void>>();
  let held = 0;

  const wakeAll = (waits: Set<() => void> | undefined): void => {
    for (const wake of waits ?? []) turns.do(wake);
  };
  fleet.memory.onChange((accountId, appId) =>
    wakeAll(appId === undefined ? byAccount.get(accountId) : byApp.get(appId)),
  );

  stopping.addEventListener('abort', () => {
    for (const waits of byAccount.values()) wakeAll(waits);
  });

  function join(waits: Map<string, Set<() => void>>, id: string, wake: () => void): () => void {
    let set = waits.get(id);
    if (!set) waits.set(id, (set = new Set()));
    set.add(wake);
    return () => {
      set.delete(wake);
      if (set.size === 0 && waits.get(id) === set) waits.delete(id);
    };
  }

  return {
    held: () => held,
    async next({ account, app }, signal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const leave = [join(byApp, app.id, resolve), join(byAccount, account.id, resolve)];
      signal.addEventListener('abort', () => resolve(), { once: true });
      if (signal.aborted || stopping.aborted) resolve();
      held += 1;
      await promise;
      held -= 1;
      for (const undo of leave) undo();
    },
  };
}

export interface Ack {
  readonly revision: number;
  readonly status: AckRecord['status'];
  readonly error: string | undefined;
}

/**
 * Keeps what the daemon did with a revision; an older revision than the one kept changes nothing, unless it is what the
 * daemon is told now: the never-stored configuration, once the account is not Enterprise any more (O11).
 * A device's own state, like a heartbeat: it is no mutation of the owner's, and has no audit entry.
 * @throws Refusal `invalid_request` for a revision that was never told; StoreUnavailable
 */
export async function acknowledge(
  deps: { store: Store; fleet: Fleet; clock: Clock },
  found: FoundApp,
  ack: Ack,
  origin: Origin,
): Promise<void> {
  const { account, app } = found;
  const newest = (await account.otel())?.record.revision ?? 0;
  if (ack.revision > newest) throw new Refusal('invalid_request', 'revision is newer than the configuration.');
  const key = KEYS.ack(account.id, app.id);
  for (let attempt = 1; attempt <= LIMITS.conflictAttemptsMax; attempt += 1) {
    const entry = await deps.store.get(key);
    const kept = entry && parseRecord(ackSchema, entry);
    const current = await stillBound(await deps.fleet.current(), app);
    // Memory lives on: what the commit expects of the account and what is decided by it are taken in one moment.
    const expectAccount = { key: KEYS.account(account.id), revision: current.account.revision };
    if (kept && saysNothingNew(kept.record, ack, current.account.record.entitlement)) return;
    const record: AckRecord = {
      revision: ack.revision,
      status: ack.status,
      ...(ack.error !== undefined && { error: ack.error }),
      at: origin.at,
    };
    const expectApp = { key: KEYS.app(account.id, app.id), revision: current.app.revision };
    const { outcome } = await deps.store.commit({
      expect: [expectApp, expectAccount, { key, revision: kept?.revision ?? ABSENT }],
      write: [put(key, record)],
      quiet: true,
    });
    if (outcome === 'committed') return;
  }
  throw new StoreUnavailable('timeout', 'The record changed under every attempt.');
}

/**
 * Its body may have come long after its credential was checked: what is written relies on the credential of now.
 * @throws Refusal `invalid_credential` or `account_disabled`
 */
export async function stillBound(reader: FleetReader, app: AppEntry): Promise<FoundApp> {
  const now = await reader.appById(app.id);
  if (!now || now.app.status !== 'active' || now.app.record.credential !== app.record.credential) {
    throw new Refusal('invalid_credential');
  }
  if (now.account.record.disabled) throw new Refusal('account_disabled');
  return now;
}

function saysNothingNew(kept: AckRecord, ack: Ack, entitlement: AccountRecord['entitlement']): boolean {
  if (isSameAck(kept, ack)) return true;
  const isToldNow = ack.revision === 0 && entitlement !== 'enterprise';
  return kept.revision > ack.revision && !isToldNow;
}

const isSameAck = (kept: AckRecord, ack: Ack): boolean =>
  kept.revision === ack.revision && kept.status === ack.status && kept.error === ack.error;

export interface Reported {
  readonly platform: string | undefined;
  readonly agentVersion: string | undefined;
}

/**
 * Takes up what a poll says of the daemon's platform and version. In the background and at most once in a while per
 * app: a poll does not wait for it, and a daemon that changes its mind at every poll does not fill the audit.
 */
export function createVersionReports(
  deps: MutationDeps,
): (found: FoundApp, reported: Reported, origin: Origin) => void {
  const until = new Map<string, number>();

  function mayWrite(appId: string, now: number): boolean {
    if ((until.get(appId) ?? 0) > now) return false;
    for (const [old, end] of until) {
      if (end > now) break;
      until.delete(old);
    }
    until.set(appId, now + LIMITS.reportedVersionEveryMs);
    return true;
  }

  return (found, reported, origin) => {
    const { platform = found.app.record.platform, agentVersion = found.app.record.agentVersion } = reported;
    const { record } = found.app;
    if (record.platform === platform && record.agentVersion === agentVersion) return;
    if (!mayWrite(found.app.id, deps.clock.monotonic())) return;
    const write = mutate<void>(deps, origin, async (reader) => {
      const now = await stillBound(reader, found.app);
      return {
        accountId: now.account.id,
        action: 'app.reported',
        appId: now.app.id,
        detail: { platform, agentVersion },
        expect: [
          { key: KEYS.app(now.account.id, now.app.id), revision: now.app.revision },
          { key: KEYS.account(now.account.id), revision: now.account.revision },
        ],
        write: [put(KEYS.app(now.account.id, now.app.id), { ...now.app.record, platform, agentVersion })],
        result: undefined,
      };
    });
    write.catch((error: unknown) => {
      until.delete(found.app.id);
      deps.log.info({ err: error, appId: found.app.id }, 'a reported version could not be written');
    });
  };
}
