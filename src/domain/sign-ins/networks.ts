import { RecentMap } from '../../packed/recent-map.ts';
import type { Clock } from '../../time/clock.ts';
import { LIMITS } from '../limits.ts';
import { NO_FAILURES, withFailure, withoutFailure, type Failures } from './failures.ts';

/** The attempts of a network at a name, as this replica knows them. */
interface Known {
  readonly failures: Failures;
  /** When it may try again, as it was told; 0 where it was told nothing since its last attempt was compared. */
  readonly dueAt: number;
}
const UNKNOWN: Known = { failures: NO_FAILURES, dueAt: 0 };

/**
 * The networks that this replica has seen at each name, in memory: the latest are kept. Another replica knows of a
 * network's waiting by the ticket of its browser.
 */
export class Networks {
  readonly #clock: Pick<Clock, 'now'>;
  /** The attempts by name and network; the ones that were seen last are last. */
  readonly #known = new RecentMap<string, Known>(LIMITS.signInNetworksMax);

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  failures(of: string): Failures {
    return this.#known.get(of)?.failures ?? NO_FAILURES;
  }

  /** Whether the network was told to wait, and has. */
  hasWaited(of: string): boolean {
    return isDue(this.#known.get(of)?.dueAt ?? 0, this.#clock.now());
  }

  /** Notes that the network was told to wait; whoever comes too early begins to wait anew. */
  told(of: string, dueAt: number): void {
    this.#known.set(of, { ...(this.#known.get(of) ?? UNKNOWN), dueAt });
  }

  /** Counts an attempt that is compared. */
  compared(of: string): void {
    this.#known.set(of, { failures: withFailure(this.failures(of), this.#clock.now()), dueAt: 0 });
  }

  takeBack(of: string): void {
    const known = this.#known.get(of);
    if (known) this.#known.set(of, { ...known, failures: withoutFailure(known.failures) });
  }
}

/** Whether the time has come that somebody was told, and has not long passed. */
export const isDue = (dueAt: number, now: number): boolean =>
  dueAt !== 0 && now >= dueAt && now <= dueAt + LIMITS.signInTurnKeptMs;
