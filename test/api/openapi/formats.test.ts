import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { APIS } from '../../../src/api/openapi/apis.ts';
import { API_NAMES, DOCUMENT_NAMES, pathOf, readDocument } from '../../support/openapi/documents.ts';

/* What generated clients make of the documents' formats and defaults, and whether the service takes what they send. */

type Json = Readonly<Record<string, unknown>>;

/** As clients write an instant: Python's and Go's with an offset, others with more digits than milliseconds. */
const DATE_TIMES = [
  '2099-01-31T09:30:05Z',
  '2099-01-31t09:30:05z',
  '2099-01-31T09:30:05+00:00',
  '2099-01-31T09:30:05.123456-00:00',
  '2099-01-31T10:30:05.123456789+01:00',
  '2098-12-31T23:59:60Z',
];
const NO_DATE_TIMES = ['2099-01-31', '2099-01-31T09:30:05', '2099-02-29T00:00:00Z', '2099-01-31T09:30:05+0100', ''];

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Each schema within, with its place in a value: the names of fields, and 0 for the item of a list. */
function schemasIn(document: Json, value: unknown, place: readonly (string | number)[] = []): [typeof place, Json][] {
  if (!isObject(value)) return [];
  if (typeof value['$ref'] === 'string') return schemasIn(document, resolved(document, value['$ref']), place);
  const { properties = {}, items, anyOf = [] } = value as { properties?: Json; items?: unknown; anyOf?: unknown[] };
  return [
    [place, value],
    ...Object.entries(properties).flatMap(([name, schema]) => schemasIn(document, schema, [...place, name])),
    ...schemasIn(document, items, [...place, 0]),
    ...anyOf.flatMap((schema) => schemasIn(document, schema, place)),
  ];
}

