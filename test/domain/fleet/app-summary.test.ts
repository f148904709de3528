import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  bindingConfirmed,
  credentialTaken,
  enrolled,
  newApp,
  revoked,
  withCode,
} from '../../../src/domain/apps/app-state.ts';
import { readSummary, summaryOf } from '../../../src/domain/fleet/app-summary.ts';
import { BadRecord, parseRecord } from '../../../src/domain/records/codec.ts';
import type { AppRecord } from '../../../src/domain/records/app-records.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { runs } from '../../support/run/effort.ts';
import { rawKey } from '../../support/store/raw-key.ts';

/** The result of the schema for the text: the summary and the credential, or that it is no record. */
function bySchema(value: string): unknown {
  try {
    const { record } = parseRecord(KEYS.app, { key: rawKey('k'), value, revision: 1 });
    const { credential } = record;
    return { summary: summaryOf(record), credential: /^[\w-]+$/.test(credential ?? '') ? credential : undefined };
  } catch (error) {
    return error instanceof BadRecord ? 'refused' : error;
  }
}

function bySummary(value: string): unknown {
  try {
    return readSummary({ key: rawKey('k'), value, revision: 1 });
  } catch (error) {
    return error instanceof BadRecord ? 'refused' : error;
  }
}

const instant = fc.oneof(fc.nat(), fc.constantFrom(0, 1_795_000_000_000, 8_000_000_000_000_000));
const hash = fc.string({ unit: fc.constantFrom('a', 'Z', '0', '9', '-', '_'), minLength: 1, maxLength: 43 });
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom('a"b', '\\', '\n', '\ud800', 'ü'),
);
const step = fc.oneof(
  fc.record({ what: fc.constant('code' as const), hash, at: instant }),
  fc.record({
    what: fc.constant('enroll' as const),
    credential: hash,
    platform: text,
    agentVersion: text,
    at: instant,
    provisional: fc.boolean(),
  }),
  fc.record({ what: fc.constantFrom('confirm' as const, 'take' as const) }),
  fc.record({ what: fc.constant('revoke' as const), at: instant }),
  /** An older version kept its fields in the order of the schema. */
  fc.record({ what: fc.constant('respell' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function taken(app: AppRecord, s: Step): AppRecord {
  switch (s.what) {
    case 'code':
      return withCode(app, { hash: s.hash, issuedAt: s.at });
    case 'revoke':
      return revoked(app, s.at);
    case 'confirm':
      return bindingConfirmed(app);
    case 'take':
      return credentialTaken(app);
    case 'respell':
      return KEYS.app.schema.parse(app);
    case 'enroll': {
      const [code] = app.codes;
      if (!code) return app;
      const { what: _, ...told } = s;
      return enrolled(app, { ...told, code: code.hash, connection: 'cloud' });
    }
  }
}

const record = fc
  .tuple(text, fc.nat(2000), hash, instant, fc.array(step, { maxLength: 8 }))
  .map(([name, slot, code, at, steps]) => steps.reduce(taken, newApp(name, slot, at, { hash: code, issuedAt: at })));

test('the summary of any state of an app says what the whole record says', () => {
  fc.assert(
    fc.property(record, (app) => {
      const value = JSON.stringify(app);
      expect(bySummary(value)).toEqual(bySchema(value));
      expect(bySummary(value)).not.toBe('refused');
    }),
    { numRuns: runs(200) },
  );
});

/** One place of the text is cut out, doubled, or replaced by something that means something in JSON. */
const damage = fc.record({
  at: fc.nat(600),
  length: fc.nat(12),
  put: fc.constantFrom(
    '',
    '"',
    '{',
    '}',
    ',',
    ':',
    '0',
    '-1',
    '1.5',
    '1e3',
    '"x"',
    'null',
    '\\u0041',
    ' ',
    '\n',
    ',"more":1',
  ),
});

test('a text that is damaged or spelled otherwise is judged as the schema judges it', () => {
  fc.assert(
    fc.property(record, fc.array(damage, { minLength: 1, maxLength: 3 }), (app, damages) => {
      let value = JSON.stringify(app);
      for (const { at, length, put } of damages) {
        const from = at % value.length;
        value = value.slice(0, from) + put + value.slice(from + length);
      }
      expect(bySummary(value)).toEqual(bySchema(value));
    }),
    { numRuns: runs(600) },
  );
});

test.each([
  ['a name twice: the last one counts', (json: string) => json.replace(/,"credential":"[^"]*"/, '$&,"enrolledAt":7$&')],
  ['another credential than was bound', (json: string) => json.replace(/("credential":")[^"]*"/, '$1another"')],
  ['a binding that is expressly final', (json: string) => json.replace('"provisional":true', '"provisional":false')],
  ['a field of a newer version', (json: string) => json.replace('"slot"', '"later":{"a":[1]},"slot"')],
  ['a status of a newer version', (json: string) => json.replace('"active"', '"paused"')],
  ['a slot that is none', (json: string) => json.replace('"slot":5', '"slot":-5')],
  [
    'an instant that no number can hold',
    (json: string) => json.replace('"createdAt":1', '"createdAt":99999999999999999'),
  ],
])('as the schema judges it: %s', (_what, spell) => {
  const before = newApp('n', 5, 1, { hash: 'code', issuedAt: 1 });
  const told = { platform: 'p', agentVersion: 'v', connection: 'private', at: 1, provisional: true } as const;
  const value = spell(JSON.stringify(enrolled(before, { code: 'code', credential: 'credential-hash', ...told })));
  expect(value).not.toBe(JSON.stringify(enrolled(before, { code: 'code', credential: 'credential-hash', ...told })));
  expect(bySummary(value)).toEqual(bySchema(value));
});
