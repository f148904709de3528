import type { Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { KEYS } from '../records/keys.ts';
import type { OpampAgentRecord } from '../records/opamp-records.ts';
import { Refusal } from '../refusal.ts';
import { countsOf, deliveriesOf, type Delivery, type DeliveryCounts } from './deliveries.ts';
import {
  ACKS_PAGE,
  acksOf,
  factsOf,
  noteRecord,
  rolloutOf,
  staleAfterMs,
  type Rollout,
  type RolloutFacts,
} from './rollout.ts';

/** Reads how far configurations have come. */
export interface Rollouts {
  /** Reads the rollout of an account's configuration. @throws Refusal `not_found`; StoreUnavailable */
  of(accountId: string): Promise<Rollout>;
  /** The same, with what each daemon does with it. @throws Refusal `not_found`; StoreUnavailable */
  withDeliveries(accountId: string): Promise<Delivered>;
}

/** A rollout with the daemons by their states. */
export interface CountedRollout extends Rollout {
  readonly states: DeliveryCounts;
}

interface Delivered {
  readonly rollout: CountedRollout;
  readonly deliveries: readonly Delivery[];
}

interface RolloutDeps {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly clock: Clock;
}

/** The counts are read when they are asked for, and stored nowhere (ADR 0010). */
export function createRollouts({ store, fleet, clock }: RolloutDeps, pollIntervalSeconds: number): Rollouts {
  return {
    of: async (accountId) => rolloutOf(await read(accountId)),
    async withDeliveries(accountId) {
      const facts = await read(accountId);
      const deliveries = deliveriesOf(facts);
      return { rollout: { ...rolloutOf(facts), states: countsOf(deliveries) }, deliveries };
    },
  };

  async function read(accountId: string): Promise<RolloutFacts> {
    // Acknowledgements are read first, so that none is of a newer revision than the account that is read then.
    const acks = await acksOf(store, accountId);
    const agents = await agentsOf(store, accountId);
    const account = await (await fleet.current()).account(accountId);
    if (!account) throw new Refusal('not_found');
    return {
      ...(await factsOf(account)),
      acks,
      agents,
      now: clock.now(),
      staleAfterMs: staleAfterMs(pollIntervalSeconds),
    };
  }
}

/** As acknowledgements, one for each app at most. */
async function agentsOf(store: Store, accountId: string): Promise<Map<string, OpampAgentRecord>> {
  const page = await store.list({ prefix: KEYS.opampAgent.under(accountId), limit: ACKS_PAGE });
  const agents = new Map<string, OpampAgentRecord>();
  for (const entry of page.entries) noteRecord(agents, KEYS.opampAgent, entry);
  return agents;
}