const resolved = (document: Json, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((at, part) => (isObject(at) ? at[part] : undefined), document);

function objectsIn(value: unknown): Json[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  return isObject(value) ? [value, ...Object.values(value).flatMap(objectsIn)] : [];
}

/** The value with another one at that place. */
function withValue(value: unknown, [at, ...rest]: readonly (string | number)[], given: unknown): unknown {
  if (at === undefined) return given;
  if (typeof at === 'number') return Array.isArray(value) ? value.with(at, withValue(value[at], rest, given)) : value;
  return { ...(isObject(value) ? value : {}), [at]: withValue(isObject(value) ? value[at] : undefined, rest, given) };
}

interface Body {
  readonly schema: unknown;
  readonly example: unknown;
}

describe.each(DOCUMENT_NAMES)('the document of %s', (name) => {
  const document = JSON.parse(readFileSync(pathOf(name), 'utf8')) as Json;
  const operations = Object.values(document['paths'] as Readonly<Record<string, Json>>).flatMap((item) =>
    Object.values(item),
  ) as { operationId: string; requestBody?: { content: Record<string, Body> }; parameters?: Json[] }[];
  const bodies = operations.flatMap(({ operationId, requestBody }) => {
    const body = requestBody?.content['application/json'];
    return body ? [{ operationId, ...body }] : [];
  });

  test('has no pattern beside a format: clients read the text of a date as a date, and match it no more', () => {
    expect(objectsIn(document).filter((schema) => 'format' in schema && 'pattern' in schema)).toEqual([]);
  });

  test('has no constant but a text: openapi-generator makes an enum of texts of it, and refuses the answer', () => {
    const values = objectsIn(document).flatMap(({ const: constant, enum: some }): readonly unknown[] =>
      Array.isArray(some) ? some : constant === undefined ? [] : [constant],
    );
    expect(values.length).toBeGreaterThan(1);
    expect(values.filter((value) => typeof value !== 'string')).toEqual([]);
  });

  test('tells the width of each integer that 32 bits may not hold: clients for Rust, Java and Go take 32 otherwise', () => {
    // No header is as wide.
    const { headers: _, ...components } = document['components'] as Json;
    const integers = objectsIn([document['paths'], components]).filter(({ type }) => type === 'integer');
    const wide = integers.filter(({ maximum }) => typeof maximum !== 'number' || maximum >= 2 ** 31);
    expect(wide.filter(({ format }) => format !== 'int64')).toEqual([]);
    expect(integers.filter((schema) => !wide.includes(schema) && 'format' in schema)).toEqual([]);
  });

  test('has no union but one with null: openapi-generator makes an empty object of others for Rust', () => {
    const unions = objectsIn(document).flatMap(({ anyOf, oneOf }): readonly unknown[] => [anyOf, oneOf]);
    const parts = unions
      .filter((union): union is unknown[] => Array.isArray(union))
      .map((union) => union.filter((part) => !isObject(part) || part['type'] !== 'null'));
    expect(parts.filter(({ length }) => length !== 1)).toEqual([]);
  });

  test('has no default in a body of a request: clients make such a field one that is required', () => {
    expect(bodies.length).toBeGreaterThan(1);
    const told = bodies.flatMap(({ operationId, schema }) =>
      schemasIn(document, schema)
        .filter(([, found]) => 'default' in found)
        .map(([place]) => `${operationId} ${place.join('.')}`),
    );
    expect(told).toEqual([]);
  });

  const dates = bodies.flatMap(({ operationId, schema, example }) =>
    schemasIn(document, schema)
      .filter(([, { format }]) => format === 'date-time')
      .map(([place]) => ({ operationId, place, example })),
  );
  const queries = operations.flatMap(({ operationId, parameters = [] }) =>
    parameters
      .filter((parameter) => (parameter['schema'] as Json)['format'] === 'date-time')
      .map((parameter) => ({ operationId, place: [String(parameter['name'])], example: {} })),
  );

  test.each([...dates, ...queries])('$operationId takes every date-time as $place, and nothing else', (one) => {
    const { operationId, place, example } = one;
    const operation = APIS[name].operations.find(({ id }) => id === operationId);
    const schema = dates.some((date) => date === one) ? operation?.body : operation?.query;
    const takes = (text: string): boolean => schema?.safeParse(withValue(example, place, text)).success ?? false;
    expect(DATE_TIMES.filter((text) => !takes(text))).toEqual([]);
    expect(NO_DATE_TIMES.filter(takes)).toEqual([]);
  });
});

// Without the panel's: its own pages alone read it, and no client is generated from it.
test.each(API_NAMES)(
  'the document of %s names each enum and object: clients name others after the place where they stand',
  (name) => {
    const document = readDocument(name);
    const named: ReadonlySet<unknown> = new Set(Object.values(document.components.schemas));
    // Those of parameters, bodies, answers and headers, too.
    const all = objectsIn(document).filter((schema) => 'enum' in schema || isObject(schema['properties']));
    expect(all.length).toBeGreaterThan(1);
    expect(all.filter((schema) => !named.has(schema))).toEqual([]);
  },
);

test.each(API_NAMES)(
  'the document of %s names no two constants alike: openapi-generator declares them so for Go',
  (name) => {
    const { schemas } = readDocument(name).components;
    const enums = Object.values(schemas).filter((schema): schema is Json => isObject(schema) && 'enum' in schema);
    const constants = enums.flatMap((schema) => (schema['x-enum-varnames'] ?? schema['enum']) as readonly string[]);
    const names = constants.map((constant) => constant.toUpperCase());
    expect(names.filter((constant, index) => names.indexOf(constant) !== index)).toEqual([]);
  },
);

test('there are such fields', () => {
  const formats = DOCUMENT_NAMES.flatMap((name) => objectsIn(readDocument(name)).map(({ format }) => format));
  expect(new Set(formats.filter((format) => typeof format === 'string'))).toEqual(
    new Set(['date-time', 'double', 'int64']),
  );
});
