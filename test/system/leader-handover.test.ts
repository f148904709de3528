import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { MusterProcess } from '../support/service/muster-process.ts';
import { KEY_FILE_TEXT } from '../support/service/muster.ts';
import { until } from '../support/time/until.ts';

/* Whole processes on one etcd: whichever way the leading controller ends, another one leads soon. */

const url = inject('etcd');
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-hand-over-'));
  writeFileSync(join(directory, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const leads = async (muster: MusterProcess): Promise<boolean> =>
  (await (await fetch(`${muster.ops}/metrics`)).text()).includes('\nmuster_controller_leading 1\n');

test.skipIf(url === undefined).each(['SIGKILL', 'SIGTERM'] as const)(
  'after %s of the leader the other controller leads, and a process without the role never does',
  async (signal) => {
    const env = {
      MUSTER_DATA_DIR: directory,
      MUSTER_KEY_FILE: join(directory, 'keys'),
      MUSTER_STORE: `etcd:${url}`,
      MUSTER_ETCD_PREFIX: `/${randomUUID()}/`,
    };
    await using bystander = await MusterProcess.start({ ...env, MUSTER_ROLES: 'api,device' });
    await using first = await MusterProcess.start({ ...env, MUSTER_ROLES: 'controller' });
    await until(() => leads(first));
    await using second = await MusterProcess.start(env);
    expect(await leads(second)).toBe(false);
    await first.end(signal);
    await until(() => leads(second));
    expect(await leads(bystander)).toBe(false);
    expect(first.api).toBe('http://:0');
  },
);
