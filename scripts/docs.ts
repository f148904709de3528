import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { GENERATED_HERE } from './generated-documents.ts';

/*
 * `npm run docs` writes the documents that are generated; test/repository/generated-documents.test.ts holds them equal.
 */

const ROOT = resolve(import.meta.dirname, '..');

for (const { path, text } of GENERATED_HERE) writeFileSync(resolve(ROOT, path), await text());
