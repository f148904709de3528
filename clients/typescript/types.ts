/* TypeScript for the part of JSON Schema that the documents use; what is not known is an error. */

/** The part of JSON Schema 2020-12 that the generator knows; without a type it allows anything. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
}

/** The declaration of a schema's type. @throws Error for what is not known */
export function declaration(name: string, schema: Schema): string {
  if (!/^[A-Z]\w*$/.test(name)) throw new Error(`${name} is no name of a type.`);
  const doc = comment(schema.description);
  return schema.type === 'object' && schema.properties
    ? `${doc}export interface ${name} ${typeOf(schema, name)}`
    : `${doc}export type ${name} = ${typeOf(schema, name)};`;
}

/** Keywords that narrow values and do not change their type, and those of `Schema`. */
const KNOWN: ReadonlySet<string> = new Set(
  (
    '$ref type description properties required additionalProperties items enum const anyOf examples default format ' +
    'pattern minLength maxLength minimum maximum maxItems propertyNames x-enum-varnames'
  ).split(' '),
);

/** @param where the schema stands, for errors */
function typeOf(schema: Schema, where: string): string {
  const unknown = Object.keys(schema).filter((keyword) => !KNOWN.has(keyword));
  if (unknown.length > 0) throw new Error(`${where}: the keyword ${unknown.join(', ')} is not known.`);
  const { $ref, anyOf, type } = schema;
  if ($ref !== undefined) return referenced($ref, where);
  if ('const' in schema) return literal(schema.const, where);
  if (schema.enum) return union(schema.enum.map((value) => literal(value, where)));
  if (anyOf) return union(anyOf.map((one) => typeOf(one, where)));
  if (type === undefined) return 'unknown';
  return union([type].flat().map((one) => plainType(one, schema, where)));
}

function plainType(type: string, schema: Schema, where: string): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type;
    case 'number':
    case 'integer':
      return 'number';
    case 'array':
      return `readonly (${typeOf(schema.items ?? {}, where)})[]`;
    case 'object':
      return objectType(schema, where);
    default:
      throw new Error(`${where}: the type ${type} is not known.`);
  }
}

function objectType({ properties = {}, required = [], additionalProperties = {} }: Schema, where: string): string {
  const fields = Object.entries(properties).map(([name, field]) => {
    const doc = comment(field.description);
    const type = typeOf(field, `${where}.${name}`);
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    return required.includes(name)
      ? `${doc}readonly ${key}: ${type};`
      : `${doc}readonly ${key}?: ${union([type, 'undefined'])};`;
  });
  if (fields.length > 0) return `{\n${fields.join('\n')}\n}`;
  // Answers may gain fields, so that only a map has the others' type.
  if (additionalProperties === false) return 'Readonly<Record<string, never>>';
  const others = additionalProperties === true ? {} : additionalProperties;
  return `Readonly<Record<string, ${typeOf(others, where)}>>`;
}

/** The name that a reference leads to. @throws Error where it leads elsewhere */
export function referenced(ref: string, where: string): string {
  const name = /^#\/components\/schemas\/([A-Z]\w*)$/.exec(ref)?.[1];
  if (name === undefined) throw new Error(`${where}: ${ref} leads to no schema of the document.`);
  return name;
}

function literal(value: unknown, where: string): string {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return JSON.stringify(value);
  throw new Error(`${where}: a value of an enum is neither text, number, boolean nor null.`);
}

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ');

export function comment(description: string | undefined): string {
  if (description === undefined || description === '') return '';
  const lines = description.replaceAll('*/', '*\\/').trim().split('\n');
  if (lines.length === 1) return `/** ${lines[0] ?? ''} */\n`;
  return `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`;
}
