import { LIMITS } from '../limits.ts';

/**
 * The one who asks for a place: somebody who is known by a browser or a session; or a stranger, by the networks of the
 * address, the narrowest first. Whoever has a link is a stranger, too, and comes by the one who made it: a tenant makes
 * many.
 */
export type Guest = { readonly known: string } | { readonly networks: readonly string[]; readonly invitedBy?: string };

/** One of the places, until it is disposed of. */
type Taken = Disposable;

const PLACES_MAX = LIMITS.passwordsHashedMax + LIMITS.passwordsWaitingMax;

/**
 * The places of those whose passwords are hashed or wait for it. Half of them are kept for people who are known, and no
 * network of strangers has more than its share: a flood leaves room for everybody else.
 */
export class Places {
  readonly #times: number;
  #taken = 0;
  #strangers = 0;
  readonly #counts = new Map<string, number>();
  /** The one that came first is first. */
  readonly #waiting = new Set<{ readonly guest: Guest; readonly enter: (taken: Taken) => void }>();

  /** @param times how many times as many places, and shares of them, there are */
  constructor(times = 1) {
    this.#times = times;
  }

  /** @returns undefined where none is free for this guest */
  take(guest: Guest): Taken | undefined {
    const isStranger = 'networks' in guest;
    const shares = sharesOf(guest);
    if (this.#taken >= PLACES_MAX * this.#times) return undefined;
    if (isStranger && this.#strangers >= LIMITS.passwordsOfStrangersMax * this.#times) return undefined;
    if (shares.some(([of, most]) => (this.#counts.get(of) ?? 0) >= most * this.#times)) return undefined;
    this.#add(shares, isStranger, 1);
    let isTaken = true;
    return {
      [Symbol.dispose]: () => {
        if (!isTaken) return;
        isTaken = false;
        this.#add(shares, isStranger, -1);
        this.#callIn();
      },
    };
  }

  /** The same once one is free. Whoever calls it is bounded by other places. */
  async wait(guest: Guest): Promise<Taken> {
    const taken = this.take(guest);
    if (taken) return taken;
    const { promise, resolve } = Promise.withResolvers<Taken>();
    this.#waiting.add({ guest, enter: resolve });
    return await promise;
  }

  /** Lets in whoever fits by now, in the order in which they came. */
  #callIn(): void {
    for (const one of this.#waiting) {
      const taken = this.take(one.guest);
      if (!taken) continue;
      this.#waiting.delete(one);
      one.enter(taken);
    }
  }

  #add(shares: ReturnType<typeof sharesOf>, isStranger: boolean, change: 1 | -1): void {
    this.#taken += change;
    if (isStranger) this.#strangers += change;
    for (const [of] of shares) {
      const count = (this.#counts.get(of) ?? 0) + change;
      if (count === 0) this.#counts.delete(of);
      else this.#counts.set(of, count);
    }
  }
}

/** A guest is counted under these, each with its bound. The widest network of an address has a tenth of all places. */
function sharesOf(guest: Guest): readonly (readonly [of: string, most: number])[] {
  if ('known' in guest) return [[`known ${guest.known}`, LIMITS.passwordsPerKnownMax]];
  const widest = guest.networks.length - 1;
  const ofNetworks = guest.networks.map(
    (network, index) =>
      [network, index === widest ? LIMITS.passwordsPerNetworkMax : LIMITS.passwordsPerMachineMax] as const,
  );
  const { invitedBy } = guest;
  return invitedBy === undefined ? ofNetworks : [...ofNetworks, [`by ${invitedBy}`, LIMITS.passwordsPerNetworkMax]];
}
