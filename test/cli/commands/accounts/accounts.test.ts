import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Account, ApiKey, ReviewEntry } from '#client';
import { disableAccount, updateAccount } from '../../../../src/cli/commands/accounts/accounts.ts';
import { revokeApiKey } from '../../../../src/cli/commands/accounts/api-keys.ts';
import { invocation } from '../../../../src/cli/terminal/invocation.ts';
import { csvRows } from '../../../../src/text/csv-rows.ts';
import { recordedTerminal } from '../../../support/cli/recorded-terminal.ts';
import { LossyProxy } from '../../../support/http/lossy-proxy.ts';
import { detection, sendDetections } from '../../../support/records/detections.ts';
import { connectedTo, musterHere, type Ended } from '../../../support/service/muster-command.ts';
import { call, createApp, enroll, Muster, tenant } from '../../../support/service/muster.ts';

let muster: Muster;
let root: string;
let env: Record<string, string>;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'muster-accounts-'));
  muster = await Muster.start();
  env = connectedTo(muster);
});
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

const run = (...args: string[]): Promise<Ended> => musterHere(args, env);
const json = async <T>(...args: string[]): Promise<T> => {
  const { code, stdout } = await run(...args, '-o', 'json');
  expect([code, args.join(' ')]).toEqual([0, args.join(' ')]);
  return JSON.parse(stdout) as T;
};
const created = (name: string): Promise<Account> => json<Account>('accounts', 'create', '--name', name, '--quiet');

