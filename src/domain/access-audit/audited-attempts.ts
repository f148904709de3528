import type { Sections } from '../../metrics/instruments/sections.ts';
import { expectAbsent, expectUnchanged, isFull, type Expectation, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import { generateMarker, type RandomSource } from '../credentials/random-ids.ts';
import { namesStored } from '../audit/names.ts';
import { auditEntry } from '../mutation/commit.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import {
  type AttemptedRecord,
  type Attempts,
  type EnteredSignIns,
  callerRefused,
  limitMet,
  userOfSignIns,
} from '../records/attempt-records.ts';
import { KEYS } from '../records/keys.ts';
import {
  absent,
  BadRecord,
  justCommitted,
  parseRecord,
  put,
  versioned,
  withRecord,
  type Versioned,
} from '../records/codec.ts';
import type { ReplicaRecord } from '../records/replica-records.ts';
import { LIMITS } from '../limits.ts';
import { FORGOTTEN_AFTER_MS, TRIED_NAMES_MAX } from './failed-attempts.ts';

export const auditedAttemptsMetrics = ({ keeping }: Sections) => ({
  attemptsDropped: keeping.counter({
    name: 'muster_audit_attempts_dropped_total',
    help: 'Audit entries about failed secrets and refusals, by role and at limits, that were not written, since the store was too full.',
    unit: 'entries',
  }),
});

export interface AuditedAttemptsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly metrics: ReturnType<typeof auditedAttemptsMetrics>;
  /** The fence of the leader's term. */
  readonly fence: readonly Expectation[];
}

/** Replicas of which a record tells what was entered; those that were heard last are kept. */
const COUNTED_REPLICAS_MAX = 50;

/** A replica published this of an account; with the time since when it is so, on the monotonic clock. */
interface Seen {
  readonly replicaId: string;
  readonly one: Attempts;
  readonly changedAt: number;
}

type Published = Pick<ReplicaRecord, 'replicaId' | 'attempts' | 'signIns' | 'roleRefusals' | 'atLimits'>;

/** The failed secrets of one account that the audit does not have yet. */
interface Fresh {
  readonly count: number;
  readonly tried: readonly Attempts[];
  readonly counted: AttemptedRecord['counted'];
}

/**
 * Enters in the audit what the replicas have published of failed secrets and refusals: for each account and limit, for
 * the operator, and for each caller who was refused, one entry an hour with the number since the entry before. The
 * record of what was entered goes into the same commit, so that another leader neither repeats nor forgets anything.
 */
export class AuditedAttempts {
  readonly #deps: AuditedAttemptsDeps;
  /** The last publications, by replica and account: one that has ended since publishes nothing any more. */
  readonly #published = new Map<string, Seen>();
  /** The attempts that this term knows to be entered, or dropped, with the revision of the record. */
  readonly #known = new Map<string, Versioned<AttemptedRecord>>();

  constructor(deps: AuditedAttemptsDeps) {
    this.#deps = deps;
  }

  /** @throws StoreUnavailable */
  async enter(replicas: readonly Published[]): Promise<void> {
    this.#remember(replicas);
    const byAccount = Map.groupBy(this.#published.values(), ({ one }) => one.of);
    for (const of of this.#known.keys()) if (!byAccount.has(of)) this.#known.delete(of);
    for (const [of, some] of byAccount) await this.#enterOne(of, some);
  }

  /** Keeps what a replica published for as long as the replica itself would. */
  #remember(replicas: readonly Published[]): void {
    const at = this.#deps.clock.monotonic();
    for (const { replicaId, attempts = [], signIns = [], roleRefusals = [], atLimits = [] } of replicas) {
      for (const one of [...attempts, ...signIns, ...roleRefusals, ...atLimits]) {
        const key = `${replicaId}/${one.of}`;
        const before = this.#published.get(key);
        const isAsBefore = before?.one.since === one.since && before.one.count === one.count;
        this.#published.set(key, { replicaId, one, changedAt: isAsBefore ? before.changedAt : at });
      }
    }
    for (const [key, { changedAt }] of this.#published) {
      if (at - changedAt >= FORGOTTEN_AFTER_MS) this.#published.delete(key);
    }
  }

  async #enterOne(of: string, published: readonly { replicaId: string; one: Attempts }[]): Promise<void> {
    const known = this.#known.get(of) ?? (await this.#read(of));
    this.#known.set(of, known);
    const { store, clock, random, metrics, fence } = this.#deps;
    const at = clock.now();
    const fresh = freshOf(published, known.record.counted);
    if (fresh.count === 0 || at < known.record.at + HOUR_MS) return;
    // Nothing comes back of a user who was deleted meanwhile.
    const userId = userOfSignIns(of) ?? '';
    const user = userId === '' ? undefined : await store.get(KEYS.user(userId));
    if (userId !== '' && !user) return;
    const last = lastOf(known.record, of, fresh, at);
    const record = { ...known.record, at, counted: fresh.counted, ...(last && { last }) };
    const origin = { actor: 'muster', requestId: generateMarker(random), at };
    const entry = await auditEntry(random, origin, told(of, fresh), origin.at, namesStored(store));
    try {
      const result = await store.commit({
        expect: [expectUnchanged(known), ...(user ? [expectUnchanged(user)] : []), expectAbsent(entry.put), ...fence],
        write: [put(KEYS.attempted(of), record), entry],
        quiet: true,
      });
      // A conflict is another leader, or this commit with a lost answer: the record tells.
      if (result.outcome === 'committed') this.#known.set(of, justCommitted(KEYS.attempted(of), record, result));
      else this.#known.delete(of);
    } catch (error) {
      this.#known.delete(of);
      if (!isFull(error)) throw error;
      // It is not tried again for an hour, like one that was written.
      this.#known.set(of, withRecord(known, record));
      metrics.attemptsDropped();
    }
  }

