/* Examples are made from those of the fields: what a field says of itself is written once. */

/** A JSON Schema of a document, as far as examples need it. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly examples?: readonly unknown[];
  readonly const?: unknown;
  default?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
}

export type Schemas = Readonly<Record<string, JsonSchema>>;

/**
 * The example of a schema.
 * @param schemas the components of the document, by name
 * @throws Error where a part has no example: the document would be incomplete
 */
export function exampleOf(schema: JsonSchema, schemas: Schemas): unknown {
  const { $ref, examples, items, properties, anyOf, allOf } = schema;
  if (examples && examples.length > 0) return examples[0];
  if ($ref !== undefined) return exampleOf(referred($ref, schemas), schemas);
  if (schema.const !== undefined) return schema.const;
  const part = anyOf?.[0] ?? allOf?.[0];
  if (part) return exampleOf(part, schemas);
  if (items) return [exampleOf(items, schemas)];
  if (properties) {
    return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, exampleOf(field, schemas)]));
  }
  throw new Error(`A part of the document has no example: ${JSON.stringify(schema)}`);
}

function referred(ref: string, schemas: Schemas): JsonSchema {
  const schema = schemas[ref.replace('#/components/schemas/', '')];
  if (!schema) throw new Error(`The document refers to ${ref}, which it does not have.`);
  return schema;
}