describe('accounts', () => {
  test('are created, listed, found by id and by name, and changed; writes say on which id they acted', async () => {
    const { code, stdout, stderr } = await run(
      'accounts',
      'create',
      '-n',
      'acme',
      '--entitlement',
      'enterprise',
      '-o',
      'id',
    );
    const id = stdout.trimEnd();
    expect([code, stderr]).toEqual([0, `The account ${id} is created.\n`]);
    expect(await json<Account>('accounts', 'get', id)).toMatchObject({ name: 'acme', entitlement: 'enterprise' });
    expect(await json<Account>('accounts', 'get', 'acme')).toMatchObject({ accountId: id });
    expect(await json<Account[]>('accounts', 'list')).toContainEqual(expect.objectContaining({ accountId: id }));
    const updated = await run(
      'accounts',
      'update',
      'acme',
      '--name',
      'Acme',
      '--adoptable-by',
      'edge/acme',
      '-o',
      'json',
    );
    expect([updated.code, updated.stderr]).toEqual([0, `The account ${id} is changed.\n`]);
    expect(JSON.parse(updated.stdout)).toMatchObject({
      name: 'Acme',
      adoptableBy: 'edge/acme',
      entitlement: 'enterprise',
    });
    const withdrawn = await json<Account>('accounts', 'update', id, '--no-adoptable-by');
    expect(withdrawn).not.toHaveProperty('adoptableBy');
    expect(withdrawn.name).toBe('Acme');
  });

  test('a quota is set in MiB, switched off, and given back to the installation', async () => {
    const id = (await created('quota')).accountId;
    const quota = (mib: string) => json<Account>('accounts', 'update', id, '--quota-mb', mib);
    expect(await quota('4096')).toMatchObject({ quotaMb: 4096, storedBytes: 0 });
    expect(await quota('0')).toMatchObject({ quotaMb: 0 });
    expect(await quota('default')).toMatchObject({ quotaMb: 1024 });
    for (const wrong of ['1.5', '-1', '1000001', 'none', '']) {
      const refused = await run('accounts', 'update', id, '--quota-mb', wrong);
      expect([wrong, refused.code]).toEqual([wrong, 2]);
      expect(refused.stderr).toContain('from 0 to 1000000, or default');
    }
  });

  test('the same idempotency key creates one', async () => {
    const create = (key: string) => json<Account>('accounts', 'create', '-n', 'once', '--idempotency-key', key);
    const [one, again, other] = [await create('k-1'), await create('k-1'), await create('k-2')];
    expect(again).toEqual(one);
    expect(other.accountId).not.toBe(one.accountId);
  });

  test('a name that several have changes none of them; nothing to change, or nobody of that name, is told', async () => {
    const ids = [(await created('twin')).accountId, (await created('twin')).accountId];
    const several = await run('accounts', 'update', 'twin', '--name', 'x');
    expect([several.code, several.stdout]).toEqual([2, '']);
    for (const id of ids) expect(several.stderr).toContain(id);
    expect(await run('accounts', 'update', ids[0] ?? '')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Nothing is to be changed') as string,
    });
    expect(await run('accounts', 'get', 'nobody')).toMatchObject({ code: 4, stdout: '' });
    expect(await run('accounts', 'create', '-n', 'x', '--entitlement', 'gold')).toMatchObject({ code: 2 });
  });

  test('disabling asks, and refuses every key until it is enabled; where nobody is, --yes says it', async () => {
    const owner = await tenant(muster);
    const list = async () => (await call(`${muster.api}/v1/apps`, { token: owner.apiKey })).status;
    const refused = await run('accounts', 'disable', owner.accountId);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    const no = recordedTerminal({ answers: ['n'] });
    await expect(disableAccount(invocation(env, {}, { terminal: no }), owner.accountId)).rejects.toThrow(
      'Nothing was done.',
    );
    expect(no.questions.join()).toContain(owner.accountId);
    expect(await list()).toBe(200);
    const done = await run('accounts', 'disable', owner.accountId, '--yes', '-o', 'id');
    expect(done).toEqual({
      code: 0,
      stdout: `${owner.accountId}\n`,
      stderr: `The account ${owner.accountId} is disabled.\n`,
    });
    expect(await list()).toBe(401);
    expect((await json<Account>('accounts', 'enable', owner.accountId)).disabled).toBe(false);
    expect(await list()).toBe(200);
  });

  test('taking the Enterprise entitlement away asks, giving it does not; where nobody is, --yes says it', async () => {
    const owner = await tenant(muster);
    const read = async () => (await call(`${muster.api}/v1/otel-config`, { token: owner.apiKey })).status;
    const set = (...args: string[]) => run('accounts', 'update', owner.accountId, '--entitlement', ...args);
    const refused = await set('standard');
    expect([refused.code, refused.stdout, refused.stderr]).toEqual([2, '', expect.stringContaining('--yes')]);
    const no = recordedTerminal({ answers: ['n'] });
    const update = updateAccount(invocation(env, {}, { terminal: no }), owner.accountId, { entitlement: 'standard' });
    await expect(update).rejects.toThrow('Nothing was done.');
    expect(no.questions.join()).toContain(`Take the Enterprise entitlement from the account ${owner.accountId}`);
    expect([await read(), (await set('enterprise')).code]).toEqual([200, 0]);
    expect(await set('standard', '--yes', '-o', 'id')).toMatchObject({ code: 0, stdout: `${owner.accountId}\n` });
    // The account has nothing any more that the same command would take away.
    expect([await read(), (await set('standard')).code]).toEqual([403, 0]);
    expect([(await set('enterprise')).code, await read()]).toEqual([0, 200]);
  });

  test('every form, and --limit', async () => {
    await created('=1+1');
    const csv = await run('accounts', 'list', '-o', 'csv');
    const [head, ...rows] = [...csvRows(csv.stdout)].map(({ fields }) => fields);
    expect(head?.slice(0, 4)).toEqual(['accountId', 'name', 'entitlement', 'disabled']);
    expect(rows.map(([, name]) => name)).toContain("'=1+1");
    const ids = (await run('accounts', 'list', '-o', 'id', '--limit', '2')).stdout.trimEnd().split('\n');
    expect(ids).toEqual([expect.stringMatching(/^[a-z0-9]{16}$/), expect.stringMatching(/^[a-z0-9]{16}$/)]);
    const lines = (await run('accounts', 'list', '-o', 'jsonl')).stdout.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as Account).accountId).slice(0, 2)).toEqual(ids);
    expect((await run('accounts', 'list')).stdout).toMatch(/^ACCOUNT +NAME +ENTITLEMENT +DISABLED +CREATED/);
  });
});

