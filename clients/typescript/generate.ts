import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { format, resolveConfig } from 'prettier';

/*
 * Writes the types of the client from the OpenAPI documents: `npm run client`. No generator that is to be had runs under
 * TypeScript 7, which has no JavaScript API; the documents use little of JSON Schema, so this one is small.
 */

const ROOT = resolve(import.meta.dirname, '../..');

/** The documents, and the file that each is turned into, from the root of the repository. */
export const GENERATED_TYPES = ['v1', 'device', 'operator'].map((name) => ({
  document: `docs/openapi/${name}.json`,
  path: `clients/typescript/src/generated/${name}.ts`,
}));

/** What is read of an OpenAPI document. */
export interface OpenApiDocument {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** The part of JSON Schema 2020-12 that the generator knows; `true` and `{}` allow anything. */
export type Schema = boolean | SchemaObject;
interface SchemaObject {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

/** The text of a file with a type for each of the document's schemas, as prettier writes it. @throws Error for a schema that it does not know */
export async function typesOf({ components = {} }: OpenApiDocument, documentPath: string): Promise<string> {
  const schemas = Object.entries(components.schemas ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const head = `/* Written by \`npm run client\` from ${documentPath}: do not edit. */`;
  const text = [head, ...schemas.map(([name, schema]) => declaration(name, schema))].join('\n\n');
  const options = await resolveConfig(import.meta.filename);
  return await format(text, { ...options, parser: 'typescript' });
}

function declaration(name: string, schema: Schema): string {
  if (!/^[A-Z]\w*$/.test(name)) throw new Error(`${name} is no name of a type.`);
  const doc = typeof schema === 'object' ? comment(schema.description) : '';
  const isInterface = typeof schema === 'object' && isPlainObject(schema) && schema.properties !== undefined;
  return isInterface
    ? `${doc}export interface ${name} ${typeOf(schema, name)}`
    : `${doc}export type ${name} = ${typeOf(schema, name)};`;
}

const isPlainObject = (schema: SchemaObject): boolean =>
  schema.type === 'object' && !schema.allOf && !schema.anyOf && !schema.oneOf;

/** @param where the schema stands, for errors */
function typeOf(schema: Schema, where: string): string {
  if (typeof schema === 'boolean') return schema ? 'unknown' : 'never';
  const { $ref, oneOf, anyOf, allOf, type } = schema;
  if ($ref !== undefined) return referenced($ref, where);
  if ('const' in schema) return literal(schema.const, where);
  if (schema.enum) return union(schema.enum.map((value) => literal(value, where)));
  const either = oneOf ?? anyOf;
  if (either) return union(either.map((one) => typeOf(one, where)));
  if (allOf) return allOf.map((one) => `(${typeOf(one, where)})`).join(' & ');
  if (type === undefined) return 'unknown';
  const types = typeof type === 'string' ? [type] : type;
  return union(types.map((one) => plainType(one, schema, where)));
}

function plainType(type: string, schema: SchemaObject, where: string): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type;
    case 'number':
    case 'integer':
      return 'number';
    case 'array':
      return `readonly (${typeOf(schema.items ?? true, where)})[]`;
    case 'object':
      return objectType(schema, where);
    default:
      throw new Error(`${where}: the type ${type} is not known.`);
  }
}

function objectType({ properties = {}, required = [], additionalProperties }: SchemaObject, where: string): string {
  const fields = Object.entries(properties).map(([name, field]) => {
    const doc = typeof field === 'object' ? comment(field.description) : '';
    const type = typeOf(field, `${where}.${name}`);
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    return required.includes(name)
      ? `${doc}readonly ${key}: ${type};`
      : `${doc}readonly ${key}?: ${union([type, 'undefined'])};`;
  });
  if (fields.length > 0) return `{\n${fields.join('\n')}\n}`;
  // Answers may gain fields, so that only a map has the others' type.
  return additionalProperties === false
    ? 'Readonly<Record<string, never>>'
    : `Readonly<Record<string, ${typeOf(additionalProperties ?? true, where)}>>`;
}

function referenced(ref: string, where: string): string {
  const name = /^#\/components\/schemas\/([A-Z]\w*)$/.exec(ref)?.[1];
  if (name === undefined) throw new Error(`${where}: ${ref} leads to no schema of the document.`);
  return name;
}

function literal(value: unknown, where: string): string {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return JSON.stringify(value);
  throw new Error(`${where}: a value of an enum is neither text, number, boolean nor null.`);
}

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ');

function comment(description: string | undefined): string {
  if (description === undefined || description === '') return '';
  const lines = description.replaceAll('*/', '*\\/').trim().split('\n');
  if (lines.length === 1) return `/** ${lines[0] ?? ''} */\n`;
  return `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`;
}

if (import.meta.main) {
  for (const { document, path } of GENERATED_TYPES) {
    if (!existsSync(join(ROOT, document))) throw new Error(`${document} is missing: it is written by npm run docs.`);
    const read = JSON.parse(readFileSync(join(ROOT, document), 'utf8')) as OpenApiDocument;
    writeFileSync(join(ROOT, path), await typesOf(read, document));
  }
  process.stdout.write('The types of the client are written.\n');
}
