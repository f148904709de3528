import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isBlank, isolated, shownName } from '../../src/text/shown-name.ts';

const FSI = '\u2068';
const PDI = '\u2069';

test.each<[name: string, shown: string, why: string]>([
  ['edge-1', 'edge-1', 'ASCII turns nothing'],
  ['Zoë 山田', 'Zoë 山田', 'neither do other letters from left to right'],
  ['שרה', `${FSI}שרה${PDI}`, 'letters from right to left'],
  ['a\u061f', `${FSI}a\u061f${PDI}`, 'a question mark from right to left'],
  ['\u{1ec71}\u{10d50}', `${FSI}\u{1ec71}\u{10d50}${PDI}`, 'numbers and letters of rare scripts from right to left'],
  ['shop ١٢', `${FSI}shop ١٢${PDI}`, 'Arabic digits'],
  ['exe\u202egpj', `${FSI}exegpj${PDI}`, 'an override of its own'],
  ['a\u2069\u2069b', `${FSI}ab${PDI}`, 'what would end the isolation'],
])('%j is shown as %j: %s', (name, shown) => {
  expect([isolated(name), shownName(name, 'id')]).toEqual([shown, shown]);
});

test.each(['', ' ', '\u3000', '\u200b', '\u2800', '\u202e', '\u3164 \u00ad', '\t'])(
  'of %j nothing is seen: the id',
  (name) => {
    expect([isBlank(name), shownName(name, 'k3v9')]).toEqual([true, 'k3v9']);
  },
);

test('whatever a name is, it opens no direction that it does not close', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', 'א', '\u202e', '\u2066', '\u2068', '\u2069', '\u200f') }),
      (name) => {
        const shown = isolated(name);
        const inner = shown.startsWith(FSI) && shown.endsWith(PDI) ? shown.slice(1, -1) : shown;
        expect(inner).not.toMatch(/\p{Bidi_Control}/u);
        if (/א/.test(name)) expect(shown).toBe(`${FSI}${inner}${PDI}`);
      },
    ),
  );
});
