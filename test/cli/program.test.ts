import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { money } from '../../src/domain/metering/amount.ts';
import { printable } from '../../src/cli/terminal/printable.ts';
import { COMPILED } from '../support/service/compiled.ts';
import type { Store } from '../../src/store/port.ts';
import { earlierAccount } from '../support/records/earlier-account.ts';
import { connectedTo, musterCommand, musterHere, type Ended } from '../support/service/muster-command.ts';
import { createApp, Muster, OPERATOR_TOKEN, tenant, type Tenant } from '../support/service/muster.ts';

let muster: Muster;
let owner: Tenant;
beforeAll(async () => {
  let store: Store | undefined;
  muster = await Muster.start({ wrapStore: (opened) => (store = opened) });
  owner = await tenant(muster);
  await createApp(muster, owner.apiKey);
  if (store) await earlierAccount(muster, store, '\u001b[31mred');
});
afterAll(() => muster[Symbol.asyncDispose]());

const run = (...args: string[]): Promise<Ended> => musterHere(args, connectedTo(muster));
const USAGE_TITLES = '"month","accountId","name","day","activeDaemons","late","price","currency","amount","final"\r\n';

test('a process writes data to stdout and messages to stderr, and its exit code says which of them count', async () => {
  expect(await musterCommand(['usage', '-o', 'csv'], connectedTo(muster))).toEqual({
    code: 0,
    stdout: USAGE_TITLES,
    stderr: '',
  });
  const stderr = expect.stringMatching(/unknown command/) as string;
  expect(await musterCommand(['nonsense'])).toEqual({ code: 2, stdout: '', stderr });
  const refused = await musterCommand(['audit', 'list', '--account', '0'.repeat(16)], connectedTo(muster));
  expect(refused).toEqual({
    code: 4,
    stdout: '',
    stderr: expect.stringMatching(/No account has the id or the name 0{16}/) as string,
  });
});

describe('usage', () => {
  test('a table has a line for each account and the total; names move no terminal', async () => {
    const { code, stdout } = await run('usage');
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^ACCOUNT +NAME +NIGHTS +LATE +DAEMON-NIGHTS +EUR$/);
    expect(lines).toHaveLength(4);
    expect(lines.at(-1)).toMatch(/^total +- +- +- +0 +0\.00$/);
    expect(stdout).not.toContain('\u001b');
  });

  test('JSON and csv, for one account and for a month', async () => {
    const json = await run('usage', '-o', 'json', '-a', owner.accountId, '-m', '2026-01');
    expect(JSON.parse(json.stdout)).toMatchObject({ month: '2026-01', accounts: [{ accountId: owner.accountId }] });
    const csv = await run('usage', '--output', 'csv');
    expect(csv).toMatchObject({ code: 0, stdout: USAGE_TITLES });
  });
});

describe('audit', () => {
  test('is listed oldest first, for people and as one object a line', async () => {
    const { code, stdout } = await run('audit', 'list', '--account', owner.accountId);
    expect(code).toBe(0);
    const actions = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/)[2]);
    expect(actions).toEqual(expect.arrayContaining(['account.created', 'app.created']));
    const jsonl = await run('audit', 'list', '--account', owner.accountId, '-o', 'jsonl');
    const entries = jsonl.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { action: string });
    expect(entries.map(({ action }) => action)).toEqual(actions);
    const json = await run('audit', 'list', '--account', owner.accountId, '-o', 'json');
    expect(JSON.parse(json.stdout)).toEqual(entries);
  });

  test('verifies, all accounts or one', async () => {
    const all = await run('audit', 'verify');
    expect(all.code).toBe(0);
    const lines = all.stdout.trimEnd().split('\n');
    expect([lines.length, lines.at(-1)]).toEqual([4, expect.stringMatching(/^operator .* ok$/)]);
    const one = await run('audit', 'verify', '--account', owner.accountId, '-o', 'json');
    expect(JSON.parse(one.stdout)).toMatchObject([{ accountId: owner.accountId, faultCount: 0 }]);
  });
});

