import { instantOf } from '../records/audit-records.ts';

/**
 * The kinds of faults that the verification finds.
 * - `removed`: a block has the entry, the store has not;
 * - `changed`: the store has another text than the one that was sealed;
 * - `added`: no block has the entry, though everything of its time is sealed, or the service makes no such keys;
 * - `backdated`: the entry came into the store long after the instant that it claims: added, or written by a wrong
 *   clock;
 * - `chain_broken`: a block is missing, changed or out of its place, or the head is.
 */
type AuditTampering = 'removed' | 'changed' | 'added' | 'backdated' | 'chain_broken';

/** A fault that the verification of an audit found. */
export interface AuditFault {
  readonly what: AuditTampering;
  /** The number of the block with the fault; undefined where no block has the entry. */
  readonly block: number | undefined;
  /** The last part of the entry's key, and the instant that it begins with; undefined for a fault of the chain. */
  readonly entry: string | undefined;
  readonly at: number | undefined;
  /** A sentence for the operator. */
  readonly says: string;
}

const LISTED_MAX = 100;

/** Collects the first 100 faults, and counts all. */
export class FaultList {
  readonly listed: AuditFault[] = [];
  count = 0;

  entry(what: Exclude<AuditTampering, 'chain_broken'>, entry: string, block: number | undefined, says: string): void {
    const at = instantOf(entry);
    this.#add({ what, block, entry, at: Number.isNaN(at) ? undefined : at, says });
  }

  chain(block: number | undefined, says: string): void {
    this.#add({ what: 'chain_broken', block, entry: undefined, at: undefined, says });
  }

  #add(fault: AuditFault): void {
    this.count += 1;
    if (this.listed.length < LISTED_MAX) this.listed.push(fault);
  }
}
