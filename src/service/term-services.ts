import { createAuditLog } from '../domain/audit-log/audit-log.ts';
import { createAuditNews } from '../domain/audit/following/news.ts';
import { createAuditStream, type AuditStream, type StreamPlace } from '../domain/audit/following/stream.ts';
import { createIndexing } from '../domain/audit/index/indexing.ts';
import { sealedIn } from '../domain/audit/unsealed.ts';
import { createFleetHistory } from '../domain/fleet-history/fleet-history.ts';
import { createCompactionSchedule } from '../domain/history/compaction.ts';
import { createRevisionPins } from '../domain/history/revision-pins.ts';
import { createRewrap } from '../domain/key-rotation/rewrap.ts';
import { createStoredBytes } from '../domain/quota/stored-bytes.ts';
import { staleAfterMs } from '../domain/rollouts/rollout.ts';
import { createTransitions } from '../domain/transitions/transitions.ts';
import type { Expectation } from '../store/port.ts';
import type { Core, DeviceServices } from './domain-services.ts';

/**
 * The services of one term of leadership; the loops that are handed them end them with the term.
 * @param fence the expectations of every commit of the term
 */
export function createTermServices(core: Core & Pick<DeviceServices, 'listening'>, fence: readonly Expectation[]) {
  const { store, fleet, envelope, clock, log, metrics, config } = core;
  const silence = { ...core, staleAfterMs: staleAfterMs(config.pollIntervalSeconds) };
  const accountName = (accountId: string): string | undefined => fleet.memory.account(accountId)?.record.name;
  const news = createAuditNews(store, clock);
  const streamAfter = (place: StreamPlace): AuditStream => createAuditStream(store, news, place);
  const rewrapped = (count: number): void => metrics.rewrapped(count);
  return {
    unsealed: news.follow(sealedIn(store)),
    indexing: createIndexing({ store, log, fence }),
    auditLog:
      core.auditSink &&
      createAuditLog({ store, accountName, clock, streamAfter, metrics, fence, sink: core.auditSink }),
    storedBytes: createStoredBytes({ store, fleet, clock, log, accountQuotaMb: config.accountQuotaMb }, fence),
    fleetHistory: createFleetHistory(silence, fence),
    transitions: createTransitions({ ...silence, accountQuotaMb: config.accountQuotaMb }, fence),
    schedule: createCompactionSchedule(store, clock, fence),
    pins: createRevisionPins(store, clock),
    /** One round: throws StoreUnavailable, and Error where a configuration cannot be read. */
    rewrap: createRewrap({ store, fleet, envelope, clock, log, rewrapped }, fence),
  };
}