describe('API keys', () => {
  test('a key is shown once and opens /v1; it is listed without its text, and revoked once somebody agrees', async () => {
    const { accountId } = await created('keyed');
    const made = await run('api-keys', 'create', '-a', 'keyed', '--name', 'ci', '--expires', '90d', '-o', 'json');
    const key = JSON.parse(made.stdout) as ApiKey & { apiKey: string };
    expect(made.stderr).toBe(
      `The key ${key.keyId} of the account ${accountId} is created; keep it now, no other command shows it.\n`,
    );
    const days = (Date.parse(key.expiresAt ?? '') - Date.parse(key.createdAt)) / 86_400_000;
    expect(days).toBeGreaterThan(89.9);
    expect(days).toBeLessThan(90.1);
    const status = async () => (await call(`${muster.api}/v1/apps`, { token: key.apiKey })).status;
    expect(await status()).toBe(200);
    const listed = await run('api-keys', 'list', '--account', accountId, '-o', 'json');
    expect(JSON.parse(listed.stdout)).toMatchObject([{ keyId: key.keyId, name: 'ci' }]);
    expect(listed.stdout).not.toContain(key.apiKey);
    const refused = await run('api-keys', 'revoke', key.keyId, '-a', 'keyed');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(await status()).toBe(200);
    const terminal = recordedTerminal({ answers: ['y'] });
    await revokeApiKey(invocation(env, {}, { terminal }), key.keyId, { account: 'keyed' });
    expect(terminal.err()).toBe(`The key ${key.keyId} of the account ${accountId} is revoked.\n`);
    expect(terminal.out()).toBe(`KEY      ${key.keyId}\nACCOUNT  ${accountId}\nSTATUS   revoked\n`);
    expect(await status()).toBe(401);
    expect(await run('api-keys', 'revoke', key.keyId, '-a', 'keyed', '--yes')).toMatchObject({ code: 4 });
  });

  test('the same idempotency key shows it again, and that is said', async () => {
    const { accountId } = await created('shown again');
    const create = () => run('api-keys', 'create', '-a', accountId, '--idempotency-key', 'again', '-o', 'json');
    const [one, again] = [await create(), await create()];
    expect(again).toEqual(one);
    const { keyId, apiKey } = JSON.parse(one.stdout) as { keyId: string; apiKey: string };
    expect(apiKey).toMatch(/^mst_live_/);
    expect(one.stderr).toBe(
      `The key ${keyId} of the account ${accountId} is created; keep it now: for 24 hours the same --idempotency-key ` +
        'shows it again, and nothing else does.\n',
    );
  });

  test('revoking prints the ids that it acted on, also where it is quiet, in the form of -o', async () => {
    const { accountId } = await created('revoked');
    const revoked = async (form: string): Promise<{ keyId: string; ended: Ended }> => {
      const { keyId } = await json<ApiKey>('api-keys', 'create', '-a', 'revoked');
      const args = ['api-keys', 'revoke', keyId, '-a', 'revoked', '--yes', '--quiet', '-o', form];
      return { keyId, ended: await run(...args) };
    };
    const id = await revoked('id');
    expect(id.ended).toEqual({ code: 0, stdout: `${id.keyId}\n`, stderr: '' });
    const { keyId, ended } = await revoked('json');
    expect(JSON.parse(ended.stdout)).toEqual({ accountId, keyId, status: 'revoked' });
  });

  test('--save-key writes it to a new file for its owner alone, and prints none', async () => {
    await created('saved');
    const path = join(root, 'key');
    const made = await run('api-keys', 'create', '-a', 'saved', '--save-key', path, '-o', 'json');
    const apiKey = readFileSync(path, 'utf8');
    expect(apiKey).toMatch(/^mst_live_\w+\n$/);
    expect((statSync(path).mode & 0o777).toString(8)).toBe('600');
    expect(made.code).toBe(0);
    expect(made.stdout + made.stderr).not.toContain('mst_live_');
    expect((await call(`${muster.api}/v1/apps`, { token: apiKey.trimEnd() })).status).toBe(200);
    const again = await run('api-keys', 'create', '-a', 'saved', '--save-key', path);
    expect([again.code, readFileSync(path, 'utf8')]).toEqual([2, apiKey]);
    expect(await json<ApiKey[]>('api-keys', 'list', '-a', 'saved')).toHaveLength(1);
  });

  test('where an answer is lost, the error tells the key of the request, and no file stays', async () => {
    await using proxy = await LossyProxy.before(muster.ops);
    const behind = { ...env, MUSTER_CLIENT_OPS_URL: proxy.url };
    proxy.fate = ({ method }) => (method === 'POST' ? 'lost' : 'through');
    const lost = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await musterHere([...args, '--timeout', '1s'], behind);
      expect([code, stdout]).toEqual([1, '']);
      return /may be there all the same: .* --idempotency-key (muster-[0-9a-f]{32}),/.exec(stderr)?.[1] ?? stderr;
    };
    const account = ['accounts', 'create', '--name', 'lost'];
    await json<Account>(...account, '--idempotency-key', await lost(...account));
    const path = join(root, 'lost-key');
    const key = ['api-keys', 'create', '-a', 'lost', '--save-key', path];
    const again = await lost(...key);
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
    await json<ApiKey>(...key, '--idempotency-key', again);
    expect(readFileSync(path, 'utf8')).toMatch(/^mst_live_/);
    // By its name: there is one of each.
    expect(await json<ApiKey[]>('api-keys', 'list', '-a', 'lost')).toHaveLength(1);
  });

  test('where an answer is lost, the error tells the expiry that a duration stood for', async () => {
    await created('lost, expiring');
    await using proxy = await LossyProxy.before(muster.ops);
    proxy.fate = ({ method }) => (method === 'POST' ? 'lost' : 'through');
    const key = ['api-keys', 'create', '-a', 'lost, expiring'];
    const behind = { ...env, MUSTER_CLIENT_OPS_URL: proxy.url };
    const { stderr } = await musterHere([...key, '--expires', '90d', '--timeout', '1s'], behind);
    const [, again = '', until = ''] = /--idempotency-key (\S+) and --expires (\S+),/.exec(stderr) ?? [];
    const made = await json<ApiKey>(...key, '--idempotency-key', again, '--expires', until);
    expect(made.expiresAt).toBe(until);
    expect(await json<ApiKey[]>('api-keys', 'list', '-a', 'lost, expiring')).toHaveLength(1);
    expect((await run(...key, '--idempotency-key', again, '--expires', '90d')).code).toBe(2);
  });

  test('nothing is made, and no file, where the account, the expiry or the form is wrong', async () => {
    const { accountId } = await created('unkeyed');
    const path = join(root, 'never');
    for (const [code, ...args] of [
      [4, '-a', 'nobody', '--save-key', path],
      [2, '-a', accountId, '--expires', '2001-01-01'],
      [2, '-a', accountId, '--expires', '2030-02-31'],
      [2, '-a', accountId, '-o', 'id'],
    ] as const) {
      expect([(await run('api-keys', 'create', ...args)).code, args]).toEqual([code, args]);
    }
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
    expect(await json<ApiKey[]>('api-keys', 'list', '-a', accountId)).toEqual([]);
    writeFileSync(path, '');
    const day = await json<ApiKey>('api-keys', 'create', '-a', accountId, '--expires', '2999-03-01');
    expect(day.expiresAt).toBe('2999-03-01T00:00:00.000Z');
  });
});

