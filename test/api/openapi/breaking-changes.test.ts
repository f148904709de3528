import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { describe, expect, test } from 'vitest';
import { breakingChanges, type Document } from '../../../scripts/breaking-changes.ts';
import { API_NAMES, pathOf, readDocument, type ApiName } from '../../support/openapi/documents.ts';

/* No document breaks clients of the one that was last released, and the check of that tells what would. */

/** Until 1.0 the operator API may change; the changelog says it first. */
const MAY_CHANGE: ReadonlySet<ApiName> = new Set(['operator']);

test.each(API_NAMES)('%s breaks nothing of what was last released', (name) => {
  const baseline = join(dirname(pathOf(name)), 'baseline', `${name}.json`);
  const released = JSON.parse(readFileSync(baseline, 'utf8')) as Document;
  const changes = breakingChanges(released, readDocument(name));
  if (!MAY_CHANGE.has(name)) expect(changes).toEqual([]);
  for (const change of changes) process.stdout.write(`Breaking, and let through: ${name}: ${change}\n`);
});

/** A document with one operation, which has some of everything. */
const BASE = {
  servers: [{ url: 'http://127.0.0.1:8080' }],
  security: [{ key: [] }],
  paths: {
    '/v1/things': {
      post: {
        operationId: 'createThing',
        parameters: [
          { in: 'query', name: 'limit', required: false, schema: { type: 'integer', minimum: 1, maximum: 100 } },
          { in: 'header', name: 'X-Id', required: true, schema: { type: 'string', pattern: '^[a-z]+$' } },
        ],
        requestBody: {
          required: false,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/NewThing' } } },
        },
        responses: {
          '200': {
            headers: {
              ETag: { $ref: '#/components/headers/ETag' },
              Link: { required: false, schema: { type: 'string' } },
            },
            content: {
              'application/json': { schema: { $ref: '#/components/schemas/Thing' } },
              'text/csv': { schema: { type: 'string' } },
            },
          },
          '400': { 'x-error-codes': ['invalid_name', 'limit_reached'] },
        },
      },
      get: { operationId: 'listThings', responses: { '204': {} } },
    },
  },
  components: {
    securitySchemes: { key: { type: 'http', scheme: 'bearer', bearerFormat: 'mst_live_…', description: 'A key.' } },
    headers: { ETag: { required: true, schema: { type: 'string' } } },
    schemas: {
      NewThing: {
        type: 'object',
        properties: {
          name: { type: 'string', minLength: 1, maxLength: 100 },
          kind: { type: 'string', enum: ['a', 'b'], default: 'a' },
          size: { type: 'number' },
          note: { anyOf: [{ type: 'string', maxLength: 10 }, { type: 'null' }] },
          tags: { type: 'array', maxItems: 5, items: { type: 'string', maxLength: 9 } },
          mode: { anyOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'boolean' }] },
        },
        required: ['name'],
      },
      Thing: {
        type: 'object',
        properties: {
          id: { type: 'string', pattern: '^[a-z]$' },
          status: { type: 'string', enum: ['on', 'off'] },
          count: { type: 'integer', minimum: 0, maximum: 9 },
          seenAt: { anyOf: [{ type: 'string' }, { type: 'null' }] },
          note: { type: 'string' },
          parts: { type: 'array', items: { $ref: '#/components/schemas/Part' } },
          words: { type: 'array', items: { type: 'string' } },
          labels: { type: 'object', additionalProperties: { type: 'string' } },
        },
        required: ['id', 'status', 'count', 'seenAt', 'parts'],
      },
      Part: { type: 'object', properties: { id: { const: 'x' } }, required: ['id'] },
    },
  },
};

type Json = { [name: string]: Json } | Json[] | string | number | boolean | null;
/** A change at a place: a value to set, or undefined to remove what is there. */
type Edit = readonly [place: string, value: Json | undefined];

const POST = 'paths /v1/things post';
const LIMIT = `${POST} parameters 0`;
const NEW = 'components schemas NewThing';
const THING = 'components schemas Thing';