test('what the operator does with no single account has an audit of its own', async () => {
  expect((await musterCommand(['backup', 'create', '-'], connectedTo(muster))).code).toBe(0);
  const listed = await run('audit', 'list', '--account', 'operator', '-o', 'jsonl');
  const lines = listed.stdout.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({
      actor: 'operator',
      action: 'backup.begun',
      detail: { revision: expect.any(Number) as number, keyNumber: 1 },
    }),
  );
  const verified = await run('audit', 'verify', '--account', 'operator', '-o', 'json');
  expect(JSON.parse(verified.stdout)).toMatchObject([{ accountId: 'operator', faultCount: 0 }]);
});

test('keys: which is active, and that there is nothing to rotate to', async () => {
  const status = await run('keys', 'status');
  expect([status.code, status.stdout]).toEqual([0, expect.stringMatching(/^ *1 +\d+ +0 +1 of 1 +active$/m)]);
  const rotated = await run('keys', 'rotate');
  expect([rotated.code, rotated.stdout, rotated.stderr]).toEqual([
    1,
    '',
    expect.stringMatching(/Key 1 is active already: add a line/),
  ]);
});

describe('wrong usage: exit code 2, in words, before anything is asked', () => {
  test.each([
    [['backup', 'create'], /missing required argument 'file'/],
    [['usage', '--month', '2026-13'], /It is written YYYY-MM/],
    [['usage', '--token', 'hunter2'], /unknown option '--token'/],
    [['usage', '-o', 'xml'], /Allowed choices are table, json, jsonl, csv, id/],
    [['backup', 'verify'], /missing required argument 'file'/],
    [['api-keys', 'list'], /required option '-a, --account <account>' not specified/],
    [['audit', 'list', '--since', 'yesterday'], /It is a duration with its unit, such as 90s/],
    [['limits', '--top', '21'], /It is a whole number of accounts from 1 to 20/],
    [['rollout', 'list', '--top', '0'], /It is a whole number of accounts from 1 to 20/],
    [['rollout', 'list', '--by', 'applied'], /Allowed choices are failing, failed, pending, stale/],
  ])('muster %j', async (args, words) => {
    const { code, stdout, stderr } = await musterHere(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(words);
  });

  test.each([
    ['without a token', {}, /MUSTER_CLIENT_OPERATOR_TOKEN or MUSTER_CLIENT_OPERATOR_TOKEN_FILE: set one/],
    [
      'with a token that is none',
      { MUSTER_CLIENT_OPERATOR_TOKEN: 'hunter2' },
      /MUSTER_CLIENT_OPERATOR_TOKEN: .*at least 32/,
    ],
    ['with a URL that is none', { MUSTER_CLIENT_OPS_URL: 'hunter2' }, /MUSTER_CLIENT_OPS_URL: must be http/],
    [
      'with a secret in the URL',
      { MUSTER_CLIENT_OPS_URL: 'http://x:hunter2@127.0.0.1' },
      /MUSTER_CLIENT_OPS_URL: must be http/,
    ],
  ])('%s', async (_what, env, words) => {
    const { code, stdout, stderr } = await musterHere(['usage'], { MUSTER_DATA_DIR: '/nowhere', ...env });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(words);
    expect(stderr).not.toContain('hunter2');
  });
});

test('a refusal of the service: an exit code that tells it, and its words; a wrong token says what to set', async () => {
  const unknown = await run('audit', 'list', '--account', '0'.repeat(16));
  expect([unknown.code, unknown.stderr]).toEqual([4, 'muster: No account has the id or the name 0000000000000000.\n']);
  const token = 'another-operator-token-0123456789-abc';
  const wrong = await musterHere(['usage'], { MUSTER_CLIENT_OPS_URL: muster.ops, MUSTER_CLIENT_OPERATOR_TOKEN: token });
  expect([wrong.code, wrong.stderr]).toEqual([
    5,
    expect.stringMatching(
      /does not take the operator token: replace it where it is from, MUSTER_CLIENT_OPERATOR_TOKEN\. \(request \S+\)\n$/,
    ),
  ]);
  expect(wrong.stderr).not.toContain(token);
});

test('help and version go to stdout with exit code 0', async () => {
  const help = await musterHere(['--help']);
  expect([help.code, help.stderr]).toEqual([0, '']);
  for (const name of ['serve', 'backup', 'restore', 'usage', 'audit', 'keys', 'doctor', 'Exit codes:']) {
    expect(help.stdout).toContain(name);
  }
  expect(await musterHere(['--version'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+/) as string,
  });
});

const launcher = join(import.meta.dirname, '../../bin/muster.mjs');

test('the launcher that npm links runs the same command, and passes its exit code on', () => {
  const runs = (...args: string[]): [number | null, string] => {
    const { status, stdout } = spawnSync(process.execPath, [launcher, ...args], {
      encoding: 'utf8',
      env: { ...COMPILED },
    });
    return [status, stdout];
  };
  expect(runs('--version')).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+/)]);
  expect(runs('nonsense')).toEqual([2, '']);
});