  async #read(of: string): Promise<Versioned<AttemptedRecord>> {
    const entry = await this.#deps.store.get(KEYS.attempted(of));
    const none = { at: 0, counted: {} };
    if (!entry) return absent<AttemptedRecord>(KEYS.attempted(of), none);
    try {
      return parseRecord(KEYS.attempted, entry);
    } catch (error) {
      // The next entry replaces it: a damaged record must not silence every account.
      if (error instanceof BadRecord) return versioned<AttemptedRecord>(entry, none);
      throw error;
    }
  }
}

function freshOf(
  published: readonly { readonly replicaId: string; readonly one: Attempts }[],
  before: AttemptedRecord['counted'],
): Fresh {
  let count = 0;
  for (const { replicaId, one } of published) {
    const known = before[replicaId];
    // A count that began anew has nothing of the one before.
    count += one.count - (known?.since === one.since ? Math.min(known.count, one.count) : 0);
  }
  const now = published.map(({ replicaId, one }) => [replicaId, { since: one.since, count: one.count }] as const);
  // A replica that is not heard at this moment may be back, and publishes what was entered of it once more.
  const counted = Object.fromEntries(
    [
      ...Object.entries(before).filter(([replicaId]) => published.every((one) => one.replicaId !== replicaId)),
      ...now,
    ].slice(-COUNTED_REPLICAS_MAX),
  );
  return { count, tried: published.map(({ one }) => one), counted };
}

const some = (names: readonly string[]): readonly string[] => [...new Set(names)].slice(0, TRIED_NAMES_MAX);

const clientsOf = ({ tried }: Fresh): readonly string[] => some(tried.flatMap((one) => one.clients));
const waysOf = ({ tried }: Fresh): readonly string[] => some(tried.flatMap(({ ways = [] }) => ways)).toSorted();

/** The failed sign-ins that a user sees; undefined where they are nobody's, or of other secrets. */
function lastOf({ last = [] }: AttemptedRecord, of: string, fresh: Fresh, at: number): EnteredSignIns[] | undefined {
  const userId = userOfSignIns(of);
  if (userId === undefined || userId === '') return undefined;
  const entered = { at, count: fresh.count, clients: [...clientsOf(fresh)], ways: [...waysOf(fresh)] };
  return [...last, entered].slice(-LIMITS.refusedSignInsListedMax);
}

function told(of: string, fresh: Fresh) {
  const { count, tried } = fresh;
  const clients = clientsOf(fresh).join(' ');
  const userId = userOfSignIns(of);
  if (userId !== undefined) {
    const whose = userId === '' ? {} : { userId };
    const detail = { ...whose, count, clients, ways: waysOf(fresh).join(' ') };
    return { accountId: OPERATOR_AUDIT, action: 'sign-in.refused', detail } as const;
  }
  const caller = callerRefused(of);
  if (caller !== undefined) {
    const whose = caller.startsWith('user:') ? { userId: caller.slice('user:'.length) } : { caller };
    const detail = { ...(caller !== '' && whose), count, roles: waysOf(fresh).join(' '), clients };
    return { accountId: OPERATOR_AUDIT, action: 'role.refused', detail } as const;
  }
  if (of === OPERATOR_AUDIT) return { accountId: of, action: 'token.refused', detail: { count, clients } } as const;
  const keyIds = some(tried.flatMap((one) => one.keyIds)).join(' ');
  const met = limitMet(of);
  if (met) return { accountId: met.accountId, action: met.limit, detail: { count, keyIds, clients } } as const;
  return { accountId: of, action: 'key.refused', detail: { count, keyIds, clients } } as const;
}
