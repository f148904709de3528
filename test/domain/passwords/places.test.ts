import { describe, expect, test } from 'vitest';
import { networksOf } from '../../../src/api/http/client-address.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { Places, type Guest } from '../../../src/domain/passwords/places.ts';

const PLACES = LIMITS.passwordsHashedMax + LIMITS.passwordsWaitingMax;
const stranger = (address: string): Guest => ({ networks: networksOf(address) });
/** How many of these guests, one after the other, get a place. */
const taken = (places: Places, guests: readonly Guest[]): number =>
  guests.filter((guest) => places.take(guest) !== undefined).length;
const many = (count: number, addressOf: (i: number) => string): Guest[] =>
  Array.from({ length: count }, (_, i) => stranger(addressOf(i)));

describe('the places of those whose passwords are hashed', () => {
  test.each([
    [() => '198.51.100.7', 2, 'one address of IPv4'],
    [(i: number) => `198.51.100.${i}`, 3, 'one /24'],
    [(i: number) => `198.51.${i}.7`, 17, 'strangers all in all: half of the places'],
    [(i: number) => `2001:db8:1:2::${i}`, 2, 'one /64'],
    [(i: number) => `2001:db8:1:2${i % 10}${i % 7}::1`, 2, 'one /56'],
    [(i: number) => `2001:db8:1:${i}00::1`, 3, 'one /48, a tenth of the places'],
    [(i: number) => `2001:db8:${i}::1`, 17, 'many of these'],
  ])('strangers %o get %d (%s)', (addressOf, most) => {
    expect(taken(new Places(), many(40, addressOf))).toBe(most);
  });

  test('a tenth is no more than a tenth, and half no more than half', () => {
    expect(LIMITS.passwordsPerNetworkMax / PLACES).toBeLessThanOrEqual(0.1);
    expect(LIMITS.passwordsOfStrangersMax / PLACES).toBeLessThanOrEqual(0.5);
  });

  test('the other half is for people who are known, two for each; a place that is given back is free once', () => {
    const places = new Places();
    expect(
      taken(
        places,
        many(40, (i) => `198.51.${i}.7`),
      ),
    ).toBe(17);
    const known = (i: number): Guest => ({ known: `browser of ${Math.floor(i / 3)}` });
    const own = places.take({ known: 'session of ann' });
    expect(
      taken(
        places,
        Array.from({ length: 40 }, (_, i) => known(i)),
      ),
    ).toBe(16);
    expect(places.take({ known: 'session of bob' })).toBeUndefined();
    own?.[Symbol.dispose]();
    own?.[Symbol.dispose]();
    expect(taken(places, [{ known: 'session of bob' }, { known: 'session of bob' }])).toBe(1);
    expect(taken(new Places(), [0, 1, 2].map(known))).toBe(2);
  });

  test('places come and go without a trace', () => {
    const places = new Places();
    for (let round = 0; round < 50; round += 1) {
      const all = many(40, (i) => `198.51.${i}.${round}`).map((guest) => places.take(guest));
      expect(all.filter((place) => place !== undefined)).toHaveLength(17);
      for (const place of all) place?.[Symbol.dispose]();
    }
  });
});
