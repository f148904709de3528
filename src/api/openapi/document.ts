import * as z from 'zod';
import {
  createDocument,
  type ZodOpenApiHeaderObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi';
import { VERSION } from '../../version.ts';
import { errorBody as errorSchema, PATH_IDS } from '../contract/fields.ts';
import type { Operation, Success } from '../contract/operation.ts';
import { isForTokens } from '../contract/panel/access-tokens/reach.ts';
import { ERRORS, type ErrorCode } from '../http/errors.ts';
import { APIS, errorsOf, type Api, type ApiName } from './apis.ts';
import { exampleOf, type JsonSchema, type Schemas } from './example.ts';
import {
  ANSWER_HEADERS,
  answerHeader,
  errorHeaders,
  requestHeaders,
  successHeaders,
  type HeaderName,
} from './headers.ts';
import { samplesOf } from './samples.ts';
import { tagOf, tagsOf } from './tags.ts';

/*
 * The OpenAPI 3.1 document of each API, made from its operations and from nothing else. Two fields are our own:
 * `x-error-codes`, the codes that an error of this status may have, and `x-codeSamples`, which reference pages show.
 */

/** Makes the document of an API: plain JSON. */
export function documentOf(name: ApiName): object {
  const api = APIS[name];
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: { title: api.title, version: VERSION, description: api.description },
      servers: [api.server],
      security: [{ [api.credential.name]: [] }],
      tags: tagsOf(api.operations),
      paths: pathsOf(name, api),
      components: {
        headers: headersOf(name, api),
        securitySchemes: {
          [api.credential.name]: schemeOf(api.credential),
          ...(api.token && { [api.token.name]: schemeOf(api.token) }),
        },
      },
    },
    {
      override({ jsonSchema, io }) {
        const { type, maximum = Number.POSITIVE_INFINITY } = jsonSchema;
        // Generators take 32 bits for an integer without a format.
        if (type === 'integer' && maximum >= 2 ** 31) jsonSchema.format = 'int64';
        // A client must not stumble over a field that a later version adds.
        if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      },
    },
  );
  // Undefined fields go, so that the object is what its JSON says.
  return withExamples(withoutDefaults(JSON.parse(JSON.stringify(document)) as Document), api);
}

const schemeOf = ({ format, description }: Api['credential']) =>
  format === undefined
    ? ({ type: 'apiKey', in: 'cookie', name: '__Host-muster', description } as const)
    : ({ type: 'http', scheme: 'bearer', bearerFormat: format, description } as const);

const templateOf = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}');
const idsOf = (path: string): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);

function pathsOf(name: ApiName, api: Api): Record<string, Record<string, ZodOpenApiOperationObject>> {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const operation of api.operations) {
    (paths[templateOf(operation.path)] ??= {})[operation.method] = operationOf(name, api, operation);
  }
  return paths;
}

function operationOf(name: ApiName, api: Api, operation: Operation): ZodOpenApiOperationObject {
  const { id, path, summary, description, body, query, credential, access } = operation;
  const ids = idsOf(path);
  return {
    operationId: id,
    summary,
    description: `${description}${operation.requires ? ' Only with the Enterprise entitlement.' : ''}`,
    tags: [tagOf(operation)],
    ...(access === 'anyone' && { security: [] }),
    ...(api.token && isForTokens(operation) && { security: [{ [api.credential.name]: [] }, { [api.token.name]: [] }] }),
    ...(credential === 'optional' && { security: [{}, { [api.credential.name]: [] }] }),
    requestParams: {
      ...(ids.length > 0 && { path: z.object(Object.fromEntries(ids.map((id) => [id, PATH_IDS[id] ?? z.string()]))) }),
      ...(query && { query }),
      header: requestHeaders(name, operation),
    },
    ...(body && {
      requestBody: { required: !body.safeParse({}).success, content: { 'application/json': { schema: body } } },
    }),
    responses: {
      ...Object.fromEntries(operation.answers.map((answer) => [answer.status, successOf(name, answer)])),
      ...errorResponses(name, operation),
    },
  };
}

function successOf(name: ApiName, { description, schema, otherTypes = {}, headers, status }: Success) {
  const others = Object.entries(otherTypes).map(([type, example]) => [type, { schema: { type: 'string' }, example }]);
  const content = { ...(schema && { 'application/json': { schema } }), ...(Object.fromEntries(others) as object) };
  // A body without one: RFC 9110 gives 304 the tag, and no type.
  return {
    description,
    headers: headerObjects(successHeaders(name, headers)),
    ...(status !== 204 && status !== 304 && { content }),
  } as ZodOpenApiResponseObject;
}

