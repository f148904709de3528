import { describe, expect, test } from 'vitest';
import { queryOf } from '../../../src/api/http/request-headers.ts';
import { APIS } from '../../../src/api/openapi/apis.ts';
import { Refusal } from '../../../src/domain/refusal.ts';

/* Each parameter of each operation: the refusal of a value without its form says its name and what it must be. */

/** The provider's answer to a sign-in may be any text. */
const FREE: ReadonlySet<string> = new Set(['endProviderSignIn']);

const VALUES = ['', '!', 'x'.repeat(700), 'null', '0', '-1', '1e2', '0x10', '99999999', '2026-13', 'a,b', ','];

const all = Object.values(APIS)
  .flatMap(({ operations }) => operations)
  .flatMap(({ id, query }) => (query ? [{ id, query }] : []));
const declared = all.filter(({ id }) => !FREE.has(id));

const refusalOf = (query: (typeof all)[number]['query'], text: string): string | undefined => {
  try {
    queryOf({ url: `/?${text}` }, query);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
};

describe.each(declared)('the query of $id', ({ query }) => {
  const absent = refusalOf(query, '');
  const refusals = (name: string): readonly string[] => [
    ...(absent?.startsWith(`${name}:`) ? [absent] : []),
    // A required parameter beside it is refused by its own test.
    ...VALUES.map((value) => refusalOf(query.partial(), new URLSearchParams({ [name]: value }).toString())).filter(
      (text) => text !== undefined,
    ),
  ];

  test.each(Object.keys(query.shape))('%s is refused in words of its own', (name) => {
    const told = refusals(name);
    expect(told).not.toEqual([]);
    for (const text of told) {
      expect(text).toMatch(new RegExp(`^${name}: .+`, 's'));
      expect(text).not.toMatch(/invalid|expected|too (?:big|small)|not the form/i);
    }
  });

  test('is refused where a parameter is there twice', () => {
    const [name] = Object.keys(query.shape);
    expect(refusalOf(query, `${name}=1&${name}=1`)).toBe(`${name ?? ''}: it is there more than once.`);
  });
});

test('the answer of a provider is taken as it is, since the library judges it', () => {
  const text = new URLSearchParams({ code: 'x'.repeat(9000), state: '!' }).toString();
  const free = all.filter(({ id }) => FREE.has(id));
  expect(free.map(({ query }) => refusalOf(query, text))).toEqual([undefined]);
});
