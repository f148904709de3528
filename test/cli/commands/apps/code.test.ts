import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { issueCodes } from '../../../../src/cli/commands/apps/code.ts';
import { invocation } from '../../../../src/cli/terminal/invocation.ts';
import { systemClock } from '../../../../src/time/clock.ts';
import { samplesOf } from '../../../support/cli/document-samples.ts';
import { recordedTerminal } from '../../../support/cli/recorded-terminal.ts';
import { savedCodes } from '../../../support/cli/saved-codes.ts';
import { LossyProxy } from '../../../support/http/lossy-proxy.ts';
import { musterHere, musterProcess, ownedBy, type Ended } from '../../../support/service/muster-command.ts';
import {
  call,
  createApp,
  enroll,
  Muster,
  OPERATOR_TOKEN,
  tenant,
  type Tenant,
} from '../../../support/service/muster.ts';
import { until } from '../../../support/time/until.ts';

/* `muster apps code` for many: after a restore every open code is void, and hundreds of apps wait for a further one. */

let muster: Muster;
let root: string;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'muster-codes-'));
  muster = await Muster.start();
});
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

let owner: Tenant;
let env: Record<string, string>;
let directory: string;
beforeEach(async () => {
  owner = await tenant(muster);
  env = ownedBy(muster, owner.apiKey);
  directory = mkdtempSync(join(root, 'work-'));
});

const at = (name: string): string => join(directory, name);
const run = (...args: string[]): Promise<Ended> => musterHere(['apps', ...args], env);
const made = (...names: string[]): Promise<string[]> =>
  Promise.all(names.map(async (name) => (await createApp(muster, owner.apiKey, name)).appId));
const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `edge ${index + 1}`);
const NONE = '0'.repeat(20);

/** How many codes were issued to apps that are there, by the audit of the account. */
async function issued(): Promise<number> {
  const url = `${muster.ops}/operator/v1/accounts/${owner.accountId}/audit?limit=1000`;
  const { body } = await call(url, { token: OPERATOR_TOKEN });
  return (body['entries'] as readonly { action: string }[]).filter(({ action }) => action === 'code.issued').length;
}

