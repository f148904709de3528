import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { KIND_SCHEMAS, crdName } from '../src/controller/kubernetes/schema/crd.ts';
import { crdFile } from './crd-file.ts';

/*
 * `npm run crds` writes the CustomResourceDefinitions of the schemas; test/controller/kubernetes/schema/crds.test.ts
 * holds them equal.
 */

const FOLDER = resolve(import.meta.dirname, '../charts/muster/files/crds');

mkdirSync(FOLDER, { recursive: true });
for (const kind of KIND_SCHEMAS) writeFileSync(join(FOLDER, `${crdName(kind)}.yaml`), crdFile(kind));
