import { COMMIT_OPERATIONS_MAX, type Write } from '../../store/port.ts';
import type { Step } from './step.ts';

/** The room of one commit for steps: how many operations it has left, and which keys it writes already. */
export class CommitRoom {
  readonly #expected = new Set<string>();
  readonly #written = new Set<string>();
  /** Each step has an audit entry, which is written and expected to be absent. */
  #entries = 0;
  readonly #most: number;

  /** @param kept operations of each kind that the commit has besides, such as the counters of its account */
  constructor(kept = 1) {
    this.#most = COMMIT_OPERATIONS_MAX - kept;
  }

  /**
   * Takes the steps in, all of them or none. An empty commit takes any: there is no larger one for them.
   * @returns whether they are taken: there is room for them, and they write no key that another step writes
   */
  take(steps: readonly Step<unknown>[]): boolean {
    const written = steps.flatMap(({ write }) => write.map(keyOf));
    const expected = new Set(this.#expected);
    for (const { expect } of steps) for (const { key } of expect) expected.add(key);
    const entries = this.#entries + steps.length;
    const operations = Math.max(this.#written.size + written.length, expected.size) + entries;
    const isFree = operations <= this.#most && !written.some((key) => this.#written.has(key));
    if (this.#entries > 0 && !isFree) return false;
    for (const key of written) this.#written.add(key);
    for (const key of expected) this.#expected.add(key);
    this.#entries = entries;
    return true;
  }
}

function keyOf(write: Write): string {
  if ('put' in write) return write.put;
  return 'remove' in write ? write.remove : write.removeAll;
}
