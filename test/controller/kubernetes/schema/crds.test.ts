import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { crdFile } from '../../../../scripts/crd-file.ts';
import { crdName, KIND_SCHEMAS } from '../../../../src/controller/kubernetes/schema/crd.ts';

/* The CRD files of the chart are what `npm run crds` makes of the schemas. */

const FOLDER = resolve(import.meta.dirname, '../../../../charts/muster/files/crds');

test('there is a file for each kind, and no other', () => {
  expect(readdirSync(FOLDER).toSorted()).toEqual(KIND_SCHEMAS.map((kind) => `${crdName(kind)}.yaml`).toSorted());
});

describe.each(KIND_SCHEMAS.map((kind) => [kind.kind, kind] as const))('%s', (_name, kind) => {
  const text = readFileSync(join(FOLDER, `${crdName(kind)}.yaml`), 'utf8');

  test('its file is what the schema makes: run `npm run crds` where it is not', async () => {
    expect(text).toBe(await crdFile(kind));
  });

  test('its file has no code of templates: the chart reads it as it is', () => {
    expect(text).not.toContain('{{');
  });
});
