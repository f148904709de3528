import type { TurnQueue } from '../../concurrency/turn-queue.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import { LIMITS } from '../limits.ts';
import type { HeldPollMetrics } from './metrics.ts';

/**
 * The polls that a replica holds until something changes, and their bounds. A credential, which is an app's only one,
 * has two places, and the newest poll wins: the dead connections that a NAT left behind must not shut out the live one.
 * Above half of all places the largest account gives up its oldest for each newcomer, as long as that leaves it
 * `perAccountMin`. Each step costs the same, however many polls are held.
 */
export interface HeldPolls {
  /**
   * Takes a place, perhaps that of an older poll, which then ends. The poll has it until it is disposed of.
   * @returns undefined where there is none, and once the process is to end
   */
  hold(app: HeldApp): HeldPoll | undefined;
  /** How many polls are held. */
  readonly count: number;
  /** The accounts with held polls, with the apps of each. */
  accounts(): Iterable<readonly [accountId: string, appIds: ReadonlySet<string>]>;
  /** Lets the polls of an app, or of a whole account, look again at what they are told. */
  wake(accountId: string, appId: string | undefined): void;
}

/** The app of a held poll, and its account: the bounds look at both. */
interface HeldApp {
  readonly id: string;
  readonly accountId: string;
}

/** A poll that is held. */
export interface HeldPoll extends Disposable {
  /** From here on a change is remembered; to be called before the state is read, so that none is missed. */
  look(): void;
  /** Resolves at the first change since `look`, and at once where the poll has ended. */
  changed(): Promise<void>;
  /** Ends the poll: its time is up, or its client has gone. */
  end(): void;
  /** It is to be answered now, whatever has changed. */
  readonly hasEnded: boolean;
  /** It has ended for a newer poll: its daemon is to wait before the next one. */
  readonly isDisplaced: boolean;
}

export interface HeldPollBounds {
  readonly pollsMax: number;
  readonly perCredentialMax: number;
  /** No account gives up a poll for another's while it has no more than this. */
  readonly perAccountMin: number;
}

interface HeldPollsDeps {
  readonly memory: Pick<FleetMemory, 'onChange'>;
  /** Paces the polls that a change, or the end, lets go on at once, since they may be very many. */
  readonly turns: TurnQueue;
  readonly metrics: HeldPollMetrics;
  /** Ends every poll. */
  readonly stopping: AbortSignal;
  /** Called when a first poll is held. */
  readonly begun?: () => void;
}

/** The bounds of a replica. @param pollsMax fewer where there are fewer connections; then accounts share less */
export const heldPollBounds = (pollsMax: number = LIMITS.heldPollsMax): HeldPollBounds => ({
  pollsMax,
  perCredentialMax: LIMITS.heldPollsPerCredentialMax,
  perAccountMin: Math.ceil((LIMITS.heldPollsPerAccountMin * pollsMax) / LIMITS.heldPollsMax),
});

/** Creates the places of a replica; see `HeldPolls`. */
export const createHeldPolls = (deps: HeldPollsDeps, bounds = heldPollBounds()): HeldPolls => new Places(deps, bounds);

class Place implements HeldPoll {
  readonly appId: string;
  readonly account: AccountPlaces;
  /** Its neighbours among the polls of its account, by age. */
  older: Place | undefined;
  newer: Place | undefined;
  hasEnded = false;
  isDisplaced = false;
  readonly #leave: (place: Place) => void;
  #hasChanged = false;
  #resume: (() => void) | undefined;

  constructor(appId: string, account: AccountPlaces, leave: (place: Place) => void) {
    this.appId = appId;
    this.account = account;
    this.#leave = leave;
  }

  look(): void {
    this.#hasChanged = false;
  }

  async changed(): Promise<void> {
    if (this.#hasChanged || this.hasEnded) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#resume = resolve;
    await promise;
  }

  wake(): void {
    this.#hasChanged = true;
    this.#resume?.();
    this.#resume = undefined;
  }

  end(): void {
    this.hasEnded = true;
    this.wake();
  }

  [Symbol.dispose](): void {
    this.#leave(this);
  }
}

/** The polls of one account: a list by age, and those of each app, the oldest first. */
class AccountPlaces {
  readonly id: string;
  readonly byApp = new Map<string, Place[]>();
  count = 0;
  oldest: Place | undefined;
  #newest: Place | undefined;

