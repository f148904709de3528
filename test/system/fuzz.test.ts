import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { findSchemathesis, fuzz, NO_SCHEMATHESIS } from '../support/fuzz/fuzz.ts';
import { API_NAMES, pathOf } from '../support/openapi/documents.ts';

/*
 * The documents, and the service behind them, seen by programs that are not ours. test/nightly/fuzz.test.ts is longer.
 */

const SECONDS = 20;
const SEED = 1;

const python = findSchemathesis();

describe.skipIf(python === undefined)(`the documents${python === undefined ? ` (${NO_SCHEMATHESIS})` : ''}`, () => {
  test('are valid to a second linter', async () => {
    const words = ['-m', 'openapi_spec_validator', ...API_NAMES.map(pathOf)];
    const { stdout } = await promisify(execFile)(python ?? '', words);
    expect(stdout.trim().split('\n')).toEqual(API_NAMES.map((name) => `${pathOf(name)}: OK`));
  });

  test.each(API_NAMES)(`%s: a fuzzer finds no fault in ${SECONDS} s`, async (name) => {
    const { exitCode, report, errors } = await fuzz(name, {
      python: python ?? '',
      env: {},
      seconds: SECONDS,
      seed: SEED,
    });
    if (exitCode !== 0) process.stdout.write(`${report}\n`);
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: [] });
  });
});
