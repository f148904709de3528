import { execFile } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { API_NAMES, pathOf } from '../../support/openapi/documents.ts';
import { ROOT } from '../../support/repository/source-tree.ts';

/* The documents pass a linter that is not ours; test/system/fuzz.test.ts has a second one. */

const REDOCLY = join(ROOT, 'node_modules/@redocly/cli/bin/cli.js');

test('the documents have no fault and no warning for Redocly’s linter', async () => {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const words = [REDOCLY, 'lint', '--format=json', ...API_NAMES.map(pathOf)];
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: ROOT, env });
  // One report after the other.
  const reports: unknown = JSON.parse(`[${stdout.trim().replaceAll('}{', '},{')}]`);
  const clean = { totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] };
  expect(reports).toMatchObject(API_NAMES.map(() => clean));
});