describe('the review queue', () => {
  test('is listed by status, shown with its evidence, and decided', async () => {
    const owner = await tenant(muster);
    const app = await createApp(muster, owner.apiKey);
    const credential = await enroll(muster, app);
    const events = [detection({ rule: 'miner' }), detection({ id: 'event-1', rule: 'second' })];
    expect(await sendDetections(muster, credential, events)).toMatchObject({ status: 202 });
    const account = ['-a', owner.accountId];
    const entries = await json<ReviewEntry[]>('review', 'list', ...account);
    const [first, second] = entries as [ReviewEntry, ReviewEntry];
    expect(entries).toHaveLength(2);
    const shown = await run('review', 'show', first.entryId, ...account);
    expect(shown.stdout).toMatch(/^EVIDENCE HASH +sha256:00$/m);
    const confirmed = await run('review', 'confirm', first.entryId, ...account, '--note', 'seen', '-o', 'json');
    expect(confirmed.stderr).toBe(`The entry ${first.entryId} of the account ${owner.accountId} is confirmed.\n`);
    expect(JSON.parse(confirmed.stdout)).toMatchObject({ status: 'confirmed', note: 'seen' });
    expect(await json<ReviewEntry>('review', 'dismiss', second.entryId, ...account)).toMatchObject({
      status: 'dismissed',
    });
    expect((await run('review', 'list', ...account, '--status', 'confirmed', '-o', 'id')).stdout).toBe(
      `${first.entryId}\n`,
    );
    const none = await run('review', 'list', ...account, '--status', 'open');
    expect(none).toEqual({ code: 0, stdout: '', stderr: 'There is no such entry.\n' });
    expect(await run('review', 'show', 'nothing', ...account)).toMatchObject({ code: 4, stdout: '' });
    expect(await run('review', 'confirm', 'nothing', ...account)).toMatchObject({ code: 4, stdout: '' });
  });
});
