import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BASE62, systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import {
  apiKeyId,
  bearerToken,
  generateApiKey,
  generateCredential,
  generateEnrollCode,
  hashFromHex,
  isCredential,
  isEnrollCode,
  tokenHash,
} from '../../../src/domain/credentials/tokens.ts';

const random = systemRandom();
const apiKey = (): string => generateApiKey(random).token.reveal();
const enrollCode = (): string => generateEnrollCode(random).reveal();

describe('formats', () => {
  test('an API key names its key id, then 43 characters of secret and 6 of checksum', () => {
    const { keyId, token } = generateApiKey(random);
    expect(keyId).toMatch(/^[a-z0-9]{12}$/);
    expect(token.reveal()).toMatch(/^mst_live_[a-z0-9]{12}_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/);
    expect(apiKeyId(token.reveal())).toBe(keyId);
  });

  test('a code and a credential say what they are', () => {
    expect(enrollCode()).toMatch(/^mst_code_[0-9A-Za-z]{49}$/);
    expect(generateCredential(random).reveal()).toMatch(/^mst_dev_[0-9A-Za-z]{49}$/);
    expect(isCredential(generateCredential(random).reveal())).toBe(true);
  });

  test('a kind is no other kind', () => {
    const [key, code, credential] = [apiKey(), enrollCode(), generateCredential(random).reveal()];
    expect([apiKeyId(code), apiKeyId(credential)]).toEqual([undefined, undefined]);
    expect([isEnrollCode(key), isEnrollCode(credential)]).toEqual([false, false]);
    expect([isCredential(key), isCredential(code)]).toEqual([false, false]);
  });

  test('none is generated twice', () => {
    expect(new Set(Array.from({ length: 2000 }, enrollCode)).size).toBe(2000);
  });

  test.each([
    [`mst_dev_${'a'.repeat(43)}`, true, 'the shortest that a daemon may make'],
    [`mst_dev_${'a'.repeat(42)}`, false, 'one character less'],
    [`mst_dev_${'-_'.repeat(64)}`, true, 'the longest, of base64url'],
    [`mst_dev_${'a'.repeat(129)}`, false, 'one character more'],
    [`mst_dev_${'a'.repeat(42)}.`, false, 'a character of another alphabet'],
    [`mst_dev_${'a'.repeat(43)}\n`, false, 'a line break behind it'],
    [`MST_DEV_${'a'.repeat(43)}`, false, 'another case of the prefix'],
    ['', false, 'nothing'],
  ])('credential %.60j → %s (%s)', (token, acceptable) => {
    expect(isCredential(token)).toBe(acceptable);
  });
});

describe('the checksum', () => {
  /** The token with another character at a place. */
  const changed = (token: string, at: number, to: string): string => token.slice(0, at) + to + token.slice(at + 1);

  test('every change of a single character is found, wherever and to whatever', () => {
    for (const token of [apiKey(), enrollCode()]) {
      for (let at = 0; at < token.length; at += 1) {
        for (const to of `${BASE62}_-`) {
          if (to === token[at]) continue;
          const other = changed(token, at, to);
          expect({ other, passes: isEnrollCode(other) || apiKeyId(other) !== undefined }).toEqual({
            other,
            passes: false,
          });
        }
      }
    }
  });

  test('two neighbours that changed places are found', () => {
    const token = enrollCode();
    for (let at = 'mst_code_'.length; at < token.length - 1; at += 1) {
      const swapped = token.slice(0, at) + token[at + 1] + token[at] + token.slice(at + 2);
      expect(isEnrollCode(swapped)).toBe(swapped === token);
    }
  });

  test('random tokens of the right shape do not pass', () => {
    const body = fc.string({ unit: fc.constantFrom(...Array.from(BASE62)), minLength: 49, maxLength: 49 });
    fc.assert(fc.property(body, (text) => !isEnrollCode(`mst_code_${text}`)));
  });

  test('a code cut short, or with more behind it, is none', () => {
    const code = enrollCode();
    expect(isEnrollCode(code)).toBe(true);
    for (const other of [code.slice(0, -1), `${code}a`, `${code}\n`, ` ${code}`])
      expect(isEnrollCode(other)).toBe(false);
  });
});

test('hashes: SHA-256 of the whole token, the same from a daemon’s 64 hex digits in either case', () => {
  const token = generateCredential(random).reveal();
  const hex = createHash('sha256').update(token).digest('hex');
  expect(tokenHash(token)).toBe(createHash('sha256').update(token).digest('base64url'));
  expect([hashFromHex(hex), hashFromHex(hex.toUpperCase())]).toEqual([tokenHash(token), tokenHash(token)]);
});

describe('H16: the bearer token of the Authorization fields', () => {
  test.each<[readonly string[], string | undefined, string]>([
    [['Bearer abc'], 'abc', 'as everybody writes it'],
    [['bearer abc'], 'abc', 'the scheme is case-insensitive'],
    [['BEARER   abc '], 'abc', 'more spaces'],
    [[], undefined, 'no field'],
    [['Bearer abc', 'Bearer abc'], undefined, 'two fields, though they say the same'],
    [['Bearer'], undefined, 'no token'],
    [['Bearer '], undefined, 'an empty token'],
    [['Bearer a b'], undefined, 'two tokens'],
    [['Bearerabc'], undefined, 'no space'],
    [['Basic abc'], undefined, 'another scheme'],
    [['abc'], undefined, 'no scheme'],
  ])('%j → %s (%s)', (fields, token) => {
    expect(bearerToken(fields)).toBe(token);
  });
});
