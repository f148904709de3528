import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiKey, RotatedApiKey } from '#client';
import { connectedTo, musterHere, type Ended } from '../../../support/service/muster-command.ts';
import { call, Muster, tenant, type Tenant } from '../../../support/service/muster.ts';

/* `muster api-keys rotate`, `end-overlap` and `update`: a key with another secret, and with less. */

let muster: Muster;
let root: string;
let env: Record<string, string>;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'muster-rotated-'));
  muster = await Muster.start();
  env = connectedTo(muster);
});
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

const run = (...args: string[]): Promise<Ended> => musterHere(args, env);
const status = async (apiKey: string): Promise<number> =>
  (await call(`${muster.api}/v1/apps`, { token: apiKey })).status;
const rotate = ({ accountId, keyId }: Tenant, ...more: string[]): Promise<Ended> =>
  run('api-keys', 'rotate', keyId, '-a', accountId, ...more);

test('rotate shows the new secret once, and the one before works for the grace', async () => {
  const own = await tenant(muster);
  const { keyId, accountId } = own;
  const { code, stdout, stderr } = await rotate(own, '--grace', '1h', '-o', 'json');
  const rotated = JSON.parse(stdout) as RotatedApiKey;
  expect([code, stderr]).toEqual([
    0,
    `The new secret of the key ${keyId} of the account ${accountId} is made; keep it now, no other command shows it.\n`,
  ]);
  expect(rotated).toMatchObject({ keyId, expiresAt: null });
  expect([await status(own.apiKey), await status(rotated.apiKey)]).toEqual([200, 200]);
  const listed = await run('api-keys', 'list', '-a', accountId, '-o', 'json');
  expect(JSON.parse(listed.stdout)).toMatchObject([{ keyId, formerExpiresAt: rotated.formerExpiresAt }]);
  expect(listed.stdout).not.toContain(rotated.apiKey);
  expect((await run('api-keys', 'list', '-a', accountId)).stdout).toContain('FORMER UNTIL');
});

test('rotate --grace 0s ends the secret before at once, and --save-key keeps the new one out of the terminal', async () => {
  const own = await tenant(muster);
  const path = join(root, 'key');
  const saved = await rotate(own, '--grace', '0s', '--save-key', path, '-o', 'id');
  expect(saved).toMatchObject({ code: 0, stdout: `${own.keyId}\n` });
  expect([await status(own.apiKey), await status(readFileSync(path, 'utf8').trimEnd())]).toEqual([401, 200]);
});

test('end-overlap ends the secret before, asks first, and says where there is none', async () => {
  const own = await tenant(muster);
  const { keyId, accountId } = own;
  const ending = (...more: string[]): Promise<Ended> => run('api-keys', 'end-overlap', keyId, '-a', accountId, ...more);
  const { apiKey } = JSON.parse((await rotate(own, '-o', 'json')).stdout) as RotatedApiKey;
  const unasked = await ending();
  expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining('--yes')]);
  expect(await status(own.apiKey)).toBe(200);
  const { code, stdout, stderr } = await ending('--yes', '-o', 'json');
  expect([code, stderr]).toEqual([
    0,
    `The key ${keyId} of the account ${accountId} works with its present secret alone.\n`,
  ]);
  expect(JSON.parse(stdout)).toEqual({ keyId, accountId, status: 'overlap-ended' });
  expect([await status(own.apiKey), await status(apiKey)]).toEqual([401, 200]);
  const again = await ending('--yes');
  expect([again.code, again.stderr]).toEqual([4, expect.stringContaining('with a former secret that works')]);
});

test('rotate changes nothing where a key is not there, or the grace or the form is wrong', async () => {
  const own = await tenant(muster);
  for (const [code, ...more] of [
    [2, '--grace', '8d'],
    [2, '--grace', '60'],
    [2, '-o', 'id'],
  ] as const) {
    expect([(await rotate(own, ...more)).code, more]).toEqual([code, more]);
  }
  const unknown = await rotate({ ...own, keyId: 'a'.repeat(12) });
  expect([unknown.code, unknown.stderr]).toEqual([4, expect.stringContaining('There is no API key')]);
  expect(await status(own.apiKey)).toBe(200);
  const same = () => rotate(own, '--idempotency-key', 'rotated once', '-o', 'json');
  const [one, again] = [await same(), await same()];
  expect(again).toEqual(one);
  expect([one.code, await status(own.apiKey)]).toEqual([0, 200]);
});

test('update lets a key end earlier, and never later', async () => {
  const { accountId, keyId } = await tenant(muster);
  const update = (expires: string) =>
    run('api-keys', 'update', keyId, '-a', accountId, '--expires', expires, '-o', 'json');
  const { code, stdout, stderr } = await update('2100-01-02T03:04:05Z');
  expect([code, JSON.parse(stdout) as ApiKey]).toMatchObject([0, { keyId, expiresAt: '2100-01-02T03:04:05.000Z' }]);
  expect(stderr).toBe(`The key ${keyId} of the account ${accountId} is changed.\n`);
  const later = await update('2100-01-03');
  expect([later.code, later.stderr]).toEqual([1, expect.stringContaining('brought forward')]);
  expect((await update('2001-01-01')).code).toBe(2);
});

test('create and update give a key less access and fewer addresses, and never more', async () => {
  const { accountId } = await tenant(muster);
  const words = ['--access', 'enroll', '--cidr', '127.0.0.0/8', '::1', '-o', 'json'];
  const created = await run('api-keys', 'create', '-a', accountId, ...words);
  const key = JSON.parse(created.stdout) as RotatedApiKey;
  expect([created.code, key]).toMatchObject([0, { access: 'enroll', allowedCidrs: ['127.0.0.0/8', '::1'] }]);
  expect(await status(key.apiKey)).toBe(403);
  const update = (...more: string[]) => run('api-keys', 'update', key.keyId, '-a', accountId, '-o', 'json', ...more);
  const narrowed = await update('--cidr', '127.0.0.1');
  expect([narrowed.code, JSON.parse(narrowed.stdout)]).toMatchObject([0, { allowedCidrs: ['127.0.0.1'] }]);
  const wider = await update('--access', 'full');
  expect([wider.code, wider.stderr]).toEqual([1, expect.stringContaining('never widened')]);
  const nothing = await update();
  expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('--expires, --access or --cidr')]);
  expect((await update('--access', 'all')).code).toBe(2);
  const listed = await run('api-keys', 'list', '-a', accountId, '-o', 'csv');
  expect(listed.stdout).toContain(',"enroll","127.0.0.1",');
});