  constructor(id: string) {
    this.id = id;
  }

  add(place: Place): void {
    const own = this.byApp.get(place.appId);
    if (own) own.push(place);
    else this.byApp.set(place.appId, [place]);
    place.older = this.#newest;
    if (this.#newest) this.#newest.newer = place;
    else this.oldest = place;
    this.#newest = place;
    this.count += 1;
  }

  /** @returns false where it has left before */
  remove(place: Place): boolean {
    const own = this.byApp.get(place.appId);
    const at = own?.indexOf(place) ?? -1;
    if (!own || at < 0) return false;
    own.splice(at, 1);
    if (own.length === 0) this.byApp.delete(place.appId);
    const { older, newer } = place;
    if (older) older.newer = newer;
    else this.oldest = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
    place.older = place.newer = undefined;
    this.count -= 1;
    return true;
  }

  *places(): Iterable<Place> {
    for (const own of this.byApp.values()) yield* own;
  }
}

class Places implements HeldPolls {
  count = 0;
  readonly #deps: HeldPollsDeps;
  readonly #bounds: HeldPollBounds;
  readonly #accounts = new Map<string, AccountPlaces>();
  /** The accounts above `perAccountMin`: so few that the largest is found by looking at each. */
  readonly #large = new Set<AccountPlaces>();

  constructor(deps: HeldPollsDeps, bounds: HeldPollBounds) {
    this.#deps = deps;
    this.#bounds = bounds;
    deps.memory.onChange((accountId, appId) => this.wake(accountId, appId));
    deps.stopping.addEventListener('abort', () => {
      for (const account of this.#accounts.values()) {
        for (const place of account.places()) deps.turns.do(() => place.end());
      }
    });
  }

  hold({ id, accountId }: HeldApp): HeldPoll | undefined {
    const { stopping, metrics, begun } = this.#deps;
    const { pollsMax, perCredentialMax } = this.#bounds;
    if (stopping.aborted) return undefined;
    const account = this.#accounts.get(accountId) ?? new AccountPlaces(accountId);
    const place = new Place(id, account, (left) => this.#remove(left));
    this.#add(place);
    const own = account.byApp.get(id) ?? [];
    const [oldest] = own;
    if (oldest && own.length > perCredentialMax) this.#displace(oldest, 'credential');
    const largest = this.count > pollsMax / 2 ? this.#largest() : undefined;
    if (largest?.oldest) this.#displace(largest.oldest, 'account');
    if (this.count > pollsMax) {
      this.#remove(place);
      metrics.heldPollEnded('replica');
      return undefined;
    }
    if (this.count === 1) begun?.();
    return place;
  }

  *accounts(): Iterable<readonly [accountId: string, appIds: ReadonlySet<string>]> {
    for (const { id, byApp } of this.#accounts.values()) yield [id, new Set(byApp.keys())];
  }

  wake(accountId: string, appId: string | undefined): void {
    const account = this.#accounts.get(accountId);
    if (!account) return;
    const places = appId === undefined ? account.places() : (account.byApp.get(appId) ?? []);
    // The work may run at once, and never takes a place away: that happens when its request goes on.
    for (const place of places) this.#deps.turns.do(() => place.wake());
  }

  #displace(place: Place, bound: 'credential' | 'account'): void {
    this.#remove(place);
    place.isDisplaced = true;
    place.end();
    this.#deps.metrics.heldPollEnded(bound);
  }

  #largest(): AccountPlaces | undefined {
    let largest: AccountPlaces | undefined;
    for (const account of this.#large) if (account.count > (largest?.count ?? 0)) largest = account;
    return largest;
  }

  #add(place: Place): void {
    const { account } = place;
    account.add(place);
    this.#accounts.set(account.id, account);
    this.#counted(account, 1);
  }

  #remove(place: Place): void {
    const { account } = place;
    if (!account.remove(place)) return;
    if (account.count === 0) this.#accounts.delete(account.id);
    this.#counted(account, -1);
  }

  #counted(account: AccountPlaces, change: 1 | -1): void {
    this.count += change;
    if (account.count > this.#bounds.perAccountMin) this.#large.add(account);
    else this.#large.delete(account);
  }
}
