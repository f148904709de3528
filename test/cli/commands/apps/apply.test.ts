import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { samplesOf } from '../../../support/cli/document-samples.ts';
import { savedCodes } from '../../../support/cli/saved-codes.ts';
import { LossyProxy } from '../../../support/http/lossy-proxy.ts';
import { musterHere, musterProcess, ownedBy, type Ended } from '../../../support/service/muster-command.ts';
import { call, createApp, enroll, Muster, tenant, type Tenant } from '../../../support/service/muster.ts';
import { until } from '../../../support/time/until.ts';

/* `muster apps apply`: what an inventory has and the account has not is created; the rest is told, and left alone. */

let muster: Muster;
let root: string;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'muster-apply-'));
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
const file = (text: string): string => {
  writeFileSync(at('machines.csv'), text);
  return at('machines.csv');
};
const apply = (text: string, ...args: string[]): Promise<Ended> =>
  musterHere(['apps', 'apply', '--from', file(text), ...args], env);
const made = async (name: string): Promise<string> => (await createApp(muster, owner.apiKey, name)).appId;
const names = async (): Promise<string[]> => {
  const { body } = await call(`${muster.api}/v1/apps`, { token: owner.apiKey });
  return (body['apps'] as readonly { name: string }[]).map(({ name }) => name).toSorted();
};

test('creates what is missing, tells what is too much, and does nothing at a second run', async () => {
  const [kept, extra] = [await made('edge 1'), await made('edge 9')];
  const csv = 'site,name\r\nx,edge 1\r\ny,"edge, 2"\r\nz,edge 3\r\n';
  const first = await apply(csv, '--save-codes', at('codes'), '-o', 'id');
  expect([first.code, first.stderr]).toEqual([
    0,
    `${extra} "edge 9" (pending) is not in the file.\nThe codes are in ${at('codes')}.\n2 apps created.\n`,
  ]);
  const rows = savedCodes(at('codes'));
  expect(rows.map(({ name }) => name)).toEqual(['edge, 2', 'edge 3']);
  expect(first.stdout.trimEnd().split('\n')).toEqual(rows.map(({ appId }) => appId));
  expect(first.stdout).not.toContain(kept);
  expect([statSync(at('codes')).mode & 0o777, readdirSync(directory)]).toEqual([0o600, ['codes', 'machines.csv']]);
  for (const row of rows) expect(await enroll(muster, row)).toMatch(/^mst_dev_/);

  const before = readFileSync(at('codes'), 'utf8');
  const second = await apply(csv, '--save-codes', at('codes'), '-o', 'json');
  expect(second).toEqual({ code: 0, stdout: '[]\n', stderr: `${extra} "edge 9" (pending) is not in the file.\n` });
  expect((await apply(csv)).stderr).toMatch(/^No app is missing\.\n/);
  expect([readFileSync(at('codes'), 'utf8'), await names()]).toEqual([
    before,
    ['edge 1', 'edge 3', 'edge 9', 'edge, 2'],
  ]);
});

test('--dry-run lists both, and creates nothing', async () => {
  const [one, two, extra] = [await made('same'), await made('same'), await made('extra')];
  await made('there');
  const listed = await apply('there\nsame\nnew\n', '--dry-run', '-o', 'json');
  expect([listed.code, JSON.parse(listed.stdout)]).toEqual([
    0,
    [
      { action: 'create', name: 'new' },
      { action: 'same-name', name: 'same', appId: one, status: 'pending' },
      { action: 'same-name', name: 'same', appId: two, status: 'pending' },
      { action: 'surplus', name: 'extra', appId: extra, status: 'pending' },
    ],
  ]);
  expect(listed.stderr).toBe('2 names have an app, 1 apps would be created.\n');
  const table = await apply('there\nsame\nnew\n', '--dry-run');
  expect(table.stdout).toMatch(/^ACTION +NAME +APP +STATUS\ncreate +new +- +-\n/);
  expect((await apply('new\n', '--dry-run', '-o', 'id')).code).toBe(2);
  expect([await names(), readdirSync(directory)]).toEqual([['extra', 'same', 'same', 'there'], ['machines.csv']]);
});

test('several apps of a name stand for it: they are told, and none is created', async () => {
  const [one, two] = [await made('same'), await made('same')];
  const ended = await apply('same\n');
  expect([ended.code, ended.stderr]).toEqual([
    0,
    [
      'No app is missing.',
      ...[one, two].map((id) => `${id} "same" (pending) has a name that several apps have.`),
      '',
    ].join('\n'),
  ]);
  expect(await names()).toEqual(['same', 'same']);
});

test('a name is the same however its letters are composed, and a revoked app has its name', async () => {
  await made('Zoe\u0308');
  const revoked = await made('old');
  await musterHere(['apps', 'revoke', revoked], env);
  expect((await apply('Zo\u00eb\nold\n')).stderr).toBe('No app is missing.\n');
});

test('many that are too much: the first are told, and how many more there are', async () => {
  await Promise.all(Array.from({ length: 23 }, (_, index) => made(`edge ${index}`)));
  const { stderr } = await apply('edge 0\n');
  expect(stderr.split('\n').filter((line) => line.endsWith('is not in the file.'))).toHaveLength(20);
  expect(stderr).toContain('\n2 more are listed by --dry-run.\n');
  expect((await apply('edge 0\n', '--dry-run', '-o', 'csv')).stdout.split('\r\n')).toHaveLength(1 + 22 + 1);
});