function edited(edits: readonly Edit[]): Document {
  const document = structuredClone(BASE) as unknown as Json;
  for (const [place, value] of edits) {
    const names = place.split(' ');
    const last = names.pop() ?? '';
    let at = document as { [name: string]: Json };
    for (const name of names) at = at[name] as { [name: string]: Json };
    if (value !== undefined) at[last] = value;
    else if (Array.isArray(at)) at.splice(Number(last), 1);
    else delete at[last];
  }
  return document as unknown as Document;
}

interface Row {
  readonly what: string;
  /** Its words, without the operation. */
  readonly says: string;
  readonly breaks: readonly Edit[];
  /** The neighbour, which breaks nothing. */
  readonly passes: readonly Edit[];
}

const STRING: Json = { type: 'string' };
const param = (name: string, required: boolean, where = 'query'): Json => ({
  in: where,
  name,
  required,
  schema: STRING,
});

const ROWS: readonly Row[] = [
  {
    what: 'an operation that goes, and one that comes',
    says: 'it is removed',
    breaks: [[POST, undefined]],
    passes: [['paths /v1/things put', { operationId: 'putThing', responses: {} }]],
  },
  {
    what: 'another id, and another summary',
    says: 'its id is makeThing, and was createThing',
    breaks: [[`${POST} operationId`, 'makeThing']],
    passes: [[`${POST} summary`, 'Make a thing']],
  },
  {
    what: 'another credential, and the same one said of the operation',
    says: 'its security is another one',
    breaks: [[`${POST} security`, [{ token: [] }]]],
    passes: [[`${POST} security`, [{ key: [] }]]],
  },
  {
    what: 'a parameter that goes, and an optional one that comes',
    says: 'query parameter limit: it is removed',
    breaks: [[LIMIT, undefined]],
    passes: [[`${POST} parameters 2`, param('more', false)]],
  },
  {
    what: 'a parameter that is new and required, and the same optional',
    says: 'query parameter more: it is required from now on',
    breaks: [[`${POST} parameters 2`, param('more', true)]],
    passes: [[`${POST} parameters 2`, param('more', false)]],
  },
  {
    what: 'a header that is new and required, and a required one in other letters that is optional from now on',
    says: 'header parameter Prefer: it is required from now on',
    breaks: [[`${POST} parameters 2`, param('Prefer', true, 'header')]],
    passes: [
      [`${POST} parameters 1 name`, 'x-ID'],
      [`${POST} parameters 1 required`, false],
    ],
  },
  {
    what: 'an optional parameter that is required from now on, and a default that is not new',
    says: 'query parameter limit: it is required from now on',
    breaks: [[`${LIMIT} required`, true]],
    passes: [[`${LIMIT} description`, 'How many.']],
  },
  {
    what: 'a smaller maximum, and a larger one',
    says: 'query parameter limit: its maximum is 99, and was 100',
    breaks: [[`${LIMIT} schema maximum`, 99]],
    passes: [[`${LIMIT} schema maximum`, 101]],
  },
  {
    what: 'a larger minimum, and none',
    says: 'query parameter limit: its minimum is 2, and was 1',
    breaks: [[`${LIMIT} schema minimum`, 2]],
    passes: [[`${LIMIT} schema minimum`, undefined]],
  },
  {
    what: 'another pattern, and none',
    says: 'header parameter X-Id: its pattern is "^[a-z]{9}$", and was "^[a-z]+$"',
    breaks: [[`${POST} parameters 1 schema pattern`, '^[a-z]{9}$']],
    passes: [[`${POST} parameters 1 schema pattern`, undefined]],
  },
  {
    what: 'a type that takes less, and one that takes more',
    says: 'request body: /size: it no longer takes number',
    breaks: [[`${NEW} properties size type`, 'integer']],
    passes: [[`${LIMIT} schema type`, 'number']],
  },
  {
    what: 'another type, and null beside it',
    says: 'request body: /name: it no longer takes string',
    breaks: [[`${NEW} properties name`, { type: 'boolean' }]],
    passes: [[`${NEW} properties name type`, ['string', 'null']]],
  },
  {
    what: 'null that is refused from now on, and more text beside it',
    says: 'request body: /note: it no longer takes null',
    breaks: [[`${NEW} properties note`, { type: 'string', maxLength: 10 }]],
    passes: [[`${NEW} properties note`, { type: ['null', 'string'], maxLength: 11 }]],
  },
  {
    what: 'a body that goes, and one that is the same in another place',
    says: 'request body: it is removed',
    breaks: [[`${POST} requestBody`, undefined]],
    passes: [[`${POST} requestBody content application/json schema`, BASE.components.schemas.NewThing]],
  },
  {
    what: 'a body that is required from now on, and another media type',
    says: 'request body: it is required from now on',
    breaks: [[`${POST} requestBody required`, true]],
    passes: [[`${POST} requestBody content text/csv`, { schema: STRING }]],
  },
  {
    what: 'a field of a request that goes, and one that comes',
    says: 'request body: /kind: it is removed',
    breaks: [[`${NEW} properties kind`, undefined]],
    passes: [[`${NEW} properties colour`, STRING]],
  },
  {
    what: 'a field that is required from now on, and one that no longer is',
    says: 'request body: /kind: it is required from now on',
    breaks: [[`${NEW} required`, ['name', 'kind']]],
    passes: [[`${NEW} required`, []]],
  },
  {
    what: 'a shorter text, and a longer one',
    says: 'request body: /name: its maxLength is 99, and was 100',
    breaks: [[`${NEW} properties name maxLength`, 99]],
    passes: [[`${NEW} properties name maxLength`, undefined]],
  },
  {
    what: 'a limit inside of a list, and a larger one',
    says: 'request body: /tags/*: its maxLength is 8, and was 9',
    breaks: [[`${NEW} properties tags items maxLength`, 8]],
    passes: [[`${NEW} properties tags items maxLength`, 10]],
  },
  {
    what: 'a value of a request that goes, and one that comes',
    says: 'request body: /kind: it takes no "b" any more',
    breaks: [[`${NEW} properties kind enum`, ['a']]],
    passes: [[`${NEW} properties kind enum`, ['a', 'b', 'c']]],
  },
  {
    what: 'values where any were taken, and any where values were',
    says: 'request body: /name: it takes "a" alone from now on',
    breaks: [[`${NEW} properties name enum`, ['a']]],
    passes: [[`${NEW} properties kind enum`, undefined]],
  },
  {
    what: 'another default, and a description',
    says: 'request body: /kind: its default is "b", and was "a"',
    breaks: [[`${NEW} properties kind default`, 'b']],
    passes: [[`${NEW} properties kind description`, 'What it is.']],
  },
  {
    what: 'a request that is closed from now on, and an answer that is',
    says: 'request body: the body: further fields are refused from now on',
    breaks: [[`${NEW} additionalProperties`, false]],
    passes: [[`${THING} additionalProperties`, false]],
  },
  {
    what: 'a status that goes, and a header that comes',
    says: 'answer 400: it is removed',
    breaks: [[`${POST} responses 400`, undefined]],
    passes: [[`${POST} responses 400 headers`, { 'Retry-After': { required: true, schema: STRING } }]],
  },
  {
    what: 'a status that comes, and a code of one that is there',
    says: 'answer 409: it is new',
    breaks: [[`${POST} responses 409`, { 'x-error-codes': ['conflict'] }]],
    passes: [[`${POST} responses 400 x-error-codes`, ['invalid_name', 'limit_reached', 'invalid_size']]],
  },
  {
    what: 'a code that goes, and another order',
    says: 'answer 400: the code limit_reached is removed',
    breaks: [[`${POST} responses 400 x-error-codes`, ['invalid_name']]],
    passes: [[`${POST} responses 400 x-error-codes`, ['limit_reached', 'invalid_name']]],
  },
  {
    what: 'a header of an answer that goes, and one that is always there from now on',
    says: 'answer 200: header Link: it is removed',
    breaks: [[`${POST} responses 200 headers Link`, undefined]],
    passes: [[`${POST} responses 200 headers Link required`, true]],
  },
  {
    what: 'a header that may be absent from now on, and one that is written in full',
    says: 'answer 200: header ETag: it may be absent from now on',
    breaks: [['components headers ETag required', false]],
    passes: [[`${POST} responses 200 headers ETag`, { required: true, schema: STRING }]],
  },
  {
    what: 'a media type that goes, and one that comes',
    says: 'answer 200: text/csv is removed',
    breaks: [[`${POST} responses 200 content text/csv`, undefined]],
    passes: [[`${POST} responses 200 content text/plain`, { schema: STRING }]],
  },
  {
    what: 'a field of an answer that goes, and one that comes',
    says: 'answer 200: /note: it is removed',
    breaks: [[`${THING} properties note`, undefined]],
    passes: [[`${THING} properties colour`, STRING]],
  },
  {
    what: 'a field that may be absent from now on, and one that is always there from now on',
    says: 'answer 200: /count: it may be absent from now on',
    breaks: [[`${THING} required`, ['id', 'status', 'seenAt', 'parts']]],
    passes: [[`${THING} required`, ['id', 'status', 'count', 'seenAt', 'parts', 'note']]],
  },
  {
    what: 'an answer that may be null from now on, and one that no longer may',
    says: 'answer 200: /note: it may be null from now on',
    breaks: [[`${THING} properties note type`, ['string', 'null']]],
    passes: [[`${THING} properties seenAt`, STRING]],
  },
  {
    what: 'another type of an answer, and a narrower one',
    says: 'answer 200: /count: it may be number from now on',
    breaks: [[`${THING} properties count type`, 'number']],
    passes: [[`${THING} properties count minimum`, 1]],
  },
  {
    what: 'more of an answer than before, and less',
    says: 'answer 200: /count: its maximum is 10, and was 9',
    breaks: [[`${THING} properties count maximum`, 10]],
    passes: [[`${THING} properties count maximum`, 8]],
  },
  {
    what: 'less of an answer than before, and a list of it that is bounded from now on',
    says: 'answer 200: /count: its minimum is none, and was 0',
    breaks: [[`${THING} properties count minimum`, undefined]],
    passes: [[`${THING} properties words maxItems`, 5]],
  },
  {
    what: 'a default beside alternatives, and a description there',
    says: 'request body: /note: its default is "a", and was none',
    breaks: [[`${NEW} properties note default`, 'a']],
    passes: [[`${NEW} properties note description`, 'A note.']],
  },
  {
    what: 'a field that is required beside a reference, and a description there',
    says: 'request body: its allOf is [{"required":["tags"]}], and was none, which this check cannot judge',
    breaks: [[`${POST} requestBody content application/json schema required`, ['tags']]],
    passes: [[`${POST} requestBody content application/json schema description`, 'A thing.']],
  },
  {
    what: 'the spelling of a parameter, and its default spelled out',
    says: 'query parameter limit: it is spelled in another way',
    breaks: [[`${LIMIT} explode`, false]],
    passes: [
      [`${LIMIT} style`, 'form'],
      [`${LIMIT} explode`, true],
    ],
  },
  {
    what: 'a value of an answer that comes, and one that goes',
    says: 'answer 200: /status: it may be "lost" from now on',
    breaks: [[`${THING} properties status enum`, ['on', 'off', 'lost']]],
    passes: [[`${THING} properties status enum`, ['on']]],
  },
  {
    what: 'any value where there were some, inside of a list, and one where there was any',
    says: 'answer 200: /parts/*/id: it may be any value from now on, and was one of "x"',
    breaks: [['components schemas Part properties id', STRING]],
    passes: [[`${THING} properties note enum`, ['a']]],
  },
  {
    what: 'an answer in another form, and one whose form is told from now on',
    says: 'answer 200: /id: its pattern is none, and was "^[a-z]$"',
    breaks: [[`${THING} properties id pattern`, undefined]],
    passes: [[`${THING} properties note pattern`, '^a']],
  },
  {
    what: 'a value of a map with another type, and a longer one',
    says: 'answer 200: /labels/*: it may be number from now on',
    breaks: [[`${THING} properties labels additionalProperties type`, 'number']],
    passes: [[`${THING} properties labels additionalProperties maxLength`, 9]],
  },
  {
    what: 'members of a list that are any from now on, and a list whose members are told from now on',
    says: 'answer 200: /words/*: it may be any value from now on',
    breaks: [[`${THING} properties words items`, undefined]],
    passes: [[`${NEW} properties tags items`, undefined]],
  },
  {
    what: 'values of a map of a request that are told from now on, and those of an answer that are',
    says: 'request body: /*: it no longer takes any value',
    breaks: [[`${NEW} additionalProperties`, STRING]],
    passes: [[`${THING} additionalProperties`, STRING]],
  },
  {
    what: 'a keyword that the check does not know, and an extension',
    says: 'request body: /size: its exclusiveMinimum is 0, and was none, which this check cannot judge',
    breaks: [[`${NEW} properties size exclusiveMinimum`, 0]],
    passes: [[`${NEW} properties size x-unit`, 'bytes']],
  },
  {
    what: 'schemas that are joined from now on, and an example',
    says: 'answer 200: /note: its allOf is [{"maxLength":9}], and was none, which this check cannot judge',
    breaks: [[`${THING} properties note allOf`, [{ maxLength: 9 }]]],
    passes: [[`${THING} properties note examples`, ['a']]],
  },
  {
    what: 'a value of one of several types that goes, and one that comes',
    says: 'request body: /mode: it takes no "b" any more',
    breaks: [[`${NEW} properties mode anyOf 0 enum`, ['a']]],
    passes: [[`${NEW} properties mode anyOf 0 enum`, ['a', 'b', 'c']]],
  },
  {
    what: 'a type of several that goes, and one that comes',
    says: 'request body: /mode: it no longer takes boolean',
    breaks: [[`${NEW} properties mode anyOf 1`, undefined]],
    passes: [[`${NEW} properties mode anyOf 2`, { type: 'number' }]],
  },
  {
    what: 'another alternative of a type that is there, and a description of one',
    says: 'request body: /mode: its alternatives are others, of which this check tells no more',
    breaks: [[`${NEW} properties mode anyOf 2`, { type: 'string', minLength: 9 }]],
    passes: [[`${NEW} properties mode anyOf 0 description`, 'How.']],
  },
];

