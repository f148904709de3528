import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { format, resolveConfig } from 'prettier';
import { USAGE_MS } from './src/operations.ts';
import { comment, declaration, referenced, type Schema } from './types.ts';

/*
 * Writes the types and the methods of the client from the OpenAPI documents: `npm run client`.
 *
 * openapi-typescript 7.13 was tried. It would write the types alone, so that it takes the place of the 90 lines of
 * `types.ts`, and what is left would have to adapt its output: `| undefined` for `exactOptionalPropertyTypes`, no
 * examples, our format. It needs the JavaScript API of TypeScript 5, which TypeScript 7 does not have: a workspace with
 * a lock of its own, 33 packages and 44 MB beside the 459 of `node_modules`. From the same documents it makes 6557
 * lines in place of 1234, with an alias of `components['schemas'][…]` for each type. openapi-fetch would take the place
 * of methods that nobody writes by hand any more, and of nothing in the attempts, their pace, and the check of what a
 * stranger answers.
 */

const ROOT = resolve(import.meta.dirname, '../..');

/** The documents, the class of methods of each, and the file that both are in, by their paths from the root. */
export const GENERATED = [
  { name: 'v1', className: 'OwnerOperations' },
  { name: 'device', className: 'DeviceOperations' },
  { name: 'operator', className: 'OperatorOperations' },
].map(({ name, className }) => ({
  className,
  document: `docs/openapi/${name}.json`,
  path: `clients/typescript/src/generated/${name}.ts`,
}));

/** Operations whose methods are written by hand, each in its client. */
const BY_HAND: ReadonlySet<string> = new Set(['pollConfig', 'enrollDevice', 'deleteUser', 'readBackup']);
/** POSTs that do no harm a second time, though they bear no key. */
const REPEATABLE: ReadonlySet<string> = new Set(['revokeApp', 'resetUser']);
/** Milliseconds beyond those of others for one attempt at what the service works on for longer. */
const EXTRA_MS: Readonly<Record<string, number>> = {
  readUsage: USAGE_MS,
  verifyAudit: 120_000,
  verifyServiceAudit: 120_000,
};
/** The schemas of errors, in place of which the client has the class MusterError. */
const UNUSED: ReadonlySet<string> = new Set(['Error', 'ErrorDetail']);

/** The parts of an OpenAPI document that are read. */
export interface OpenApiDocument {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** The parts of an operation that are read. */
export interface Operation {
  readonly operationId: string;
  readonly description: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Body & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Body>>;
}
interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}
interface Body {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

/**
 * The text of a file with a type for each schema of the document, and a method for each operation, as prettier writes
 * it.
 * @throws Error for a schema that it does not know
 */
export async function generated(
  { components: { schemas = {} } = {}, paths = {} }: OpenApiDocument,
  document: string,
  className = 'Operations',
): Promise<string> {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { operationId }]) => !BY_HAND.has(operationId))
      .map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  );
  const queries = operations.map((operation) => queryOf(operation)).filter((query) => query !== undefined);
  const types = [...Object.entries(schemas), ...queries].filter(([name]) => !UNUSED.has(name));
  const text = [
    `/* Written by \`npm run client\` from ${document}: do not edit. */`,
    ...(operations.length === 0 ? [] : [classOf(className, operations, schemas)]),
    ...types.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, schema]) => declaration(name, schema)),
  ];
  const options = await resolveConfig(import.meta.filename);
  return await format(text.join('\n\n'), { ...options, parser: 'typescript' });
}

type Called = Operation & { readonly path: string; readonly method: string };
type Schemas = Readonly<Record<string, Schema>>;

function classOf(className: string, operations: readonly Called[], schemas: Schemas): string {
  const methods = operations.flatMap((operation) => [methodOf(operation, schemas), ...iteratorOf(operation, schemas)]);
  const text = methods.join('\n\n');
  const imports = (words: string, names: readonly string[], path: string): string => {
    const used = names.filter((name) => text.includes(name));
    return used.length === 0 ? '' : `${words} { ${used.join(', ')} } from '${path}';\n`;
  };
  const head = [
    "import { Client } from '../client.ts';\n",
    imports('import', ['segment'], '../connection.ts'),
    imports('import', ['conditionOf', 'keyed'], '../operations.ts'),
    imports('import type', ['CallOptions', 'ConditionalOptions', 'CreateOptions'], '../options.ts'),
    imports('import', ['itemsOf'], '../pages.ts'),
  ];
  return `${head.join('')}
/** The operations of the API as methods: the ids of the path, then the body or the query, then the options. */
export abstract class ${className} extends Client {
${text}
}`;
}

/** The parts of a method's signature and of its call that follow from its operation. */
function partsOf(operation: Called) {
  const { method, path, parameters = [], requestBody, operationId } = operation;
  const ids = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
  const takes = (header: string): boolean => parameters.some(({ name }) => name === header);
  const query = queryOf(operation);
  const fields = Object.keys(query?.[1].properties ?? {}).join(', ');
  return {
    ids,
    query: query && { type: query[0], fields, isOptional: query[1].required?.length === 0 },
    url: ids.length === 0 ? `'${path}'` : `\`${path.replaceAll(/\{(\w+)\}/g, '${segment($1)}')}\``,
    body:
      requestBody &&
      `body: ${jsonType(requestBody, operationId)}${requestBody.required === true || method !== 'POST' ? '' : ' = {}'}`,
    isKeyed: takes('Idempotency-Key'),
    isConditional: takes('If-Match'),
  };
}

