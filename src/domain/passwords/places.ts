import { LIMITS } from '../limits.ts';

/**
 * Who asks for a place: somebody who is known by a browser, a session or a link; or a stranger, by the networks of the
 * address, the narrowest first.
 */
export type Guest = { readonly known: string } | { readonly networks: readonly string[] };

/** One of the places, until it is disposed of. */
export type Taken = Disposable;

const PLACES_MAX = LIMITS.passwordsHashedMax + LIMITS.passwordsWaitingMax;

/**
 * The places of those whose passwords are hashed or wait for it. Half of them are kept for people who are known, and no
 * network of strangers has more than its share: a flood leaves room for everybody else.
 */
export class Places {
  #taken = 0;
  #strangers = 0;
  readonly #counts = new Map<string, number>();

  /** @returns undefined where none is free for this guest */
  take(guest: Guest): Taken | undefined {
    const isStranger = 'networks' in guest;
    const shares = sharesOf(guest);
    if (this.#taken >= PLACES_MAX) return undefined;
    if (isStranger && this.#strangers >= LIMITS.passwordsOfStrangersMax) return undefined;
    if (shares.some(([of, most]) => (this.#counts.get(of) ?? 0) >= most)) return undefined;
    this.#add(shares, isStranger, 1);
    let isTaken = true;
    return {
      [Symbol.dispose]: () => {
        if (isTaken) this.#add(shares, isStranger, -1);
        isTaken = false;
      },
    };
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

/** What a guest is counted under, and the most of each. The widest network of an address has a tenth of all places. */
function sharesOf(guest: Guest): readonly (readonly [of: string, most: number])[] {
  if ('known' in guest) return [[`known ${guest.known}`, LIMITS.passwordsPerKnownMax]];
  const widest = guest.networks.length - 1;
  return guest.networks.map((network, index) => [
    network,
    index === widest ? LIMITS.passwordsPerNetworkMax : LIMITS.passwordsPerMachineMax,
  ]);
}
