import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { GENERATED_TYPES, typesOf, type OpenApiDocument, type Schema } from '../../../clients/typescript/generate.ts';

/* The types of the client come from the documents, and from nothing else. */

const ROOT = resolve(import.meta.dirname, '../../..');
const textOf = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8');

test.each(GENERATED_TYPES)('$path is what `npm run client` writes', async ({ document, path }) => {
  expect(textOf(path)).toBe(await typesOf(JSON.parse(textOf(document)) as OpenApiDocument, document));
});

/** The type of one schema, without the head of the file. */
async function typeOf(schema: Schema): Promise<string> {
  const others = { Other: { type: 'string' } } satisfies Record<string, Schema>;
  const text = await typesOf({ components: { schemas: { ...others, One: schema } } }, 'a document');
  return text.split('\n').slice(2).join('\n').split('\n\nexport type Other')[0]?.trim() ?? '';
}

describe('a schema', () => {
  test.each<[Schema, string]>([
    [{ type: 'string' }, 'string'],
    [{ type: 'integer' }, 'number'],
    [{ type: 'number' }, 'number'],
    [{ type: 'boolean' }, 'boolean'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'string | null'],
    [{ oneOf: [{ $ref: '#/components/schemas/Other' }, { type: 'integer' }] }, 'Other | number'],
    [{ allOf: [{ $ref: '#/components/schemas/Other' }, {}] }, 'Other & unknown'],
    [{ enum: ['a', 1, null] }, "'a' | 1 | null"],
    [{ type: 'string', enum: ['a', 'b'] }, "'a' | 'b'"],
    [{ const: true }, 'true'],
    [{ type: 'array', items: { type: ['string', 'null'] } }, 'readonly (string | null)[]'],
    [{ type: 'array' }, 'readonly unknown[]'],
    [{ type: 'object', additionalProperties: { type: 'integer' } }, 'Readonly<Record<string, number>>'],
    [{ type: 'object' }, 'Readonly<Record<string, unknown>>'],
    [{ type: 'object', additionalProperties: false }, 'Readonly<Record<string, never>>'],
    [{}, 'unknown'],
    [true, 'unknown'],
    [false, 'never'],
  ])('%j is %s', async (schema, type) => {
    expect(await typeOf(schema)).toBe(`export type One = ${type};`);
  });

  test('of an object is an interface: readonly, optional where it is not required, with its descriptions', async () => {
    const schema: Schema = {
      type: 'object',
      description: 'One of */ them.',
      required: ['a', 'c-d'],
      properties: {
        a: { type: 'string', description: 'First.\nSecond.' },
        b: { $ref: '#/components/schemas/Other' },
        'c-d': { type: 'object', properties: { e: { type: 'null' } } },
      },
    };
    expect(await typeOf(schema)).toBe(`/** One of *\\/ them. */
export interface One {
  /**
   * First.
   * Second.
   */
  readonly a: string;
  readonly b?: Other | undefined;
  readonly 'c-d': {
    readonly e?: null | undefined;
  };
}`);
  });

  test.each<[string, Schema]>([
    ['type', { type: 'date' }],
    ['reference', { $ref: '#/components/parameters/x' }],
    ['value of an enum', { enum: [{}] }],
  ])('with a %s that is not known is refused, and not guessed', async (_, schema) => {
    await expect(typeOf(schema)).rejects.toThrow('One');
  });

  test('with a name that is no type is refused', async () => {
    await expect(typesOf({ components: { schemas: { 'a b': {} } } }, 'a document')).rejects.toThrow('a b');
  });
});

test('the order of the schemas in the document changes nothing', async () => {
  const [a, b]: Schema[] = [{ type: 'string' }, { type: 'integer' }];
  const [one, other] = [
    { A: a ?? {}, B: b ?? {} },
    { B: b ?? {}, A: a ?? {} },
  ];
  expect(await typesOf({ components: { schemas: one } }, 'd')).toBe(
    await typesOf({ components: { schemas: other } }, 'd'),
  );
});
