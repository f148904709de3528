import type { PublishedRollouts, ReplicaRecord } from '../records/replica-records.ts';
import type { Replicas } from '../replicas/replicas.ts';
import type { RolloutCounts } from './rollout.ts';

/* The accounts whose rollouts stand out: the leader counts all of them once a minute, and each replica knows these. */

/** The rollout of the current configuration of one account. */
export interface AccountRollout extends RolloutCounts {
  readonly accountId: string;
  readonly revision: number;
}

/** `failing` has the accounts of which half or more failed, and the others have all with a daemon in that state. */
export const ROLLOUT_RANKINGS = ['failing', 'failed', 'pending', 'stale'] as const;
export type RolloutRanking = (typeof ROLLOUT_RANKINGS)[number];
/** Accounts of each ranking that are kept, published and listed. */
export const RANKED_MAX = 20;

/** As many daemons have to fail until a rollout does: one or two of them may be at fault themselves. */
const FAILED_MIN = 3;
const FAILING_RATIO = 0.5;

/** The share of failed daemons among those that poll. */
export const failedRatio = ({ applied, failed, pending }: RolloutCounts): number =>
  failed === 0 ? 0 : failed / (applied + failed + pending);

const isFailing = (counts: RolloutCounts): boolean =>
  counts.failed >= FAILED_MIN && failedRatio(counts) >= FAILING_RATIO;

const SCORES: Readonly<Record<RolloutRanking, (counts: RolloutCounts) => number>> = {
  failing: (counts) => (isFailing(counts) ? counts.failed : 0),
  failed: ({ failed }) => failed,
  pending: ({ pending }) => pending,
  stale: ({ stale }) => stale,
};

/** Returns the accounts that a ranking has, the most daemons first. */
export function ranked(accounts: readonly AccountRollout[], by: RolloutRanking): readonly AccountRollout[] {
  return accounts
    .filter((account) => SCORES[by](account) > 0)
    .sort((one, other) => compare(by, one, other))
    .slice(0, RANKED_MAX);
}

const compare = (by: RolloutRanking, one: AccountRollout, other: AccountRollout): number =>
  SCORES[by](other) - SCORES[by](one) || (one.accountId < other.accountId ? -1 : 1);

/** The counts of the leader's last round. */
export interface CountedRollouts {
  /** On the wall clock in milliseconds. */
  readonly countedAt: number;
  /** All accounts whose rollout fails. */
  readonly failing: number;
  /** The accounts of all rankings, each once. */
  readonly accounts: readonly AccountRollout[];
}

/** Ranks accounts one after the other, and keeps no more of them than the rankings have. */
export class RankedRollouts {
  readonly #top = new Map<RolloutRanking, readonly AccountRollout[]>();
  #failing = 0;

  add(account: AccountRollout): void {
    if (isFailing(account)) this.#failing += 1;
    for (const by of ROLLOUT_RANKINGS) {
      const top = this.#top.get(by) ?? [];
      const last = top[RANKED_MAX - 1];
      if (SCORES[by](account) === 0 || (last && compare(by, last, account) < 0)) continue;
      this.#top.set(by, ranked([...top, account], by));
    }
  }

  counted(countedAt: number): CountedRollouts {
    return { countedAt, failing: this.#failing, accounts: [...new Set([...this.#top.values()].flat())] };
  }
}

/** The leader's last counts, on every replica. */
export interface AccountRollouts {
  /** Publishes this from now on. @param counted undefined on a replica that leads no longer */
  counted(counted: CountedRollouts | undefined): void;
  /** As the leader announced it last; undefined while no leader has counted. @throws StoreUnavailable; BadRecord */
  current(): Promise<CountedRollouts | undefined>;
}

/** Publishes what this replica counts while it leads. */
export function createAccountRollouts({
  replicas,
}: {
  readonly replicas: Pick<Replicas, 'live' | 'publish'>;
}): AccountRollouts {
  let own: PublishedRollouts | undefined;
  replicas.publish((): Partial<ReplicaRecord> => (own ? { rollouts: own } : {}));
  return {
    counted: (counted) => void (own = counted && published(counted)),
    async current() {
      const others = (await replicas.live()).flatMap(({ rollouts }) => rollouts ?? []);
      // A leader whose term has just ended may still be among them.
      const newest = (own ? [own, ...others] : others).sort((one, other) => other.countedAt - one.countedAt)[0];
      return newest && read(newest);
    },
  };
}

const published = ({ countedAt, failing, accounts }: CountedRollouts): PublishedRollouts => ({
  countedAt,
  failing,
  accounts: accounts.map(({ accountId, revision, applied, failed, pending, stale }) => [
    accountId,
    revision,
    applied,
    failed,
    pending,
    stale,
  ]),
});

const read = ({ countedAt, failing, accounts }: PublishedRollouts): CountedRollouts => ({
  countedAt,
  failing,
  accounts: accounts.map(([accountId, revision, applied, failed, pending, stale]) => ({
    accountId,
    revision,
    applied,
    failed,
    pending,
    stale,
  })),
});
