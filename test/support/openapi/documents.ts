import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/* The committed OpenAPI documents, as far as the tests read them. */

export const API_NAMES = ['v1', 'device', 'operator'] as const;
export type ApiName = (typeof API_NAMES)[number];
/** The panel's API is for its own pages alone: it has a document, and neither clients nor samples. */
export const DOCUMENT_NAMES = [...API_NAMES, 'panel'] as const;
export type DocumentName = (typeof DOCUMENT_NAMES)[number];

/** A JSON Schema of a document. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

interface Example {
  readonly value: unknown;
}

/** A header of an answer, mostly a reference. */
export interface Header {
  readonly $ref?: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema?: Schema;
  readonly example?: unknown;
}

export interface Media {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, Example>>;
}

interface AnswerObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Header>>;
  readonly content?: Readonly<Record<string, Media>>;
  readonly 'x-error-codes'?: readonly string[];
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

export interface OperationObject {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, AnswerObject>>;
  readonly 'x-codeSamples': readonly CodeSample[];
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly headers: Readonly<Record<string, Header>>;
  };
}

const FOLDER = resolve(import.meta.dirname, '../../../docs/openapi');

/** The path of a committed document. */
export const pathOf = (name: DocumentName): string => resolve(FOLDER, `${name}.json`);

const documents = new Map<DocumentName, Document>();

/** Reads a committed document, once. */
export function readDocument(name: DocumentName): Document {
  const document = documents.get(name) ?? (JSON.parse(readFileSync(pathOf(name), 'utf8')) as Document);
  documents.set(name, document);
  return document;
}

/** The operations of a document, each with its place. */
export const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  );

/**
 * The example of the body that an operation takes; undefined where it takes none.
 * @param path as Express spells it
 */
export function exampleBody(
  name: DocumentName,
  { method, path }: { method: string; path: string },
): object | undefined {
  const operation = readDocument(name).paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method];
  if (!operation) throw new Error(`docs/openapi/${name}.json has no ${method} ${path}: run \`npm run docs\`.`);
  return operation.requestBody?.content['application/json']?.example as object | undefined;
}

/** A name as a part of a JSON pointer in a reference. */
export const pointerPart = (name: string): string =>
  encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