function methodOf(operation: Called, schemas: Schemas): string {
  const { method, operationId, description } = operation;
  const { ids, url, body, query, isKeyed, isConditional } = partsOf(operation);
  const isRepeatable = method !== 'POST' || REPEATABLE.has(operationId);
  const extraMs = EXTRA_MS[operationId];
  const parameters = [
    ...ids.map((id) => `${id}: string`),
    ...(body === undefined ? [] : [body]),
    ...(query ? [`{ ${query.fields} }: ${query.type}${query.isOptional ? ' = {}' : ''}`] : []),
    isKeyed
      ? 'options: CreateOptions = {}'
      : isConditional
        ? 'options: ConditionalOptions = {}'
        : 'options?: CallOptions',
  ];
  const fields = [
    `method: '${method}', path: ${url}`,
    ...(body === undefined ? [] : ['body']),
    ...(query ? [`query: { ${query.fields} }`] : []),
    ...(isConditional ? ['headers: conditionOf(options)'] : []),
    ...(isKeyed ? [] : [`repeatable: ${isRepeatable}`]),
    ...(extraMs === undefined ? [] : [`extraMs: ${extraMs}`]),
  ].join(', ');
  const call = isKeyed ? `keyed({ ${fields} }, options)` : `{ ${fields} }`;
  const answer = answerOf(operation, schemas);
  const once = isRepeatable || isKeyed ? '' : ' After a lost answer it is not sent again.';
  const signature = `${operationId}(${parameters.join(', ')}): Promise<${answer?.type ?? 'void'}>`;
  return `${comment(description + once)}async ${signature} {
  ${answer ? `return await this.${answer.check}('${answer.field}', ` : 'await this.done('}${call}, options);
}`;
}

/** Goes over all pages of a list. */
function iteratorOf(operation: Called, schemas: Schemas): readonly string[] {
  const { operationId, requestBody } = operation;
  const { ids, query } = partsOf(operation);
  const answer = answerOf(operation, schemas);
  const [, first, rest] = /^list([A-Z])(\w*)$/.exec(operationId) ?? [];
  if (first === undefined || !query || requestBody || !answer?.hasPages) return [];
  const parameters = [...ids.map((id) => `${id}: string`), `query: ${query.type} = {}`, 'options?: CallOptions'];
  const given = [...ids, '{ ...query, after }', 'options'];
  return [
    `/** As \`${operationId}\`, page by page to the end. */
${first.toLowerCase()}${rest}(${parameters.join(', ')}): AsyncGenerator<${answer.item}, void, undefined> {
  const read = (after: string | undefined) => this.${operationId}(${given.join(', ')});
  return itemsOf(read, ({ ${answer.field} }) => ${answer.field}, query.after);
}`,
  ];
}

/**
 * The type of an answer, and the field by which it is known from a stranger's, of those that it always has: its one
 * list of objects, or that with which it begins, else the first field. Undefined where it has no body.
 */
function answerOf({ operationId, responses }: Called, schemas: Schemas) {
  const [, body] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  if (!body?.content) return undefined;
  const type = jsonType(body, operationId);
  const { properties = {}, required = [] } = schemas[type] ?? {};
  const lists = required.filter((name) => properties[name]?.type === 'array');
  const [first = ''] = lists;
  const isOne = lists.length === 1 && properties[first]?.items?.$ref !== undefined;
  const list = isOne || (first !== '' && first === required[0]) ? first : undefined;
  const field = list ?? required[0];
  if (field === undefined) throw new Error(`${type} has no field by which an answer is known.`);
  const item = properties[field]?.items?.$ref;
  return {
    type,
    field,
    check: list === undefined ? 'answered' : 'listed',
    item: item === undefined ? '' : referenced(item, type),
    hasPages: 'next' in properties,
  };
}

const jsonType = ({ content = {} }: Body, where: string): string =>
  referenced(content['application/json']?.schema.$ref ?? '', where);

/** The query of an operation as a schema with its name; undefined where it takes none. */
function queryOf({ operationId, parameters = [] }: Operation): readonly [string, Schema] | undefined {
  const fields = parameters.filter((one) => one.in === 'query');
  if (fields.length === 0) return undefined;
  const described = fields.map(({ name, schema, description = '' }) => [name, { ...schema, description }] as const);
  const required = fields.filter((field) => field.required).map(({ name }) => name);
  const name = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Query`;
  return [name, { type: 'object', properties: Object.fromEntries(described), required }];
}

if (import.meta.main) {
  const read = GENERATED.map(({ document, ...file }) => {
    if (!existsSync(join(ROOT, document))) throw new Error(`${document} is missing: it is written by npm run docs.`);
    return { ...file, document, api: JSON.parse(readFileSync(join(ROOT, document), 'utf8')) as OpenApiDocument };
  });
  const paths = read.flatMap(({ api }) => Object.values(api.paths ?? {}));
  const ids = new Set(paths.flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId)));
  const gone = [...BY_HAND, ...REPEATABLE, ...Object.keys(EXTRA_MS)].filter((id) => !ids.has(id));
  if (gone.length > 0) throw new Error(`No document has ${gone.join(', ')}: mend the lists in generate.ts.`);
  for (const { api, document, path, className } of read) {
    writeFileSync(join(ROOT, path), await generated(api, document, className));
  }
  process.stdout.write('The types and the methods of the client are written.\n');
}
