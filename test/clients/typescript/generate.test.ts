import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { generated, GENERATED, type OpenApiDocument, type Operation } from '../../../clients/typescript/generate.ts';
import type { Schema } from '../../../clients/typescript/types.ts';

/* The types and the methods of the client come from the documents, and from nothing else. */

const ROOT = resolve(import.meta.dirname, '../../..');
const textOf = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8');

test.each(GENERATED)('$path is what `npm run client` writes', async ({ document, path, className }) => {
  expect(textOf(path)).toBe(await generated(JSON.parse(textOf(document)) as OpenApiDocument, document, className));
});

/** The type of one schema, without the head of the file. */
async function typeOf(schema: Schema): Promise<string> {
  const others = { Other: { type: 'string' } } satisfies Record<string, Schema>;
  const text = await generated({ components: { schemas: { ...others, One: schema } } }, 'a document');
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
    [{ anyOf: [{ $ref: '#/components/schemas/Other' }, { type: 'integer' }] }, 'Other | number'],
    [{ enum: ['a', 1, null] }, "'a' | 1 | null"],
    [{ type: 'string', enum: ['a', 'b'] }, "'a' | 'b'"],
    [{ const: true }, 'true'],
    [{ type: 'array', items: { type: ['string', 'null'] } }, 'readonly (string | null)[]'],
    [{ type: 'array' }, 'readonly unknown[]'],
    [{ type: 'object', additionalProperties: { type: 'integer' } }, 'Readonly<Record<string, number>>'],
    [{ type: 'object' }, 'Readonly<Record<string, unknown>>'],
    [{ type: 'object', additionalProperties: false }, 'Readonly<Record<string, never>>'],
    [{}, 'unknown'],
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

  test.each(['oneOf', 'allOf', 'not', 'if', 'patternProperties', 'prefixItems'])(
    'with the keyword %s, which the generator does not know, is refused',
    async (keyword) => {
      const schema = { type: 'object', properties: { inner: { type: 'string', [keyword]: [{ type: 'string' }] } } };
      await expect(typeOf(schema)).rejects.toThrow(`One.inner: the keyword ${keyword} is not known.`);
    },
  );

  test('with a name that is no type is refused', async () => {
    await expect(generated({ components: { schemas: { 'a b': {} } } }, 'a document')).rejects.toThrow('a b');
  });
});

/** The class with the methods of one operation, in one line. */
async function classOf(path: string, method: string, operation: Partial<Operation>): Promise<string> {
  const properties = { total: {}, things: { type: 'array', items: { $ref: '#/components/schemas/Thing' } }, next: {} };
  const schemas = { Thing: {}, Things: { type: 'object', required: ['total', 'things'], properties } };
  const whole = { operationId: 'listThings', description: 'Lists.', responses: {}, ...operation };
  const text = await generated({ paths: { [path]: { [method]: whole } }, components: { schemas } }, 'a document');
  return text.slice(0, text.indexOf('\n}\n')).replaceAll(/\s+/g, ' ');
}

const answer = (name: string): Operation['responses'] => ({
  200: { content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } } },
});

describe('an operation', () => {
  test('is a method, which escapes ids and names the fields of the query, and goes over pages', async () => {
    const parameters = [
      { in: 'path', name: 'aId', required: true, schema: {} },
      { in: 'query', name: 'after', schema: {} },
    ];
    const text = await classOf('/a/{aId}', 'get', { parameters, responses: answer('Things') });
    expect(text).toContain('async listThings(aId: string, { after }: ListThingsQuery = {}, options?: CallOptions)');
    expect(text).toContain(
      "'things', { method: 'GET', path: `/a/${segment(aId)}`, query: { after }, repeatable: true }",
    );
    expect(text).toContain('this.listThings(aId, { ...query, after }, options)');
  });

  test('of POST is sent once, but where it is known to do no harm', async () => {
    expect(await classOf('/a', 'post', { responses: { 204: {} } })).toContain('repeatable: false');
    const known = { operationId: 'revokeApp', responses: { 204: {} } };
    expect(await classOf('/a', 'post', known)).toContain('repeatable: true');
  });

  test('whose answer has no field by which it is known is refused', async () => {
    await expect(classOf('/a', 'get', { responses: answer('Thing') })).rejects.toThrow('Thing');
  });
});

test('the order of the schemas in the document changes nothing', async () => {
  const [a, b]: Schema[] = [{ type: 'string' }, { type: 'integer' }];
  const [one, other] = [
    { A: a ?? {}, B: b ?? {} },
    { B: b ?? {}, A: a ?? {} },
  ];
  expect(await generated({ components: { schemas: one } }, 'd')).toBe(
    await generated({ components: { schemas: other } }, 'd'),
  );
});