describe('the check of breaking changes', () => {
  test('finds nothing in a document beside itself', () => {
    expect(breakingChanges(edited([]), edited([]))).toEqual([]);
    expect(breakingChanges(edited([]), edited([['paths /v1/things get', undefined]]))).toEqual([
      'GET /v1/things: it is removed',
    ]);
  });

  test.each<[string, string, Edit, Edit]>([
    [
      'another security scheme under its name, and what people read of it',
      'security scheme key: it is another one',
      ['components securitySchemes key scheme', 'basic'],
      ['components securitySchemes key bearerFormat', 'opaque'],
    ],
    [
      'a security scheme that goes, and one that comes',
      'security scheme key: it is removed',
      ['components securitySchemes key', undefined],
      ['components securitySchemes other', { type: 'http', scheme: 'basic' }],
    ],
    [
      'a path before all paths, and another host',
      'servers: the path /muster is new',
      ['servers 1', { url: 'https://muster.example.com/muster' }],
      ['servers 1', { url: 'https://muster.example.com/' }],
    ],
  ])('%s', (_what, says, breaks, passes) => {
    expect(breakingChanges(edited([]), edited([breaks]))).toEqual([says]);
    expect(breakingChanges(edited([]), edited([passes]))).toEqual([]);
  });

  test.each(ROWS)('$what', ({ says, breaks, passes }) => {
    expect(breakingChanges(edited([]), edited(breaks))).toEqual([`POST /v1/things: ${says}`]);
    expect(breakingChanges(edited([]), edited(passes))).toEqual([]);
  });
});
