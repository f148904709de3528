import { LIMITS } from '../limits.ts';
import type { WalkedAccount } from '../rollouts/rollout-totals.ts';
import { receiversOf, stateOf } from '../rollouts/rollout.ts';
import type { Clock } from '../../time/clock.ts';

/** A device that polls, and has not said what it did with a revision. */
interface Witness {
  readonly appId: string;
  readonly revision: number;
  /** On the monotonic clock. */
  readonly since: number;
}

/**
 * Finds the rollouts that are stuck, for one term: the revision is old enough, and one device was pending in all rounds
 * for as long as a device may be without a contact. A device that comes back after days, or the fleet after an outage,
 * is pending at first, and no rollout is stuck for it.
 */
export class StuckRollouts {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #witnesses = new Map<string, Witness>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Tells whether a device is pending although the revision is old enough. */
  isPending({ account, facts, rollout }: WalkedAccount): boolean {
    const at = account.otel()?.record.at;
    return rollout !== undefined && rollout.pending > 0 && at !== undefined && facts.now >= at + LIMITS.rolloutStuckMs;
  }

  /** @param isKnown it was told of the revision already: nothing is kept of it */
  isStuck(walked: WalkedAccount, isKnown: boolean): boolean {
    const { account, facts } = walked;
    if (isKnown || !this.isPending(walked)) {
      this.#witnesses.delete(account.id);
      return false;
    }
    const { revision } = facts;
    const pending = receiversOf(facts).filter((device) => stateOf(device, facts) === 'pending');
    const before = this.#witnesses.get(account.id);
    if (before?.revision === revision && pending.some(({ id }) => id === before.appId)) {
      return this.#clock.monotonic() - before.since >= facts.staleAfterMs;
    }
    const [first] = pending;
    if (first) this.#witnesses.set(account.id, { appId: first.id, revision, since: this.#clock.monotonic() });
    return false;
  }
}
