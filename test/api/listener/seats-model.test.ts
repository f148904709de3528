import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Seats, type Seat } from '../../../src/api/listener/seats.ts';
import { runs } from '../../support/run/effort.ts';

/* Who gives way, against a model that looks at every connection each time. */

/** More than a hundred, so that an account with one connection at rest is not large. */
const CONNECTIONS_MAX = 120;
const PER_ADDRESS_MAX = 50;

interface Modelled {
  readonly seat: Seat;
  address: string | undefined;
  account: string | undefined;
  isAtRest: boolean;
}

/** What happens: `number` chooses the connection. */
type Step =
  | { readonly kind: 'connect'; readonly address: string | undefined; readonly times: number }
  | { readonly kind: 'authenticate'; readonly account: string; readonly number: number; readonly times: number }
  | { readonly kind: 'work' | 'rest' | 'leave'; readonly number: number; readonly times: number };

const times = fc.constantFrom(1, 1, 2, 5, 40);
const number = fc.nat({ max: 10_000 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('connect'),
      address: fc.constantFrom('a', 'b', 'c', 'd', 'e', undefined),
      times,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('authenticate'), account: fc.constantFrom('x', 'y', 'z'), number, times }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('work', 'rest', 'rest', 'leave'), number, times }) },
);

class Model {
  readonly #seats = new Seats({ connectionsMax: CONNECTIONS_MAX, strangersPerAddressMax: PER_ADDRESS_MAX });
  /** Open connections, the one that has been at rest longest first. */
  #open: Modelled[] = [];
  readonly #closed = new Set<Seat>();

  play(played: Step): void {
    for (let time = 0; time < played.times; time += 1) {
      if (played.kind === 'connect') this.#connect(played.address);
      else this.#use(played, this.#open[(played.number + time) % this.#open.length]);
    }
  }

  #use(played: Exclude<Step, { readonly kind: 'connect' }>, used: Modelled | undefined): void {
    if (used === undefined) return;
    if (played.kind === 'authenticate') {
      used.seat.authenticated(played.account);
      if (used.address === undefined) return;
      used.address = undefined;
      used.account = played.account;
      if (used.isAtRest) this.#toTheEnd(used);
    } else if (played.kind === 'leave') {
      used.seat.leave();
      this.#open = this.#open.filter((one) => one !== used);
    } else {
      used.seat[played.kind]();
      used.isAtRest = played.kind === 'rest';
      this.#toTheEnd(used);
    }
  }

  #toTheEnd(used: Modelled): void {
    this.#open = [...this.#open.filter((one) => one !== used), used];
  }

  #connect(address: string | undefined): void {
    const mayGive = this.#mayGive(address);
    const seat = this.#seats.take(
      address,
      () => {},
      () => {},
    );
    const closedNow = this.#open.filter((one) => this.#closed.has(one.seat));
    this.#closed.clear();
    if (mayGive === undefined) expect(closedNow).toEqual([]);
    else if (mayGive.length === 0) expect([seat, closedNow]).toEqual([undefined, []]);
    else {
      expect(closedNow).toHaveLength(1);
      expect(mayGive).toContain(closedNow[0]);
    }
    this.#open = this.#open.filter((one) => !closedNow.includes(one));
    if (seat === undefined) return;
    seat.close = () => void this.#closed.add(seat);
    this.#open.push({ seat, address, account: undefined, isAtRest: true });
  }

  /** Those that may give way, one of which must; undefined where there is room. */
  #mayGive(address: string | undefined): readonly Modelled[] | undefined {
    const ofAddress = this.#open.filter((one) => address !== undefined && one.address === address);
    if (ofAddress.length >= PER_ADDRESS_MAX) return ofAddress.filter(({ isAtRest }) => isAtRest).slice(0, 1);
    if (this.#open.length < CONNECTIONS_MAX) return undefined;
    const resting = this.#open.filter(({ isAtRest }) => isAtRest);
    const strangers = resting.filter((one) => one.address !== undefined);
    const known = resting.filter((one) => one.address === undefined);
    if (strangers.length >= CONNECTIONS_MAX / 4 || known.length === 0) return strangers.slice(0, 1);
    const accounts = Map.groupBy(
      known.filter(({ account }) => account !== undefined),
      ({ account }) => account,
    );
    const most = Math.max(0, ...[...accounts.values()].map(({ length }) => length));
    if (most <= CONNECTIONS_MAX / 100) return known.slice(0, 1);
    return [...accounts.values()].filter(({ length }) => length === most).flatMap((own) => own.slice(0, 1));
  }
}

test('at a bound the one gives way that the rule names, whatever happened before', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 100 }), (steps) => {
      const model = new Model();
      for (const played of steps) model.play(played);
    }),
    { numRuns: runs(60), endOnFailure: true },
  );
});
