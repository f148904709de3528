import { isDeepStrictEqual } from 'node:util';
import { schemaChanges, type Schema, type Schemas } from './schema-changes.ts';

/*
 * What a newer OpenAPI document breaks for clients of an older one. It knows the part of OpenAPI and JSON Schema that our
 * documents use; what it cannot compare, such as two patterns, it tells as a change.
 */

export interface Header {
  readonly $ref?: string;
  readonly required?: boolean;
  readonly schema?: Schema;
}
export type Content = Readonly<Record<string, { readonly schema?: Schema }>>;
export interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly required?: boolean;
  readonly style?: string;
  readonly explode?: boolean;
  readonly schema: Schema;
}
export interface Answer {
  readonly headers?: Readonly<Record<string, Header>>;
  readonly content?: Content;
  readonly 'x-error-codes'?: readonly string[];
}
export interface Operation {
  readonly operationId: string;
  readonly security?: unknown;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Answer>>;
}
export interface SecurityScheme {
  readonly description?: string;
  readonly bearerFormat?: string;
}
export interface Document {
  readonly servers?: readonly { readonly url: string }[];
  readonly security?: unknown;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: {
    readonly schemas?: Schemas;
    readonly headers?: Readonly<Record<string, Header>>;
    readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>;
  };
}

/** One version of something beside the next. */
interface Pair<Part> {
  readonly before: Part;
  readonly after: Part;
}

/** The breaking changes from one document to the next, each in words; none where clients of the older one go on. */
export function breakingChanges(before: Document, after: Document): readonly string[] {
  const documents = { before, after };
  return [
    ...serverChanges(documents),
    ...schemeChanges(documents),
    ...Object.entries(before.paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, operation]) => {
        const next = after.paths[path]?.[method];
        const changes = next ? operationChanges({ before: operation, after: next }, documents) : ['it is removed'];
        return changes.map((change) => `${method.toUpperCase()} ${path}: ${change}`);
      }),
    ),
  ];
}

/** The paths below which the operations are; generated clients put them before each path. The hosts are examples. */
function serverChanges({ before, after }: Pair<Document>): string[] {
  const pathsOf = ({ servers = [{ url: '/' }] }: Document): ReadonlySet<string> =>
    new Set(servers.map(({ url }) => new URL(url, 'http://localhost').pathname));
  const [known, next] = [pathsOf(before), pathsOf(after)];
  return [
    ...[...known].filter((path) => !next.has(path)).map((path) => `servers: the path ${path} is removed`),
    ...[...next].filter((path) => !known.has(path)).map((path) => `servers: the path ${path} is new`),
  ];
}

/** What they are called, and which operations take them, stands with the operations. */
function schemeChanges({ before, after }: Pair<Document>): string[] {
  const meaningOf = ({ description: _description, bearerFormat: _format, ...scheme }: SecurityScheme) => scheme;
  return Object.entries(before.components?.securitySchemes ?? {}).flatMap(([name, scheme]) => {
    const next = after.components?.securitySchemes?.[name];
    if (!next) return [`security scheme ${name}: it is removed`];
    return said(!isDeepStrictEqual(meaningOf(scheme), meaningOf(next)), `security scheme ${name}: it is another one`);
  });
}

function operationChanges(pair: Pair<Operation>, documents: Pair<Document>): string[] {
  const { before, after } = pair;
  const security = (operation: Operation, document: Document): string =>
    JSON.stringify(operation.security ?? document.security);
  return [
    ...said(before.operationId !== after.operationId, `its id is ${after.operationId}, and was ${before.operationId}`),
    ...said(security(before, documents.before) !== security(after, documents.after), 'its security is another one'),
    ...parameterChanges(pair, documents),
    ...bodyChanges(pair, documents),
    // docs/API.md promises further codes of a status that an operation has, and no further status.
    ...Object.keys(after.responses)
      .filter((status) => !(status in before.responses))
      .map((status) => `answer ${status}: it is new`),
    ...Object.entries(before.responses).flatMap(([status, answer]) => {
      const next = after.responses[status];
      const changes = next ? answerChanges({ before: answer, after: next }, documents) : ['it is removed'];
      return changes.map((change) => `answer ${status}: ${change}`);
    }),
  ];
}