describe('many', () => {
  test('by their ids: the codes are in a file for its owner alone, and on no screen', async () => {
    const ids = await made('one', 'two, three', '=1+1');
    const ended = await run('code', ...ids, ids[0] ?? '', '--save-codes', at('codes'), '-o', 'json');
    expect([ended.code, ended.stderr]).toEqual([0, `The codes are in ${at('codes')}.\n3 codes issued.\n`]);
    expect(ended.stdout).not.toContain('mst_code_');
    expect(JSON.parse(ended.stdout)).toEqual(
      ids.map(
        (appId) => expect.objectContaining({ appId, enrollCodeExpiresAt: expect.any(String) as string }) as object,
      ),
    );
    const rows = savedCodes(at('codes'));
    expect(rows.map(({ appId, name }) => [appId, name])).toEqual([
      [ids[0], 'one'],
      [ids[1], 'two, three'],
      [ids[2], "'=1+1"],
    ]);
    expect([statSync(at('codes')).mode & 0o777, readdirSync(directory)]).toEqual([0o600, ['codes']]);
    for (const row of rows) expect(await enroll(muster, row)).toMatch(/^mst_dev_/);
  });

  test('as the document shows it', async () => {
    const ids = await made('one', 'two');
    const [sample, ...others] = samplesOf('apps code');
    const words = sample?.map((word) => (word === 'codes.csv' ? at('codes') : word)) ?? [];
    expect([await musterHere(words, env), others]).toMatchObject([{ code: 0 }, []]);
    expect(
      savedCodes(at('codes'))
        .map(({ appId }) => appId)
        .toSorted(),
    ).toEqual(ids.toSorted());
  });

  test('chosen as those of a list are', async () => {
    const ids = await made('edge 1', 'edge 2', 'core 1');
    const active = await createApp(muster, owner.apiKey, 'edge 3');
    await enroll(muster, active);
    const list = await run('list', '--status', 'pending', '--name', 'edge *', '-o', 'id');
    const ended = await run('code', '--status', 'pending', '--name', 'edge *', '--save-codes', at('codes'), '-o', 'id');
    expect([ended.code, ended.stdout]).toEqual([0, list.stdout]);
    expect(ended.stdout.trimEnd().split('\n').toSorted()).toEqual(ids.slice(0, 2).toSorted());
    expect(readdirSync(directory)).toEqual(['codes']);
  });

  test.each([
    ['table', '', 'There is no such app: no code is issued.\n'],
    ['json', '[]\n', ''],
    ['jsonl', '', ''],
    ['csv', '"appId","name","enrollCodeExpiresAt"\r\n', ''],
    ['id', '', ''],
  ])('where no app is chosen, -o %s is that of an empty list, and no file is made', async (form, stdout, stderr) => {
    await made('edge 1');
    const none = await run('code', '--status', 'revoked', '--save-codes', at('none'), '-o', form);
    expect(none).toEqual({ code: 0, stdout, stderr });
    expect(readdirSync(directory)).toEqual([]);
  });

  test('one app by --save-codes has the same file', async () => {
    const ids = await made('one');
    expect((await run('code', ...ids, '--save-codes', at('codes'), '--quiet')).stderr).toBe('');
    expect(savedCodes(at('codes'))).toMatchObject([{ number: 1, name: 'one', appId: ids[0] }]);
  });

  test('refusals for the rate are waited out', async () => {
    const ids = await made(...numbered(30));
    await using proxy = await LossyProxy.before(muster.api);
    proxy.fate = ({ method }) => (method === 'POST' && proxy.seen.length % 3 === 0 ? 429 : 'through');
    env = { ...env, MUSTER_CLIENT_URL: proxy.url };
    const ended = await run('code', '--status', 'pending', '--save-codes', at('codes'), '-o', 'id');
    expect([ended.code, ended.stdout.trimEnd().split('\n').toSorted()]).toEqual([0, ids.toSorted()]);
    expect(proxy.count(429)).toBeGreaterThan(5);
    expect(await issued()).toBe(30);
  });

  test('kill -9 with answers under way: --resume leaves no code out, and issues none twice', async () => {
    const ids = await made(...numbered(60));
    await using proxy = await LossyProxy.before(muster.api);
    // Those that hang are carried out, and the command never learns of it.
    proxy.fate = () => (proxy.seen.length < 21 ? 'through' : 'hung');
    env = { ...env, MUSTER_CLIENT_URL: proxy.url };
    let carriedOut = 0;
    proxy.hung = () => (carriedOut += 1);
    const { child, ended } = musterProcess(['apps', 'code', '--status', 'pending', '--save-codes', at('codes')], env);
    await until(() => carriedOut === 16);
    child.kill('SIGKILL');
    expect(await ended).toMatchObject({ code: 'SIGKILL', stdout: '' });
    expect(await issued()).toBe(36);

    proxy.fate = () => (proxy.seen.length % 7 === 0 ? 'lost' : 'through');
    const resumed = await run('code', '--resume', at('codes.resume'), '-o', 'id');
    expect([resumed.code, resumed.stdout.trimEnd().split('\n').toSorted()]).toEqual([0, ids.toSorted()]);
    expect(await issued()).toBe(60);
    const rows = savedCodes(at('codes'));
    expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
    expect(readdirSync(directory)).toEqual(['codes']);
    for (const row of rows.slice(15, 40)) expect(await enroll(muster, row)).toMatch(/^mst_dev_/);
  });
});

describe('everything is judged before the first code is issued', () => {
  test.each<[string, (ids: string[]) => string[], number, RegExp]>([
    ['an id that is of no app', (ids) => [...ids, NONE], 4, /There is no app 0{20}: no code is issued\.\n/],
    ['several', (ids) => [NONE, ...ids, '1'.repeat(20)], 4, /no app 0{20}, and 1 more of these ids/],
    ['a word that is no id', (ids) => [...ids, 'edge 1'], 2, /among the ids is "edge 1", which is no id/],
  ])('%s', async (_what, words, code, said) => {
    const ids = await made('one', 'two');
    const ended = await run('code', ...words(ids), '--save-codes', at('codes'));
    expect(ended).toEqual({ code, stdout: '', stderr: expect.stringMatching(said) as string });
    expect([await issued(), readdirSync(directory)]).toEqual([0, []]);
  });

  test('a file that is there', async () => {
    const ids = await made('one', 'two');
    writeFileSync(at('codes'), 'mine');
    const ended = await run('code', ...ids, '--save-codes', at('codes'));
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('is there already')]);
    expect([await issued(), readFileSync(at('codes'), 'utf8')]).toEqual([0, 'mine']);
  });

  test.each([
    [[], /Say for which apps in one way: /],
    [['--save-codes', 'c'], /Say for which apps in one way: /],
    [[NONE, '--status', 'pending', '--save-codes', 'c'], /in one way/],
    [[NONE, '--resume', 'r'], /in one way/],
    [[NONE, '1'.repeat(20)], /The codes of many apps go to a file: name a new one with --save-codes/],
    [['--status', 'pending'], /name a new one with --save-codes/],
    [['--status', 'pending', '--save-code', 'c'], /are for one app: many take --save-codes/],
    [[NONE, '1'.repeat(20), '--idempotency-key', 'k', '--save-codes', 'c'], /are for one app/],
    [['--resume', 'r', '--save-codes', 'c'], /leave --save-codes out/],
    [['--resume', '/nowhere/resume'], /^muster: \/nowhere\/resume: no such file/],
    [['--stale', '7', '--save-codes', 'c'], /7 has no unit/],
  ])('muster apps code %j', async (args, words) => {
    expect(await run('code', ...args)).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(words) as string });
  });
});

