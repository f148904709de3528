import { createUnsealed, type Unsealed } from '../domain/audit/unsealed.ts';
import { createCompactionSchedule, type CompactionSchedule } from '../domain/history/compaction.ts';
import { createRevisionPins, type RevisionPins } from '../domain/history/revision-pins.ts';
import { createRewrap } from '../domain/key-rotation/rewrap.ts';
import { createStoredBytes, type StoredBytes } from '../domain/quota/stored-bytes.ts';
import type { Expectation } from '../store/port.ts';
import type { Foundation, Surroundings } from './domain-services.ts';

/** The services that the leader's loops use during one term. */
interface TermServices {
  readonly unsealed: Unsealed;
  readonly storedBytes: StoredBytes;
  readonly schedule: CompactionSchedule;
  readonly pins: RevisionPins;
  /** One round: throws StoreUnavailable, and Error where a configuration cannot be read. */
  readonly rewrap: () => Promise<void>;
}

/**
 * The services of one term of leadership; the loops that are handed them end them with the term.
 * @param fence the expectations of every commit of the term
 */
export function createTermServices(
  foundation: Pick<Foundation, keyof Surroundings | 'fleet' | 'envelope' | 'config'>,
  fence: readonly Expectation[],
): TermServices {
  const { store, fleet, envelope, clock, log, metrics, config } = foundation;
  const rewrapped = (count: number): void => metrics.rewrapped(count);
  return {
    unsealed: createUnsealed(store, clock),
    storedBytes: createStoredBytes({ store, fleet, clock, log, accountQuotaMb: config.accountQuotaMb }, fence),
    schedule: createCompactionSchedule(store, clock, fence),
    pins: createRevisionPins(store, clock),
    rewrap: createRewrap({ store, fleet, envelope, clock, log, rewrapped }, fence),
  };
}
