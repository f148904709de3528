import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { openStore, type StoreChoice } from '../../src/service/open-store.ts';
import { Ledger } from '../support/metering/ledger.ts';
import { MusterProcess } from '../support/service/muster-process.ts';
import { KEY_FILE_TEXT, tenant } from '../support/service/muster.ts';
import { until } from '../support/time/until.ts';

const url = inject('etcd');
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-crash-'));
  writeFileSync(join(directory, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

interface Place {
  readonly env: Record<string, string>;
  readonly choice: StoreChoice;
}

function place(kind: 'sqlite' | 'etcd'): Place {
  const env = { MUSTER_DATA_DIR: directory, MUSTER_KEY_FILE: join(directory, 'keys') };
  if (kind === 'sqlite') return { env, choice: { kind, path: join(directory, 'muster.db') } };
  const prefix = `/${randomUUID()}/`;
  return {
    env: { ...env, MUSTER_STORE: `etcd:${url}`, MUSTER_ETCD_PREFIX: prefix },
    choice: { kind, endpoints: [url ?? ''], prefix },
  };
}

const ACCOUNTS = 4;
const WORKERS_EACH = 3;

/** Starts it, works on new accounts until enough was acknowledged in this round, and ends it in the middle of that. */
async function round(env: Place['env'], ledger: Ledger, signal: 'SIGKILL' | 'SIGTERM'): Promise<unknown> {
  await using muster = await MusterProcess.start(env);
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => tenant(muster)));
  const enough = ledger.acknowledgements + 200;
  const work = accounts.flatMap((account) => Array.from({ length: WORKERS_EACH }, () => ledger.work(muster, account)));
  await until(() => ledger.acknowledgements >= enough);
  const ended = await muster.end(signal);
  await Promise.all(work);
  return ended;
}

describe.each([
  ['sqlite', 10],
  ['etcd', 4],
] as const)('killed under load on %s, %i times', (kind, rounds) => {
  test.skipIf(kind === 'etcd' && url === undefined)(
    'nothing acknowledged is missing, nothing is half-written',
    async () => {
      const { env, choice } = place(kind);
      const ledger = new Ledger();
      for (let n = 0; n < rounds; n += 1) {
        expect(await round(env, ledger, 'SIGKILL')).toBe('SIGKILL');
        await using store = await openStore(choice);
        expect(await ledger.faults(store)).toEqual([]);
      }
      expect(await round(env, ledger, 'SIGTERM')).toBe(0);
      await using store = await openStore(choice);
      expect(await ledger.faults(store)).toEqual([]);
      expect(ledger.surprises).toEqual([]);
    },
  );
});
