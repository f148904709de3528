import { describe, expect, test } from 'vitest';
import { formatAmount, formatCount, formatMoment, formatPrice } from '../../web/text/format.ts';
import { treeOf } from '../support/repository/source-tree.ts';

/* Numbers, money and times of the panel have one form each, made in web/text/format.ts. */

const OWN_FORM = /\btoLocale\w*\(|\bIntl\.|\.toFixed\(/;
/** A parameter that is a number of things; these others are names of something, or seconds. */
const COUNTED = /\b(\w+): number\b/g;
const NAMED = new Set([
  'key',
  'revision',
  'number',
  'seconds',
  'first',
  'status',
  'skewMs',
  'ms',
  'from',
  'to',
  'index',
]);

/** The numbers that a file of texts shows as they are. */
function unformatted(text: string): readonly string[] {
  const names = new Set(Array.from(text.matchAll(COUNTED), ([, name = '']) => name));
  return [...names].filter((name) => !NAMED.has(name) && text.includes(`\${${name}}`));
}

describe('the forms of the panel', () => {
  const files = treeOf('web', '**/*.{ts,tsx}').filter(({ path }) => !path.startsWith('dist/'));

  test('no other file formats a number, money or a time of its own', () => {
    expect(files.length).toBeGreaterThan(100);
    expect(OWN_FORM.test('value.toLocaleString()')).toBe(true);
    expect(OWN_FORM.test('left.localeCompare(right)')).toBe(false);
    const others = files.filter(({ path }) => path !== 'text/format.ts');
    expect(others).toHaveLength(files.length - 1);
    expect(others.filter(({ text }) => OWN_FORM.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test('a text shows no count but by formatCount', () => {
    expect(unformatted('(count: number) => `${count} apps`')).toEqual(['count']);
    expect(unformatted('(count: number) => `${formatCount(count)} apps`')).toEqual([]);
    const texts = files.filter(({ path }) => path.startsWith('text/'));
    expect(texts.flatMap(({ path, text }) => unformatted(text).map((name) => `${path}: ${name}`))).toEqual([]);
  });

  test.each([
    [formatCount(1000), '1,000', 'thousands'],
    [formatCount(0), '0', 'none'],
    [formatAmount(123_456, 'EUR'), '€1,234.56', 'minor units'],
    [formatAmount(1234, 'JPY'), '¥1,234', 'a currency without minor units'],
    [formatPrice('4.5', 'EUR'), '€4.50', 'a price of one digit'],
    [formatPrice('0.0375', 'EUR'), '€0.0375', 'a price of more digits than the currency has'],
    [formatPrice('12', 'JPY'), '¥12', 'a price of no digits'],
  ])('%s is %s (%s)', (formatted, wanted) => {
    expect(formatted).toBe(wanted);
  });

  test('a moment names its zone, and its year where that is another one', () => {
    const at = '2026-03-04T05:06:07.000Z';
    expect(formatMoment(at, Date.parse('2026-12-01T00:00:00Z'))).toMatch(/^Mar \d+, \d\d:\d\d (?:UTC|GMT\S*|[A-Z]+)$/);
    expect(formatMoment(at, Date.parse('2028-01-01T00:00:00Z'))).toMatch(/2026/);
  });
});
