import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { backupText } from '../../support/records/backups.ts';
import { musterHere } from '../../support/service/muster-command.ts';
import { Muster, tenant } from '../../support/service/muster.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'muster-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

/** The doctor asks nobody: a service of somebody else may listen where one does by default. */
const unnamed = (): Record<string, string> => ({
  MUSTER_DATA_DIR: dataDir,
  MUSTER_CLIENT_OPS_URL: 'http://127.0.0.1:9',
});
const named = (storeId: string): Record<string, string> => ({ ...unnamed(), MUSTER_STORE_ID: storeId });
const start = (storeId: string): Promise<Muster> => Muster.start({ dataDir, env: { MUSTER_STORE_ID: storeId } });

test('a service that expects a store starts once it is made, and a second time changes nothing', async () => {
  await expect(start('ours')).rejects.toThrow('make it with `muster init-store`');
  expect(await musterHere(['init-store'], named('ours'))).toMatchObject({ code: 0, stdout: 'ours\n' });
  await using muster = await start('ours');
  await tenant(muster);
  await muster.service.stop();
  expect(await musterHere(['init-store'], named('ours'))).toMatchObject({ code: 0, stdout: 'ours\n' });
  const { code, stderr } = await musterHere(['init-store'], named('theirs'));
  expect([code, stderr]).toEqual([1, expect.stringContaining('not the one that MUSTER_STORE_ID names')]);
  await expect(start('theirs')).rejects.toThrow('not the one that MUSTER_STORE_ID names');
});

test('without MUSTER_STORE_ID the id is random, and the doctor shows it', async () => {
  const { stdout } = await musterHere(['init-store'], { MUSTER_DATA_DIR: dataDir });
  const id = stdout.trimEnd();
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  const doctor = await musterHere(['doctor'], unnamed());
  expect(doctor.stdout).toMatch(new RegExp(`^ok +store id +${id}$`, 'm'));
  const other = await musterHere(['doctor'], named('another'));
  expect(other.stdout).toMatch(/^fail +format +The store is not the one that MUSTER_STORE_ID names/m);
});

test('a restore makes the store that is expected, or a new one', async () => {
  await using muster = await Muster.start({ dataDir });
  const { accountId } = await tenant(muster);
  await muster.service.stop();
  const file = join(dataDir, 'backup');
  {
    await using store = await openSqliteStore(join(dataDir, 'muster.db'));
    writeFileSync(file, await backupText(store));
  }
  const before = await musterHere(['init-store'], { MUSTER_DATA_DIR: dataDir });
  for (const [name, env] of [
    ['named', { MUSTER_STORE_ID: 'restored' }],
    ['unnamed', {}],
  ] as const) {
    const to = { ...unnamed(), MUSTER_STORE: `sqlite:${join(dataDir, `${name}.db`)}`, ...env };
    expect((await musterHere(['restore', file], to)).code).toBe(0);
    const { stdout } = await musterHere(['init-store'], to);
    if (name === 'named') expect(stdout).toBe('restored\n');
    else expect(stdout).not.toBe(before.stdout);
    expect((await musterHere(['doctor'], to)).stdout).toContain(`store id       ${stdout.trimEnd()}`);
  }
  expect(accountId).not.toBe('');
});
