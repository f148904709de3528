import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { crdFile } from '../../../../scripts/crd-file.ts';
import { crdName, crdOf, KIND_SCHEMAS } from '../../../../src/controller/kubernetes/schema/crd.ts';

interface Schema {
  readonly description?: string | undefined;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly items?: Schema | undefined;
}
const schemaOf: z.ZodType<Schema> = z.lazy(() =>
  z.looseObject({
    description: z.string().optional(),
    properties: z.record(z.string(), schemaOf).optional(),
    items: schemaOf.optional(),
  }),
);
const crdSchema = z.object({
  spec: z.object({ versions: z.tuple([z.object({ schema: z.object({ openAPIV3Schema: schemaOf }) })]) }),
});

/** Every field below a schema with its path; the items of a list as `[]`. */
function* fieldsOf({ properties = {}, items }: Schema, path = ''): Generator<readonly [path: string, schema: Schema]> {
  const inner = [...Object.entries(properties), ...(items ? [['[]', items] as const] : [])];
  for (const [name, schema] of inner) {
    yield [`${path}.${name}`, schema];
    yield* fieldsOf(schema, `${path}.${name}`);
  }
}

/* The CRD files of the chart are what `npm run crds` makes of the schemas. */

const FOLDER = resolve(import.meta.dirname, '../../../../charts/muster/files/crds');

test('there is a file for each kind, and no other', () => {
  expect(readdirSync(FOLDER).toSorted()).toEqual(KIND_SCHEMAS.map((kind) => `${crdName(kind)}.yaml`).toSorted());
});

describe.each(KIND_SCHEMAS.map((kind) => [kind.kind, kind] as const))('%s', (_name, kind) => {
  const text = readFileSync(join(FOLDER, `${crdName(kind)}.yaml`), 'utf8');

  test('its file is what the schema makes: run `npm run crds` where it is not', () => {
    expect(text).toBe(crdFile(kind));
  });

  test('its file has no code of templates: the chart reads it as it is', () => {
    expect(text).not.toContain('{{');
  });

  test('`kubectl explain` describes every field, lists and what is in them', () => {
    const [{ schema }] = crdSchema.parse(crdOf(kind)).spec.versions;
    // The API server describes metadata by itself.
    const fields = [...fieldsOf(schema.openAPIV3Schema)].filter(([path]) => path !== '.metadata');
    expect(fields.map(([path]) => path)).toContain('.status.conditions.[].lastTransitionTime');
    const bare = fields.filter(([, { description = '' }]) => !/^\S.*[.\w]$/s.test(description));
    expect(bare.map(([path]) => path)).toEqual([]);
    const { properties } = schema.openAPIV3Schema;
    expect(properties?.['apiVersion']?.description).toMatch(/^APIVersion defines the versioned schema/);
    expect(properties?.['kind']?.description).toMatch(/^Kind is a string value/);
  });

  test('a status that nobody has written yet speaks of no generation', () => {
    const [{ schema }] = crdSchema.parse(crdOf(kind)).spec.versions;
    expect(schema.openAPIV3Schema.properties?.['status']).toMatchObject({
      default: {},
      properties: { observedGeneration: { default: -1 } },
    });
  });
});
