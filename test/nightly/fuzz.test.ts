import process from 'node:process';
import { describe, expect, inject, test } from 'vitest';
import { NO_ETCD } from '../support/etcd/etcd-binary.ts';
import { findSchemathesis, fuzz, NO_SCHEMATHESIS } from '../support/fuzz/fuzz.ts';
import { API_NAMES } from '../support/openapi/documents.ts';
import { EFFORT } from '../support/run/effort.ts';

/* The long form of test/system/fuzz.test.ts: at the effort of a night an hour for each store, by a seed of the day. */

const SECONDS = Math.ceil(24 * EFFORT);
const SEED = Math.floor(Date.now() / 86_400_000);

const python = findSchemathesis();
const etcd = inject('etcd');

describe.skipIf(python === undefined)(
  `by the seed ${SEED}${python === undefined ? ` (${NO_SCHEMATHESIS})` : ''}`,
  () => {
    const found = async (name: (typeof API_NAMES)[number], env: Readonly<Record<string, string>>) => {
      const options = { python: python ?? '', env, seconds: SECONDS, seed: SEED };
      const { exitCode, report, errors } = await fuzz(name, options);
      if (exitCode !== 0) process.stdout.write(`${report}\n`);
      return { exitCode, errors };
    };

    test.each(API_NAMES)(`%s on SQLite: a fuzzer finds no fault in ${SECONDS} s`, async (name) => {
      expect(await found(name, {})).toEqual({ exitCode: 0, errors: [] });
    });

    describe.skipIf(etcd === undefined)(etcd === undefined ? `on etcd (${NO_ETCD})` : 'on etcd', () => {
      test.each(API_NAMES)(`%s: a fuzzer finds no fault in ${SECONDS} s`, async (name) => {
        const env = {
          MUSTER_STORE: `etcd:${etcd}`,
          MUSTER_ETCD_PREFIX: `/fuzz/${name}/`,
          MUSTER_ETCD_COMPACT: 'never',
        };
        expect(await found(name, env)).toEqual({ exitCode: 0, errors: [] });
      });
    });
  },
);
