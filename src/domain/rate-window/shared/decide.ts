import { desiredUnits, enoughOf, keptUnits, lastUnits, transferred } from './allotment-size.ts';
import { countOf, type Count } from './count.ts';
import { settled, usableUnits } from './own-lease.ts';
import { isShared, pruned, type Lease, type WindowRecord } from './record.ts';
import type { WindowRules } from './rules.ts';
import type { Situation } from './situation.ts';

/** A lease to be put with a commit. */
interface NewLease extends Omit<Lease, 'nonce' | 'stamp'> {
  readonly usedUntil: number;
}

export type Decision =
  /** So many of the waiting requests are admitted from the own lease. */
  | { readonly act: 'serve'; readonly units: number }
  /** This record is committed, with the lease of this replica in it. */
  | {
      readonly act: 'commit';
      readonly record: WindowRecord;
      readonly take: NewLease;
      /**
       * So many waiting requests are refused after the commit: nothing is free for them, and no allotment to recall.
       */
      readonly refuses: number;
      /** More than 200 are left: commits are to be few. */
      readonly isAmple: boolean;
    }
  /** Until this instant others may return something, or it is their turn. */
  | { readonly act: 'wait'; readonly until: number; readonly for: 'answers' | 'turn' }
  | { readonly act: 'refuse' };

/** Decides what a replica does next for an account: a pure function, so that it can be simulated. */
export function decide(situation: Situation, rules: WindowRules): Decision {
  const { leases, now, waiting, replicaId } = situation;
  const usable = usableUnits(leases, now);
  if (waiting > 0 && usable > 0) return { act: 'serve', units: Math.min(usable, waiting) };

  const record = pruned(settled(situation.record, replicaId, leases.lease, rules), now, rules);
  const count = countOf(record, situation, rules);
  const isAmple = count.left > rules.allotmentAboveLeft && !situation.isStopping;
  const facts = { situation, record, rules, ...count, isAmple };
  // Only holders write while they are asked: if others went on, a holder could meet one conflict after the other.
  const answersBy = Math.max(0, ...count.allotted.map(({ name }) => situation.recallDeadlines.get(name) ?? 0));
  if (waiting === 0 || (situation.mustReturn && answersBy > 0))
    return isAmple ? settle(facts) : commit(facts, { units: 0 });
  if (answersBy > 0) return { act: 'wait', until: answersBy, for: 'answers' };
  return isAmple ? takeAllotment(facts) : charge(facts);
}

interface Facts extends Count {
  readonly situation: Situation;
  /** The own lease is settled in it. */
  readonly record: WindowRecord;
  readonly rules: WindowRules;
  readonly isAmple: boolean;
}

type Commit = Extract<Decision, { act: 'commit' }>;

/** Reports what was spent. A used allotment is renewed; of a recalled one the units go to those with a demand. */
function settle(facts: Facts): Commit {
  const { situation, record, rules } = facts;
  const { leases, own, now, mustReturn } = situation;
  const free = Math.max(0, facts.free);
  if (!leases.lease || (leases.lease.spent === 0 && !mustReturn)) return commit(facts, { units: 0 });
  if (!mustReturn) {
    const desired = desiredUnits({ ...situation, isRenewal: true }, record, free, rules);
    return commit(facts, { units: Math.min(free, desired), isAllotment: true });
  }
  const kept = Math.min(free, keptUnits(leases.lease, own, rules));
  const others = transferred(record.leases, free - kept, now);
  return commit({ ...facts, record: { ...record, leases: others } }, { units: kept, isAllotment: kept > 0 });
}

/** While much is left: takes an allotment, and where that is scant, recalls others, the largest first. */
function takeAllotment(facts: Facts): Decision {
  const { situation, rules, record, allotted } = facts;
  const free = Math.max(0, facts.free);
  const charged = Math.min(situation.waiting, rules.allotmentMax);
  const desired = desiredUnits({ ...situation, isRenewal: false }, record, free, rules);
  const units = Math.min(free, Math.max(charged, desired));
  const lacking = Math.max(0, charged - units);
  const recalls = enoughOf(allotted, lacking > 0 ? 2 * lacking : Number(units < rules.scantMax));
  if (recalls.length > 0) {
    return commit(facts, { units, isAllotment: true, recalls, demand: rules.allotmentMax - units });
  }
  if (lacking === 0) return commit(facts, { units, isAllotment: true });
  if (units === 0 && !situation.mustWrite) return { act: 'refuse' };
  return commit(facts, { units, refuses: situation.waiting - units });
}

/**
 * While little is left: charges the waiting requests, and recalls the allotments of others. A replica that shares the
 * window with nobody takes an allotment here, too: whoever comes recalls it, and until then no request needs a commit
 * of its own.
 */
function charge(facts: Facts): Decision {
  const { situation, record, rules, allotted } = facts;
  const free = Math.max(0, facts.free);
  const charged = Math.min(situation.waiting, rules.allotmentMax);
  if (free > charged && !situation.mustReturn && !isShared(record, situation.replicaId)) {
    return commit(facts, { units: lastUnits(free, charged, rules), isAllotment: true });
  }
  const recalls = free < charged ? allotted.map(({ name }) => name) : [];
  // A damaged record is written anew once; otherwise it would refuse again and again.
  if (free === 0 && recalls.length === 0 && !situation.mustWrite) return { act: 'refuse' };
  if (situation.now < situation.yieldsUntil && !situation.mustReturn) {
    return { act: 'wait', until: situation.yieldsUntil, for: 'turn' };
  }
  const refuses = free < charged && recalls.length === 0 ? situation.waiting - free : 0;
  return commit(facts, { units: Math.min(free, charged), recalls, refuses });
}

interface Put {
  readonly units: number;
  readonly isAllotment?: boolean;
  readonly recalls?: readonly string[];
  readonly demand?: number;
  readonly refuses?: number;
}

function commit(
  { situation: { now, chargeMs }, record, rules, isAmple }: Facts,
  { units, isAllotment = false, recalls = [], demand = 0, refuses = 0 }: Put,
): Commit {
  const [recordedMs, usedMs] = isAllotment ? [rules.allotmentRecordedMs, rules.allotmentUsedMs] : [chargeMs, chargeMs];
  const take = { units, isAllotment, until: now + recordedMs, usedUntil: now + usedMs, ...(demand > 0 && { demand }) };
  const recalled = [...new Set([...record.recalled, ...recalls])];
  return { act: 'commit', record: { ...record, recalled }, take, refuses, isAmple };
}
