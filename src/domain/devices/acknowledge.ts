import { expectAsFound, expectUnchanged, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { FoundApp } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import type { Origin } from '../mutation/step.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { AccountRecord } from '../records/account-records.ts';
import type { AckRecord } from '../records/app-records.ts';
import { Busy, Refusal } from '../refusal.ts';
import { stillBound } from './authenticate.ts';

interface Ack {
  readonly revision: number;
  readonly status: AckRecord['status'];
  readonly error: string | undefined;
}

/**
 * Records whether the daemon applied a revision. A revision older than the recorded one changes nothing, unless it is
 * the one that the daemon is told now: the never-stored configuration, once the account is not Enterprise any more
 * (O11). An acknowledgement is state of the device, like a heartbeat: it is no mutation of the owner's and has no audit
 * entry.
 * @throws Refusal `invalid_request` for a revision that was never delivered, `invalid_credential`, `account_disabled`;
 * StoreUnavailable; Busy where others changed the record under every attempt
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
    const kept = entry && parseRecord(KEYS.ack, entry);
    const current = await stillBound(await deps.fleet.current(), app);
    if (kept && saysNothingNew(kept.record, ack, current.account.record.entitlement)) return;
    const { error: _former, ...before } = kept?.record ?? {};
    const record: AckRecord = {
      ...before,
      revision: ack.revision,
      status: ack.status,
      ...(ack.error !== undefined && { error: ack.error }),
      at: origin.at,
    };
    const { outcome } = await deps.store.commit({
      expect: [expectUnchanged(current.app), expectUnchanged(current.account), expectAsFound(key, kept)],
      write: [put(key, record)],
      quiet: true,
    });
    if (outcome === 'committed') return;
  }
  throw new Busy('conflicts', 'The record changed under every attempt.');
}

function saysNothingNew(kept: AckRecord, ack: Ack, entitlement: AccountRecord['entitlement']): boolean {
  if (isSameAck(kept, ack)) return true;
  const isToldNow = ack.revision === 0 && entitlement !== 'enterprise';
  return kept.revision > ack.revision && !isToldNow;
}

const isSameAck = (kept: AckRecord, ack: Ack): boolean =>
  kept.revision === ack.revision && kept.status === ack.status && kept.error === ack.error;
