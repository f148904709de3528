import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { Secret } from '../../../src/domain/credentials/secret.ts';
import { createEnvelope, type Envelope } from '../../../src/domain/keys/envelope.ts';
import { parseKeyRing } from '../../../src/domain/keys/key-ring.ts';
import { type Sealed, sealedSchema } from '../../../src/domain/records/shapes.ts';
import { ConfigurationFault } from '../../../src/domain/refusal.ts';

const line = (number: number, fill = number): string => `${number}:${Buffer.alloc(32, fill).toString('base64')}\n`;
const envelopeOf = (keyFile: string): Envelope => createEnvelope(parseKeyRing(keyFile), systemRandom());

const CONTEXT = 'otel-header:abcdefgh12345678';
const envelope = envelopeOf(line(1));
const seal = (text: string): Sealed => envelope.seal(new Secret(text), CONTEXT, 1);
const opened = (sealed: Sealed, context = CONTEXT): string | undefined => envelope.open(sealed, context)?.reveal();

test('what was sealed opens: any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, context) => {
      const sealed = envelope.seal(new Secret(text), context, 1);
      expect(envelope.open(sealed, context)?.reveal()).toBe(text);
    }),
  );
});

test('the longest header opens, and its record has the shape that is read back', () => {
  const text = '~'.repeat(8192);
  const sealed = sealedSchema.parse(JSON.parse(JSON.stringify(seal(text))));
  expect(opened(sealed)).toBe(text);
});

test('the same text is never sealed alike, and never lies in the box', () => {
  const [one, other] = [seal('Bearer token'), seal('Bearer token')];
  expect(one.box).not.toBe(other.box);
  expect(one.wrappedKey).not.toBe(other.wrappedKey);
  expect(Buffer.from(one.box, 'base64').includes('Bearer')).toBe(false);
});

describe('a box opens only where it belongs', () => {
  test.each([
    ['otel-header:abcdefgh12345679', 'another account'],
    ['idempotency:abcdefgh12345678', 'another field'],
    ['', 'nowhere'],
  ])('not for %j (%s)', (context) => {
    expect(opened(seal('Bearer token'), context)).toBeUndefined();
  });

  test('nor with the wrapped key of another box of the same account', () => {
    const [one, other] = [seal('one'), seal('other')];
    expect(opened({ ...one, wrappedKey: other.wrappedKey })).toBeUndefined();
    expect(opened({ ...one, box: other.box })).toBeUndefined();
    expect(opened(one)).toBe('one');
  });
});

describe('a box that was altered does not open', () => {
  const sealed = seal('Bearer token');
  const altered = (text: string, at: number): string => {
    const bytes = Buffer.from(text, 'base64');
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return bytes.toString('base64');
  };

  test.each(['box', 'wrappedKey'] as const)('one bit of the %s: nonce, text or tag', (part) => {
    for (let at = 0; at < Buffer.from(sealed[part], 'base64').length; at += 1) {
      expect(opened({ ...sealed, [part]: altered(sealed[part], at) })).toBeUndefined();
    }
  });

  test.each(['box', 'wrappedKey'] as const)('a %s that was cut short, down to nothing', (part) => {
    const bytes = Buffer.from(sealed[part], 'base64');
    for (let length = 0; length < bytes.length; length += 1) {
      expect(opened({ ...sealed, [part]: bytes.subarray(0, length).toString('base64') })).toBeUndefined();
    }
  });
});

describe('numbered keys', () => {
  test('the named one seals, an older one still opens what it sealed', () => {
    const old = envelopeOf(line(1)).seal(new Secret('old'), CONTEXT, 1);
    const both = envelopeOf(line(2) + line(1));
    const fresh = both.seal(new Secret('fresh'), CONTEXT, 2);
    expect([old.keyNumber, fresh.keyNumber]).toEqual([1, 2]);
    expect([both.open(old, CONTEXT)?.reveal(), both.open(fresh, CONTEXT)?.reveal()]).toEqual(['old', 'fresh']);
  });

  test('once the key is retired, what it sealed is closed for good', () => {
    const old = envelopeOf(line(1)).seal(new Secret('old'), CONTEXT, 1);
    expect(envelopeOf(line(2)).open(old, CONTEXT)).toBeUndefined();
  });

  test('another key under the same number opens nothing', () => {
    const old = envelopeOf(line(1)).seal(new Secret('old'), CONTEXT, 1);
    expect(envelopeOf(line(1, 9)).open(old, CONTEXT)).toBeUndefined();
    expect(envelopeOf(line(1) + line(2)).open({ ...old, keyNumber: 2 }, CONTEXT)).toBeUndefined();
  });
});

describe('a rewrapped data key', () => {
  const both = envelopeOf(line(1) + line(2));

  test('opens with the new key alone; the box is the same, and the old wrapping is gone from it', () => {
    const old = both.seal(new Secret('Bearer token'), CONTEXT, 1);
    const fresh = both.rewrap(old, CONTEXT, 2);
    if (!fresh) return expect.unreachable();
    expect(envelopeOf(line(2)).open(fresh, CONTEXT)?.reveal()).toBe('Bearer token');
    expect(envelopeOf(line(1, 1)).open({ ...fresh, keyNumber: 1 }, CONTEXT)).toBeUndefined();
    expect([fresh.box, fresh.keyNumber]).toEqual([old.box, 2]);
    expect(fresh.wrappedKey).not.toBe(old.wrappedKey);
  });

  test.each<[string, (sealed: Sealed) => Sealed, string]>([
    ['of another context', (sealed) => sealed, 'otel-header:other'],
    ['that was altered', (sealed) => ({ ...sealed, wrappedKey: `AAAA${sealed.wrappedKey.slice(4)}` }), CONTEXT],
    ['whose key is gone', (sealed) => ({ ...sealed, keyNumber: 1 }), CONTEXT],
  ])('not one %s', (_, change, context) => {
    const sealed = both.seal(new Secret('Bearer token'), CONTEXT, 2);
    expect(envelopeOf(line(2)).rewrap(change(sealed), context, 2)).toBeUndefined();
  });

  test('under a key that this replica does not know yet, neither it nor a seal is made, and nothing reads as unset', () => {
    const newer = both.seal(new Secret('Bearer token'), CONTEXT, 2);
    const [old, behind] = [both.seal(new Secret('Bearer token'), CONTEXT, 1), envelopeOf(line(1))];
    expect(() => behind.rewrap(old, CONTEXT, 2)).toThrow(ConfigurationFault);
    expect(() => behind.seal(new Secret('x'), CONTEXT, 2)).toThrow(ConfigurationFault);
    expect(() => behind.open(newer, CONTEXT)).toThrow(
      'Key 2 is in use, and not in the key file of this replica: add its line.',
    );
    expect(behind.open(old, CONTEXT)?.reveal()).toBe('Bearer token');
  });
});