describe('everything is judged before the first app is created', () => {
  test.each([
    ['name\nedge 1\nedge 2\nedge 1\n', [], /machines\.csv: line 4: the name is that of line 2\n/],
    ['edge 1\n\nedge 1\nedge 1\n', [], /line 3: the name is that of line 1\. line 4: the name is that of line 1\n/],
    ['Zoe\u0308\nZo\u00eb\n', [], /line 2: the name is that of line 1/],
    ['name\nedge 1\nRome, Italy\n', [], /line 3: it has 2 fields/],
    ['', [], /it must have 1 to 1000 names, and has 0/],
    ['edge 1\n', [], /1 apps are missing, and their codes go to a file: name a new one with --save-codes/],
  ])('%j', async (text, args, words) => {
    const ended = await apply(text, ...args);
    expect(ended).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(words) as string });
    expect([await names(), readdirSync(directory)]).toEqual([[], ['machines.csv']]);
  });

  test('a file of codes that is there, where something is missing', async () => {
    writeFileSync(at('codes'), 'mine');
    const ended = await apply('edge 1\n', '--save-codes', at('codes'));
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringMatching(/is there already: .* overwritten\.\n$/)]);
    expect([await names(), readFileSync(at('codes'), 'utf8')]).toEqual([[], 'mine']);
  });

  test('more than the account can have', async () => {
    const extra = await made('extra');
    const full = Array.from({ length: 1000 }, (_, index) => `edge ${index}`).join('\n');
    const ended = await apply(full, '--save-codes', at('codes'));
    expect([ended.code, ended.stderr]).toEqual([
      2,
      'muster: 1000 apps are missing, and the account has 1 of at most 1000: nothing is created.\n',
    ]);
    const listed = await apply(full, '--dry-run', '-o', 'csv');
    expect([listed.code, listed.stderr]).toEqual([ended.code, ended.stderr]);
    const rows = listed.stdout.split('\r\n');
    expect([rows.length, rows[1], rows.at(-2)]).toEqual([
      1 + 1001 + 1,
      '"create","edge 0","",""',
      `"surplus","extra","${extra}","pending"`,
    ]);
    expect(await names()).toEqual(['extra']);
  });
});

test('another run with another file before --resume: no app is there twice, and each pending one has its code', async () => {
  await using proxy = await LossyProxy.before(muster.api);
  // Of four, the first is answered, the second is carried out and its answer is lost, and the others are refused.
  proxy.fate = ({ headers }) => {
    const key = String(headers['idempotency-key']);
    if (!/-[234]$/.test(key)) return 'through';
    return key.endsWith('-2') && !proxy.seen.some(({ fate }) => fate === 'lost') ? 'lost' : 502;
  };
  // Longer than a call may take: the client gives up at once.
  proxy.retryAfterSeconds = 61;
  const text = 'edge 1\nedge 2\nedge 3\nedge 4\n';
  const first = { ...env, MUSTER_CLIENT_URL: proxy.url };
  const args = ['apps', 'apply', '--from', file(text)];
  expect((await musterHere([...args, '--save-codes', at('codes')], first)).code).toBe(1);
  expect((await apply(text, '--save-codes', at('others'))).code).toBe(0);
  const others = savedCodes(at('others'));
  expect(others.map(({ name }) => name)).toEqual(['edge 3', 'edge 4']);
  for (const row of others.slice(0, 1)) await enroll(muster, row);

  expect((await musterHere(['apps', 'create', '--resume', at('codes.resume')], env)).code).toBe(0);
  expect(await names()).toEqual(['edge 1', 'edge 2', 'edge 3', 'edge 4']);
  const rows = savedCodes(at('codes'));
  expect(rows.map(({ name }) => name).toSorted()).toEqual(['edge 1', 'edge 2', 'edge 4']);
  for (const row of rows) expect(await enroll(muster, row)).toMatch(/^mst_dev_/);
  expect(readdirSync(directory).toSorted()).toEqual(['codes', 'machines.csv', 'others']);
});

test('killed in the midst of it: the same command says how to go on, and --resume creates no app twice', async () => {
  await using proxy = await LossyProxy.before(muster.api);
  // Those that hang are carried out, and the command never learns of it.
  proxy.fate = () => (proxy.seen.length < 8 ? 'through' : 'hung');
  let carriedOut = 0;
  proxy.hung = () => (carriedOut += 1);
  env = { ...env, MUSTER_CLIENT_URL: proxy.url };
  const text = `${Array.from({ length: 30 }, (_, index) => `edge ${index}`).join('\n')}\n`;
  const args = ['apps', 'apply', '--from', file(text), '--save-codes', at('codes')];
  const { child, ended } = musterProcess(args, env);
  await until(() => carriedOut === 16);
  child.kill('SIGKILL');
  await ended;
  proxy.fate = undefined;
  const again = await musterHere(args, env);
  const goOn = `left ${at('codes.resume')} beside it. Go on with: muster apps create --resume ${at('codes.resume')}\n`;
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining(goOn)]);
  expect((await musterHere(['apps', 'create', '--resume', at('codes.resume')], env)).code).toBe(0);
  expect(await names()).toHaveLength(30);
  expect(savedCodes(at('codes'))).toHaveLength(30);
  expect((await musterHere(args, env)).stderr).toBe('No app is missing.\n');
});

test('as the document shows it', async () => {
  file('name\nedge 1\nedge 2\n');
  const samples = samplesOf('apps apply');
  expect(samples).toHaveLength(2);
  for (const sample of samples) {
    const words = sample.map((word) => (word.endsWith('.csv') ? at(word) : word));
    expect(await musterHere(words, env)).toMatchObject({ code: 0 });
  }
  expect(savedCodes(at('codes.csv')).map(({ name }) => name)).toEqual(['edge 1', 'edge 2']);
});
