import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { Secret } from '../../../src/domain/credentials/secret.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { argon2IsThere, createPasswords, type PasswordPlace } from '../../../src/domain/passwords/password-hash.ts';
import type { Guest } from '../../../src/domain/passwords/places.ts';

const entered = (guest: Guest, into = createPasswords({ random: systemRandom() })): PasswordPlace => {
  const place = into.enter(guest);
  if (!place) throw new Error('No place is free.');
  return place;
};
const passwords = entered({ known: 'session of ann' });
const RIGHT = new Secret('otter lamp quietly folds maps');

describe('the hash of a password', () => {
  test('is Argon2id with the parameters in its text, and another one each time', async () => {
    expect(argon2IsThere()).toBe(true);
    const [one, another] = [await passwords.hash(RIGHT), await passwords.hash(RIGHT)];
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(another).not.toBe(one);
  });

  test('matches its password alone, in whichever form of Unicode that is typed', async () => {
    const stored = await passwords.hash(new Secret('ﬁne wide kettle'));
    expect(await passwords.matches(new Secret('fine wide kettle'), stored)).toBe(true);
    expect(await passwords.matches(new Secret('fine wide kettlE'), stored)).toBe(false);
    expect(await passwords.matches(new Secret(''), stored)).toBe(false);
  });

  test('is judged by the parameters in its text', async () => {
    const cheaper = await cheap();
    expect(await passwords.matches(RIGHT, cheaper)).toBe(true);
    expect(await passwords.matches(new Secret('another one of them'), cheaper)).toBe(false);
  });

  test.each<[stored: string | undefined, why: string]>([
    [undefined, 'nobody'],
    ['', 'nothing'],
    [
      '$argon2i$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
      'another kind',
    ],
    ['$argon2id$v=19$m=999999,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'too dear'],
    ['$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAA', 'a hash that was cut'],
  ])('%.20s matches nothing (%s)', async (stored) => {
    expect(await passwords.matches(RIGHT, stored)).toBe(false);
  });

  test('is computed for two at once: a third begins when one of them is done', async () => {
    const random = systemRandom();
    let salts = 0;
    const counted = createPasswords({
      random: {
        ...random,
        bytes: (length) => {
          salts += 1;
          return random.bytes(length);
        },
      },
    });
    salts = 0;
    const places = Array.from({ length: 5 }, (_, i) => entered({ networks: [`198.51.${i}.7`] }, counted));
    const all = places.map((place) => place.hash(RIGHT));
    // A salt is drawn when the computation begins.
    await nextTurn();
    expect(salts).toBe(2);
    await Promise.race(all);
    expect(salts).toBeGreaterThan(2);
    await Promise.all(all);
    expect(salts).toBe(5);
  });

  test('is made for a few at once and some that wait; one more is turned away, and later there is room again', async () => {
    const crowded = createPasswords({ random: systemRandom() });
    const most = (LIMITS.passwordsHashedMax + LIMITS.passwordsWaitingMax) * LIMITS.passwordRoomsPerPlace;
    const guest = (i: number) => ({ known: `session of user ${i}` });
    const places = Array.from({ length: most }, (_, i) => entered(guest(i), crowded));
    const all = places.map((place) => place.matches(RIGHT, undefined));
    expect(crowded.enter(guest(most))).toBeUndefined();
    expect(new Set(await Promise.all(all))).toEqual(new Set([false]));
    // A place is taken until it is given back, whatever was done in it.
    expect(crowded.enter(guest(most))).toBeUndefined();
    places[0]?.[Symbol.dispose]();
    expect(await entered(guest(most), crowded).hash(RIGHT)).toMatch(/^\$argon2id/);
  });
});

/** The same password with less work, as an older Muster might have stored it. */
async function cheap(): Promise<string> {
  const { argon2Sync } = await import('node:crypto');
  const nonce = Buffer.alloc(16, 3);
  const parameters = { message: RIGHT.reveal(), nonce, memory: 64, passes: 1, parallelism: 1, tagLength: 32 };
  const text = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');
  return `$argon2id$v=19$m=64,t=1,p=1$${text(nonce)}$${text(argon2Sync('argon2id', parameters))}`;
}