/** The headers that some answer of the API may have, in the order of the table. */
function headersOf(name: ApiName, { operations }: Api): Record<string, ZodOpenApiHeaderObject> {
  const used = operations.flatMap((operation) => [
    ...operation.answers.flatMap(({ headers }) => successHeaders(name, headers)),
    ...[...codesByStatus(name, operation).values()].flatMap((codes) => errorHeaders(name, codes, operation)),
  ]);
  return Object.fromEntries(inOrder(used).map((header) => [header, { ...answerHeader(name, header) }]));
}

const headerObjects = (names: readonly HeaderName[]): object =>
  Object.fromEntries(inOrder(names).map((header) => [header, { $ref: `#/components/headers/${header}` }]));

/** In the order of the table. */
const inOrder = (names: readonly HeaderName[]): readonly HeaderName[] =>
  (Object.keys(ANSWER_HEADERS) as HeaderName[]).filter((header) => names.includes(header));

type Codes = readonly [ErrorCode, ...ErrorCode[]];

/** The codes of an operation by their status, in the order of the table. */
function codesByStatus(name: ApiName, operation: Operation): ReadonlyMap<number, Codes> {
  const codes = errorsOf(name, operation);
  const statuses = Map.groupBy(codes, (code) => ERRORS[code].status);
  return statuses as ReadonlyMap<number, readonly ErrorCode[]> as ReadonlyMap<number, Codes>;
}

function errorResponses(name: ApiName, operation: Operation): Record<string, ZodOpenApiResponseObject> {
  const responses = [...codesByStatus(name, operation)].map(([status, codes]) => [
    status,
    errorResponse(name, codes, operation),
  ]);
  return Object.fromEntries(responses) as Record<string, ZodOpenApiResponseObject>;
}

function errorResponse(name: ApiName, codes: Codes, operation: Operation): object {
  const example = (code: ErrorCode) => ({ value: { error: { code, message: ERRORS[code].message } } });
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].message}`).join(' '),
    'x-error-codes': codes,
    headers: headerObjects(errorHeaders(name, codes, operation)),
    content: {
      'application/json': {
        schema: errorSchema,
        examples: Object.fromEntries(codes.map((code) => [code, example(code)])),
      },
    },
  };
}

interface Media {
  readonly schema: JsonSchema;
  example?: unknown;
}
interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: JsonSchema;
}
interface OperationObject {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Record<string, Media> };
  readonly responses: Readonly<Record<string, { readonly content?: Record<string, Media> }>>;
  'x-codeSamples'?: unknown;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: Schemas };
}

/**
 * The document without the defaults of bodies: generators make such a field one that is required, or send it where the
 * caller left it out. All schemas of bodies are components.
 */
function withoutDefaults(document: Document): Document {
  for (const { properties = {} } of Object.values(document.components.schemas)) {
    for (const property of Object.values(properties)) delete property.default;
  }
  return document;
}

/** Adds what is made from the examples of the fields: those of whole bodies, and the samples. */
function withExamples(document: Document, api: Api): object {
  const { schemas } = document.components;
  const byId = new Map(api.operations.map((operation) => [operation.id, operation]));
  for (const item of Object.values(document.paths)) {
    for (const object of Object.values(item)) {
      const operation = byId.get(object.operationId);
      if (!operation) continue;
      const bodies = [object.requestBody, ...operation.answers.map(({ status }) => object.responses[status])];
      for (const body of bodies) {
        const media = body?.content?.['application/json'];
        if (media) media.example = exampleOf(media.schema, schemas);
      }
      const request = object.requestBody?.content['application/json']?.example as Record<string, unknown> | undefined;
      for (const field of operation.exampleWithout ?? []) delete request?.[field];
      const { sample } = api;
      if (!sample) continue;
      object['x-codeSamples'] = samplesOf({ ...api, sample }, operation, {
        ids: parametersOf(object, 'path', schemas),
        query: parametersOf(object, 'query', schemas),
        body: request,
      });
    }
  }
  return document;
}

const parametersOf = ({ parameters = [] }: OperationObject, where: Parameter['in'], schemas: Schemas) =>
  Object.fromEntries(
    parameters
      .filter((parameter) => parameter.in === where && parameter.required === true)
      .map(({ name, schema }) => [name, String(exampleOf(schema, schemas))]),
  );
