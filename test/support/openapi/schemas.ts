import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { Document } from './documents.ts';

/* The schemas of a document, each compiled once, when it is first needed. */

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** The schemas of one document. */
export class Schemas {
  readonly #ajv = new Ajv2020({ strict: false, validateSchema: false });
  readonly #compiled = new Map<string, ValidateFunction>();

  /** @param document closed, where a field that no schema has is a fault; open, as clients have to take it */
  constructor(document: Document, kind: 'open' | 'closed') {
    formats.default(this.#ajv);
    const json = document as unknown as Json;
    this.#ajv.addSchema({ ...(kind === 'closed' ? (closed(json) as object) : document), $id: 'document:' });
  }

  /**
   * What is wrong with a value, in words that never repeat any of it, since it may be a secret; undefined where it
   * fits.
   * @param pointer of the schema, from the root of the document: `/components/schemas/App`
   */
  faultOf(pointer: string, value: unknown): string | undefined {
    let validate = this.#compiled.get(pointer);
    if (!validate) {
      validate = this.#ajv.compile({ $ref: `document:#${pointer}` });
      this.#compiled.set(pointer, validate);
    }
    return validate(value) ? undefined : (validate.errors ?? []).map(told).join('; ');
  }
}

/** By the rule and its place; the name of a field is no secret. */
function told({ instancePath, message, params }: ErrorObject): string {
  const field: unknown = params['additionalProperty'];
  return `${instancePath || 'the whole'} ${message ?? 'does not fit'}${typeof field === 'string' ? ` (${field})` : ''}`;
}

/** Objects of answers are open in the document, since a later version may add fields. This version has all it adds. */
function closed(json: Json): Json {
  if (Array.isArray(json)) return json.map(closed);
  if (typeof json !== 'object' || json === null) return json;
  const object = Object.fromEntries(Object.entries(json).map(([name, part]) => [name, closed(part)]));
  const { properties } = object;
  const isObject = object['type'] === 'object' && typeof properties === 'object' && properties !== null;
  return isObject && !('additionalProperties' in object) ? { ...object, additionalProperties: false } : object;
}