function parameterChanges({ before, after }: Pair<Operation>, documents: Pair<Document>): string[] {
  const nameOf = (parameter: Parameter): string => `${parameter.in} parameter ${parameter.name}`;
  // The names of headers are not told apart by their case.
  const keyOf = (parameter: Parameter): string =>
    parameter.in === 'header' ? nameOf(parameter).toLowerCase() : nameOf(parameter);
  const known = new Map((before.parameters ?? []).map((parameter) => [keyOf(parameter), parameter]));
  const next = new Map((after.parameters ?? []).map((parameter) => [keyOf(parameter), parameter]));
  return [
    ...[...known].filter(([key]) => !next.has(key)).map(([, parameter]) => `${nameOf(parameter)}: it is removed`),
    ...[...next].flatMap(([key, parameter]) => {
      const old = known.get(key);
      const isNewlyRequired = parameter.required === true && old?.required !== true;
      const changes = [
        ...said(isNewlyRequired, 'it is required from now on'),
        ...said(old !== undefined && spelling(old) !== spelling(parameter), 'it is spelled in another way'),
        ...(old ? schemaChanges(old.schema, parameter.schema, use('request', documents)) : []),
      ];
      return changes.map((change) => `${nameOf(parameter)}: ${change}`);
    }),
  ];
}

/** The spelling of a parameter with several values (OpenAPI's `style` and `explode`), with their defaults. */
function spelling({ in: place, style, explode }: Parameter): string {
  const isForm = place === 'query' || place === 'cookie';
  const spelled = style ?? (isForm ? 'form' : 'simple');
  return `${spelled} ${explode ?? spelled === 'form'}`;
}

function bodyChanges({ before, after }: Pair<Operation>, documents: Pair<Document>): string[] {
  const [old, next] = [before.requestBody, after.requestBody];
  const changes = [
    ...said(old !== undefined && next === undefined, 'it is removed'),
    ...said(next?.required === true && old?.required !== true, 'it is required from now on'),
    ...(old && next ? contentChanges({ before: old.content, after: next.content }, 'request', documents) : []),
  ];
  return changes.map((change) => `request body: ${change}`);
}

function answerChanges({ before, after }: Pair<Answer>, documents: Pair<Document>): string[] {
  const codes = new Set(after['x-error-codes']);
  const lost = (before['x-error-codes'] ?? []).filter((code) => !codes.has(code));
  return [
    ...lost.map((code) => `the code ${code} is removed`),
    ...Object.entries(before.headers ?? {}).flatMap(([name, header]) => {
      const next = after.headers?.[name];
      const changes = next ? headerChanges({ before: header, after: next }, documents) : ['it is removed'];
      return changes.map((change) => `header ${name}: ${change}`);
    }),
    ...contentChanges({ before: before.content ?? {}, after: after.content ?? {} }, 'answer', documents),
  ];
}

function headerChanges({ before, after }: Pair<Header>, documents: Pair<Document>): string[] {
  const inFull = (header: Header, { components }: Document): Header =>
    header.$ref === undefined ? header : (components?.headers?.[header.$ref.split('/').at(-1) ?? ''] ?? {});
  const [old, next] = [inFull(before, documents.before), inFull(after, documents.after)];
  return [
    ...said(old.required === true && next.required !== true, 'it may be absent from now on'),
    ...schemaChanges(old.schema ?? {}, next.schema ?? {}, use('answer', documents)),
  ];
}

function contentChanges({ before, after }: Pair<Content>, direction: Direction, documents: Pair<Document>): string[] {
  return Object.entries(before).flatMap(([type, { schema = {} }]) => {
    const next = after[type];
    return next ? schemaChanges(schema, next.schema ?? {}, use(direction, documents)) : [`${type} is removed`];
  });
}

type Direction = 'request' | 'answer';
const use = (direction: Direction, { before, after }: Pair<Document>) => ({
  direction,
  before: before.components?.schemas ?? {},
  after: after.components?.schemas ?? {},
});

const said = (holds: boolean, words: string): string[] => (holds ? [words] : []);