test('SIGUSR1 opens no inspector in a command: it has the operator token', async () => {
  let looks = 0;
  const server = createServer(({ method }, response) => {
    if (method === 'GET') looks += 1;
    // A second passes before the next look.
    if (looks === 1) child.kill('SIGUSR1');
    const sealedUnder = looks === 1 ? { 1: 1 } : {};
    response.end(JSON.stringify({ writing: 2, before: 1, known: [2], removable: [], countedAll: true, sealedUnder }));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const child = spawn(process.execPath, [launcher, 'keys', 'rotate'], {
    env: {
      ...COMPILED,
      MUSTER_CLIENT_OPS_URL: `http://127.0.0.1:${port}`,
      MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [said, ended] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect([ended, said]).toEqual([[0, null], expect.stringContaining('Nothing is sealed under an older key')]);
  expect(said).not.toContain('Debugger');
});

test('serve is configured as the service is', async () => {
  const { code, stderr } = await musterHere(['serve'], { MUSTER_LOG_LEVEL: 'hunter2' });
  expect([code, stderr]).toEqual([2, expect.stringMatching(/configuration is wrong\.\nMUSTER_LOG_LEVEL: must be/)]);
});

test.each([
  [0, 'EUR', '0.00'],
  [5, 'EUR', '0.05'],
  [123_456, 'EUR', '1234.56'],
  [123_456, 'JPY', '123456'],
  [1234, 'KWD', '1.234'],
])('%d minor units of %s are %s', (minor, currency, text) => {
  expect(money(minor, currency)).toBe(text);
});

test.each([
  ['\u001b[31mred', '\\x1b[31mred', 'a colour'],
  ['\u009b2J', '\\x9b2J', 'a control of Latin 1'],
  ['a\u007fb\u0000', 'a\\x7fb\\x00', 'a deletion, and NUL'],
  ['a\u202eb\u2066c', 'a\\u202eb\\u2066c', 'what turns the direction of a line'],
  ['a\nb\r\u2028c', 'a\\x0ab\\x0d\\u2028c', 'ends of lines'],
  ['\u{e0041}', '\\u{e0041}', 'an invisible tag'],
  ['\ud800x', '\\ud800x', 'half a character'],
  ['Zoë, 中文 👩 "\\"', 'Zoë, 中文 👩 "\\"', 'what is visible stays'],
])('%j is printed as %j (%s)', (text, shown) => {
  expect(printable(text)).toBe(shown);
});

test('the words of an error reach the terminal on one line, without what a terminal obeys', async () => {
  const hostile = createServer((_request, response) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        error: { code: 'invalid_request', message: 'no\u001b]0;owned\u0007\nmuster: all is well\u202e' },
      }),
    );
  });
  await once(hostile.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
  const { stderr } = await musterHere(['usage'], { ...connectedTo(muster), MUSTER_CLIENT_OPS_URL: url });
  hostile.close();
  expect(stderr).toMatch(/^muster: no ]0;owned {2}muster: all is well\\u202e \(request \S+\)\n$/);
});
