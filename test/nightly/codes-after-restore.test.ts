import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { savedCodes } from '../support/cli/saved-codes.ts';
import { LossyProxy } from '../support/http/lossy-proxy.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { connectedTo, musterCommand, musterProcess, ownedBy } from '../support/service/muster-command.ts';
import { call, createApp, enroll, KEY_FILE_TEXT, Muster, OPERATOR_TOKEN, tenant } from '../support/service/muster.ts';
import { until } from '../support/time/until.ts';

/*
 * After a restore every open code is void. An account with 600 pending apps gets others by one command, through a proxy
 * that loses one answer in twenty after the request was carried out, killed once, and beyond its rate of 600 requests a
 * minute.
 */

const COUNT = 600;
const AT_ONCE = 50;

test('600 pending apps get a further code each after a restore', { timeout: 300_000 }, async () => {
  const root = scratchDirectory('codes');
  const backup = join(root, 'backup');
  const restored = join(root, 'restored');
  mkdirSync(restored);
  writeFileSync(join(restored, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
  const lost = [];
  let apiKey = '';
  {
    await using before = await Muster.start();
    ({ apiKey } = await tenant(before));
    for (let at = 0; at < COUNT; at += AT_ONCE) {
      const names = Array.from({ length: AT_ONCE }, (_, index) => `edge ${at + index}`);
      lost.push(...(await Promise.all(names.map((name) => createApp(before, apiKey, name)))));
    }
    expect((await musterCommand(['backup', 'create', backup], connectedTo(before))).code).toBe(0);
  }
  const place = {
    MUSTER_DATA_DIR: restored,
    MUSTER_KEY_FILE: join(restored, 'keys'),
    MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
  };
  expect((await musterCommand(['restore', backup], place)).code).toBe(0);

  await using muster = await Muster.start({ dataDir: restored });
  const [first] = lost;
  await expect(enroll(muster, first ?? { appId: '', enrollCode: '' })).rejects.toThrow('enroll: 401');
  await using proxy = await LossyProxy.before(muster.api, 4);
  proxy.odds = { lost: 0.05 };
  const env = ownedBy({ api: proxy.url }, apiKey);
  const codes = join(root, 'codes');
  const { child, ended } = musterProcess(['apps', 'code', '--status', 'pending', '--save-codes', codes], env);
  await until(() => proxy.seen.length >= 200);
  child.kill('SIGKILL');
  expect((await ended).code).toBe('SIGKILL');
  const { code, stderr } = await musterCommand(['apps', 'code', '--resume', `${codes}.resume`], env);
  expect([code, stderr]).toEqual([0, `The codes are in ${codes}.\n${COUNT} codes issued.\n`]);

  const rows = savedCodes(codes);
  expect(new Set(rows.map(({ appId }) => appId))).toEqual(new Set(lost.map(({ appId }) => appId)));
  expect(new Set(rows.map(({ enrollCode }) => enrollCode)).size).toBe(COUNT);
  expect(readdirSync(root)).not.toContain('codes.resume');
  for (const row of rows.filter(({ number }) => number % 20 === 0))
    expect(await enroll(muster, row)).toMatch(/^mst_dev_/);
  expect(proxy.count('lost')).toBeGreaterThan(0);
  // A code that was issued and lost would be a second one of its app.
  const { body } = await call(`${muster.ops}/operator/v1/accounts?limit=10`, { token: OPERATOR_TOKEN });
  const [account] = body['accounts'] as readonly { accountId: string }[];
  const { stdout } = await musterCommand(
    ['audit', 'list', '--account', account?.accountId ?? '', '--action', 'code.issued', '-o', 'jsonl'],
    connectedTo(muster),
  );
  expect(stdout.trimEnd().split('\n')).toHaveLength(COUNT);
});