describe('--resume', () => {
  /** Codes for three apps, of which the last is refused; `fate` of the others is to go through. */
  async function interrupted(): Promise<string[]> {
    const ids = await made('a', 'b', 'c');
    await using proxy = await LossyProxy.before(muster.api);
    proxy.fate = ({ headers }) => (String(headers['idempotency-key']).endsWith('-3') ? 502 : 'through');
    // Longer than a call may take: the client gives up at once.
    proxy.retryAfterSeconds = 61;
    const ended = await musterHere(['apps', 'code', ...ids, '--save-codes', at('codes')], {
      ...env,
      MUSTER_CLIENT_URL: proxy.url,
    });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(`Go on with: muster apps code --resume ${at('codes.resume')}\n`);
    expect(ended.stderr).toMatch(new RegExp(`^${ids[2] ?? ''} +\\S.* \\(request .*\\)\\n`, 'm'));
    expect(ended.stderr).toContain('2 of 3 codes issued; 1 failed.');
    return ids;
  }

  test('goes on, also with another key of the account, and is refused in another account', async () => {
    const ids = await interrupted();
    const other = await musterHere(
      ['apps', 'code', '--resume', at('codes.resume')],
      ownedBy(muster, (await tenant(muster)).apiKey),
    );
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining(`began with the API key ${owner.keyId}`)]);
    // The plan itself has ids, so that no saved row is needed to know the account.
    rmSync(at('codes'));
    const path = `${muster.ops}/operator/v1/accounts/${owner.accountId}/api-keys`;
    const second = await call(path, { method: 'POST', token: OPERATOR_TOKEN, body: {} });
    const resumed = await musterHere(
      ['apps', 'code', '--resume', at('codes.resume')],
      ownedBy(muster, String(second.body['apiKey'])),
    );
    expect(resumed.code).toBe(0);
    expect(savedCodes(at('codes')).map(({ appId }) => appId)).toEqual(ids);
    expect(await issued()).toBe(3);
  });

  test('is of the command that began, and of its own file of codes', async () => {
    await interrupted();
    const created = await run('create', '--resume', at('codes.resume'));
    expect([created.code, created.stderr]).toEqual([
      2,
      expect.stringContaining('go on with `muster apps code --resume`'),
    ]);
    const text = readFileSync(at('codes'), 'utf8');
    writeFileSync(at('codes'), text.replace(/"1","a","\w{20}"/, `"1","a","${NONE}"`));
    const refused = await run('code', '--resume', at('codes.resume'));
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('is not the file of codes')]);
    const plan = readFileSync(at('codes.resume'), 'utf8');
    writeFileSync(at('codes.resume'), plan.replace('"a",', ''));
    const broken = await run('code', '--resume', at('codes.resume'));
    expect([broken.code, broken.stderr]).toEqual([2, expect.stringContaining('no resume file of `apps code`')]);
  });

  test('an app that is gone meanwhile is told, and keeps no resume file, which would never end', async () => {
    const [, , gone = ''] = await interrupted();
    await run('delete', gone, '--yes');
    const resumed = await run('code', '--resume', at('codes.resume'));
    expect(resumed.code).toBe(1);
    expect(resumed.stderr).toContain('The service has no such apps any more: no code can be issued for them.\n');
    expect(resumed.stderr).not.toContain('Go on with');
    expect(readdirSync(directory)).toEqual(['codes']);
  });

  test.each(['ops', 'device'] as const)(
    'at the %s listener, whose 404 says nothing of an app, goes on later',
    async (listener) => {
      const ids = await interrupted();
      env = { ...env, MUSTER_CLIENT_URL: muster[listener] };
      const astray = await run('code', '--resume', at('codes.resume'));
      expect([astray.code, astray.stdout]).toEqual([4, '']);
      expect(astray.stderr).toContain(`Go on with: muster apps code --resume ${at('codes.resume')}\n`);
      expect(astray.stderr).not.toContain('no such apps');
      env = ownedBy(muster, owner.apiKey);
      expect((await run('code', '--resume', at('codes.resume'))).code).toBe(0);
      expect(savedCodes(at('codes')).map(({ appId }) => appId)).toEqual(ids);
    },
  );

  test('a day later the service may have forgotten its answers', async () => {
    await interrupted();
    const clock = { ...systemClock, now: () => systemClock.now() + 24 * 3_600_000 };
    const call = invocation(env, {}, { terminal: recordedTerminal(), clock });
    await expect(issueCodes(call, [], { resume: at('codes.resume') })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('issue those that the file of codes has not anew') as string,
    });
  });
});
