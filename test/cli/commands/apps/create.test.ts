import { execFile, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createApps } from '../../../../src/cli/commands/apps/create.ts';
import { lockBeside } from '../../../../src/cli/commands/apps/resume-lock.ts';
import { invocation } from '../../../../src/cli/terminal/invocation.ts';
import { systemClock } from '../../../../src/time/clock.ts';
import { failingCreate } from '../../../support/cli/failing-create.ts';
import { recordedTerminal } from '../../../support/cli/recorded-terminal.ts';
import { savedCodes, type SavedCode } from '../../../support/cli/saved-codes.ts';
import { LossyProxy } from '../../../support/http/lossy-proxy.ts';
import { freePorts } from '../../../support/service/free-ports.ts';
import { MAIN, musterHere, musterProcess, ownedBy, type Ended } from '../../../support/service/muster-command.ts';
import { call, enroll, Muster, OPERATOR_TOKEN, tenant, type Tenant } from '../../../support/service/muster.ts';
import { until } from '../../../support/time/until.ts';

let muster: Muster;
let root: string;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'muster-apps-'));
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
const file = (name: string, text: string): string => {
  writeFileSync(at(name), text);
  return at(name);
};
const run = (...args: string[]): Promise<Ended> => musterHere(['apps', ...args], env);
const modeOf = (path: string): number => statSync(path).mode & 0o777;

interface Listed {
  readonly appId: string;
  readonly name: string;
}
async function listed(): Promise<readonly Listed[]> {
  const { body } = await call(`${muster.api}/v1/apps`, { token: owner.apiKey });
  return body['apps'] as readonly Listed[];
}
const names = async (): Promise<string[]> => (await listed()).map(({ name }) => name).toSorted();

/** Where nothing listens. */
async function nowhere(): Promise<string> {
  const [port = 0] = await freePorts(1);
  return `http://127.0.0.1:${port}`;
}

describe('one app', () => {
  test('its code is shown once, and enrolls a daemon', async () => {
    const { code, stdout, stderr } = await run('create', '--name', 'edge 1', '-o', 'json');
    expect([code, stderr]).toEqual([0, '']);
    const created = JSON.parse(stdout) as { appId: string; enrollCode: string };
    expect(created).toMatchObject({ name: 'edge 1', status: 'pending' });
    expect(await enroll(muster, created)).toMatch(/^mst_dev_/);
    const table = await run('create');
    expect(table.stdout).toMatch(/^APP +[a-z0-9]{20}\nNAME +-\nSTATUS +pending\nCODE +mst_code_\w+\nCODE EXPIRES +\d/);
    expect(await names()).toEqual(['', 'edge 1']);
  });

  test('--save-codes writes it to a new file for its owner alone, and prints none', async () => {
    const { code, stdout, stderr } = await run('create', '--name', 'edge', '--save-codes', at('code'), '-o', 'id');
    expect([code, stderr]).toEqual([0, `The code is in ${at('code')}.\n`]);
    expect(modeOf(at('code'))).toBe(0o600);
    const enrollCode = readFileSync(at('code'), 'utf8').trimEnd();
    expect(stdout).toBe(`${(await listed())[0]?.appId ?? ''}\n`);
    expect(await enroll(muster, { appId: stdout.trim(), enrollCode })).toMatch(/^mst_dev_/);
    const json = await run('create', '--save-codes', at('other'), '-o', 'json');
    expect(json.stdout).not.toContain('mst_code_');
  });

  test('code issues a further one, to stdout or to a file', async () => {
    const { stdout: id } = await run('create', '--save-codes', at('code'), '-o', 'id');
    const appId = id.trim();
    const issued = await run('code', appId, '-o', 'json');
    expect(JSON.parse(issued.stdout)).toMatchObject({
      appId,
      enrollCode: expect.stringMatching(/^mst_code_/) as string,
    });
    const kept = await run('code', appId, '--save-code', at('second'));
    expect([kept.code, kept.stdout.includes('mst_code_'), modeOf(at('second'))]).toEqual([0, false, 0o600]);
    const enrollCode = readFileSync(at('second'), 'utf8').trimEnd();
    expect(await enroll(muster, { appId, enrollCode })).toMatch(/^mst_dev_/);
    expect(await run('code', '0'.repeat(20))).toMatchObject({ code: 4, stdout: '' });
  });

  test('where nothing is created, no file stays', async () => {
    const long = await run('create', '--name', 'a'.repeat(101), '--save-codes', at('code'));
    expect([long.code, long.stderr]).toEqual([1, expect.stringMatching(/at most 100 characters.* \(request [\w-]+\)/)]);
    env = { ...env, MUSTER_CLIENT_API_KEY: `${owner.apiKey.slice(0, -1)}${owner.apiKey.endsWith('0') ? '1' : '0'}` };
    expect(await run('create', '--save-codes', at('code'))).toMatchObject({ code: 2, stdout: '' });
    expect(readdirSync(directory)).toEqual([]);
    expect(await names()).toEqual([]);
  });

  test('a key that was revoked ends with 5, and a service that is not there with 1', async () => {
    const other = await tenant(muster);
    const key = `${muster.ops}/operator/v1/accounts/${other.accountId}/api-keys/${other.keyId}`;
    await call(key, { method: 'DELETE', token: OPERATOR_TOKEN });
    env = ownedBy(muster, other.apiKey);
    const refused = await run('create', '--save-codes', at('code'));
    expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('(request ')]);
    env = { ...env, MUSTER_CLIENT_URL: await nowhere() };
    const unreached = await run('create', '--save-codes', at('code'));
    expect([unreached.code, unreached.stderr]).toEqual([1, expect.stringContaining('which is from MUSTER_CLIENT_URL')]);
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe('a create of one app that nobody knows the end of', () => {
  const keyIn = (words: string): string => / --idempotency-key (\S+),/.exec(words)?.[1] ?? 'none';

  test('the error tells the key, and the same command with it finds the app, its code included', async () => {
    await using proxy = await LossyProxy.before(muster.api);
    proxy.fate = () => 'lost';
    env = { ...env, MUSTER_CLIENT_URL: proxy.url };
    const args = ['create', '--name', 'edge', '--save-codes', at('code'), '-o', 'id'];
    const lost = await run(...args, '--timeout', '1s');
    expect([lost.code, lost.stdout, readdirSync(directory)]).toEqual([1, '', []]);
    expect(lost.stderr).toMatch(
      / The app may be there all the same: repeat the command with --idempotency-key muster-/,
    );
    proxy.fate = undefined;
    const again = await run(...args, '--idempotency-key', keyIn(lost.stderr));
    expect([again.code, again.stdout]).toEqual([0, `${(await listed())[0]?.appId ?? ''}\n`]);
    expect(await names()).toEqual(['edge']);
    const enrollCode = readFileSync(at('code'), 'utf8').trimEnd();
    expect(await enroll(muster, { appId: again.stdout.trim(), enrollCode })).toMatch(/^mst_dev_/);
  });

  test('a key of one’s own is told again; a refusal tells none', async () => {
    await using proxy = await LossyProxy.before(muster.api);
    proxy.fate = () => 'lost';
    env = { ...env, MUSTER_CLIENT_URL: proxy.url };
    const lost = await run('create', '--timeout', '1s', '--idempotency-key', 'my-own-1');
    expect(keyIn(lost.stderr)).toBe('my-own-1');
    // Another proxy: the last attempt of the command that gave up may still be on its way to the first one.
    await using refusing = await LossyProxy.before(muster.api);
    refusing.fate = () => 429;
    refusing.retryAfterSeconds = 61;
    env = { ...env, MUSTER_CLIENT_URL: refusing.url };
    const refused = await run('create');
    expect([refused.code, refused.stderr]).toEqual([1, expect.not.stringContaining('may be there')]);
    expect(refusing.count(429)).toBe(1);
    refusing.fate = undefined;
    await run('create', '--idempotency-key', 'my-own-1');
    expect(await names()).toEqual(['']);
    const code = ['code', (await listed())[0]?.appId ?? '', '--idempotency-key', 'my-own-2', '-o', 'json'];
    const codes = [await run(...code), await run(...code)].map(
      ({ stdout }) => (JSON.parse(stdout) as SavedCode).enrollCode,
    );
    expect(codes[0]).toBe(codes[1]);
  });

  test.each([
    ['create', '--save-codes', /^muster: interrupted\. The app may be there all the same: /],
    ['code', '--save-code', /^muster: interrupted\. The code may be there all the same: /],
  ])('SIGINT leaves no file: apps %s', async (command, option, words) => {
    const { stdout } =
      command === 'code' ? await run('create', '--save-codes', at('first'), '-o', 'id') : { stdout: '' };
    await using proxy = await LossyProxy.before(muster.api);
    proxy.fate = () => 'hung';
    env = { ...env, MUSTER_CLIENT_URL: proxy.url };
    const args = ['apps', command, ...stdout.split('\n').filter(Boolean), option, at('code')];
    const { child, ended } = musterProcess(args, env);
    await until(() => proxy.count('hung') > 0);
    expect(readdirSync(directory)).toContain('code');
    child.kill('SIGINT');
    const interrupted = await ended;
    expect(interrupted).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(words) as string });
    expect(readdirSync(directory)).not.toContain('code');
    proxy.fate = undefined;
    expect((await run(...args.slice(1), '--idempotency-key', keyIn(interrupted.stderr))).code).toBe(0);
    expect(await listed()).toHaveLength(1);
  });

  test('where its code cannot be saved, its id is told, and no file stays', async () => {
    const limited = (...args: string[]): Promise<Ended> => {
      // No file takes a byte; what would kill the process for that is ignored.
      const script = `trap '' XFSZ; ulimit -f 0; exec "$@"`;
      const words = ['-c', script, 'sh', process.execPath, MAIN, 'apps', ...args];
      return new Promise((resolve) => {
        const child = execFile('sh', words, { env }, (_error, stdout, stderr) =>
          resolve({ code: child.exitCode, stdout, stderr }),
        );
      });
    };
    const unsaved = await limited('create', '--name', 'edge', '--save-codes', at('code'));
    const [{ appId } = { appId: '' }] = await listed();
    expect(unsaved).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `muster: The app ${appId} was created, and its code could not be saved: \`muster apps code ${appId}\` issues ` +
        `another one. ${at('code')}: it is larger than a file may be here\n`,
    });
    const second = await limited('code', appId, '--save-code', at('code'));
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('issue another one')]);
    expect(readdirSync(directory)).toEqual([]);
    expect((await run('code', appId, '--save-code', at('code'))).code).toBe(0);
  });
});

describe('wrong usage: exit code 2, and nothing is created', () => {
  test.each([
    [['create', '-o', 'id'], /-o id leaves the code out: save it with --save-codes/],
    [['code', '0'.repeat(20), '-o', 'id'], /-o id leaves the code out: save it with --save-code,/],
    [['create', '--name', 'a', '--count', '2', '--prefix', 'b'], /Give only one of --name and --count/],
    [['create', '--count', '2', '--save-codes', 'c'], /--count and --prefix belong together/],
    [['create', '--prefix', 'a', '--save-codes', 'c'], /--count and --prefix belong together/],
    [['create', '--count', '2', '--prefix', 'a'], /name a new one with --save-codes/],
    [['create', '--count', '1001', '--prefix', 'a', '--save-codes', 'c'], /from 1 to 1000/],
    [['create', '--count', '0', '--prefix', 'a', '--save-codes', 'c'], /from 1 to 1000/],
    [
      ['create', '--count', '12', '--prefix', 'a'.repeat(99), '--save-codes', 'c'],
      /^muster: --prefix: .* 101 characters/,
    ],
    [['create', '--count', '2', '--prefix', 'a\t', '--save-codes', 'c'], /^muster: --prefix: .* U\+0009/],
    [['create', '--resume', 'r', '--save-codes', 'c'], /leave --save-codes out/],
    [['create', '--from', '/nowhere/names', '--save-codes', 'c'], /^muster: \/nowhere\/names: no such file/],
    [['create', '--resume', '/nowhere/resume'], /^muster: \/nowhere\/resume: no such file/],
    [['create', '--from', '/dev/zero', '--save-codes', 'c'], /at most 1048576 bytes/],
    [['create', '--idempotency-key', 'k', '--resume', 'r'], /--idempotency-key is for one app/],
    [['create', '--idempotency-key', 'k', '--from', 'f', '--save-codes', 'c'], /--idempotency-key is for one app/],
    [['create', '--idempotency-key', 'ä'], /1 to 255 printable ASCII characters/],
  ])('muster apps %j', async (args, words) => {
    expect(await run(...args)).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(words) as string });
    expect(await names()).toEqual([]);
  });

  test.each([
    ['', /it must have 1 to 1000 names, and has 0/],
    ['a\n'.repeat(1001), /it must have 1 to 1000 names, and has 1001/],
    ['name\n', /it must have 1 to 1000 names, and has 0/],
    ['site,name\nx,a\ny,\n', /: line 3: it has no name\n/],
    ['site,name\rx,a\ry,""\r', /: line 3: it has no name\n/],
    ['name\n"  "\n', /: line 2: it has no name\n/],
    [
      'name\nParis\nRome, Italy\n',
      /: line 3: it has 2 fields, and the titles are 1: a text with a comma stands in quotation marks, as in "Rome, Italy"\n/,
    ],
    ['site,name\r\nx,a\r\ny\r\n', /: line 3: it has 1 field, and the titles are 2\n/],
    ['\nname,Name\na,b\n', /: line 2: two columns have the title name\n/],
    [`name\na\n${'b'.repeat(101)}\n`, /: line 3: the name has 101 characters, and at most 100 are taken\n/],
    [`a\n\n${'😀'.repeat(101)}\n`, /: line 3: the name has 101 characters/],
    ['a\nb\0c\n', /: line 2: the name has the character U\+0000, which nobody sees\n/],
    ['a\rb\u0085c\r', /: line 2: the name has the character U\+0085/],
    ['name\r\n"a\r\nb"\r\n', /: line 2: the name has the character U\+000D/],
    ['a\u2028b\n', /: line 1: the name has the character U\+2028/],
    ['name\na,b\n\nc\n\u0007\n', /: line 2: it has 2 fields,.* line 5: the name has the character U\+0007/],
    [`name\n${',\n'.repeat(8)}`, /(?: line \d: it has 2 fields[^.]*\.){5} 3 further lines are wrong\n/],
    ['name,site\n"a\n', /line 2: a quotation mark is in a wrong place/],
    ['edge\n"Rome"\n', /: line 2: quotation marks belong to a CSV, whose first row has the title name\n/],
    ['"Rome, Italy"\n"Paris, France"\n', /: line 1: quotation marks belong to a CSV.*line 2: quotation marks/],
    ['name;site\na;b\n', /columns must be separated by commas/],
    ['Name;site\na;b\n', /columns must be separated by commas/],
    ['name\tsite\na\tb\n', /columns must be separated by commas/],
    ['site,city\nx,"Bonn, am Rhein"\n', /it has the columns site, city, and none of them is name/],
    ['site;city;id\r\nx;Bonn;1\r\n', /it has the columns site, city, id, and none of them is name/],
    ['site\tcity\nx\tBonn\n', /it has the columns site, city, and none of them is name/],
    [`${'long'.repeat(99)},b${',c'.repeat(20)}\n`, /columns (?:long){10}, b, c, c, c, c, c, c, c, c …, and none/],
  ])('a file of names that is %j', async (text, words) => {
    const refused = await run('create', '--from', file('names', text), '--save-codes', at('codes'));
    expect(refused).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(words) as string });
    expect(readdirSync(directory)).toEqual(['names']);
    expect(await names()).toEqual([]);
  });

  test('a file of names that is no text', async () => {
    writeFileSync(at('names'), Buffer.from([0x61, 0xff, 0x0a]));
    const refused = await run('create', '--from', at('names'), '--save-codes', at('codes'));
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('it must be text in UTF-8')]);
  });

  test('files that are there are not touched', async () => {
    file('codes', 'mine');
    const many = await run('create', '--count', '2', '--prefix', 'a', '--save-codes', at('codes'));
    expect([many.code, many.stderr]).toEqual([2, expect.stringContaining('is there already')]);
    expect((await run('create', '--save-codes', at('codes'))).code).toBe(2);
    file('new.resume', 'mine');
    expect((await run('create', '--count', '2', '--prefix', 'a', '--save-codes', at('new'))).code).toBe(2);
    expect([readFileSync(at('codes'), 'utf8'), readFileSync(at('new.resume'), 'utf8')]).toEqual(['mine', 'mine']);
    expect(readdirSync(directory)).toEqual(['codes', 'new.resume']);
    expect(await names()).toEqual([]);
  });
});

describe('many apps', () => {
  test('by number: all codes are in the file, and nothing else stays', async () => {
    const created = await run(
      'create',
      '--count',
      '12',
      '--prefix',
      'edge-',
      '--save-codes',
      at('codes'),
      '-o',
      'json',
    );
    expect([created.code, created.stderr]).toEqual([0, `The codes are in ${at('codes')}.\n12 apps created.\n`]);
    const rows = savedCodes(at('codes'));
    const expected = Array.from({ length: 12 }, (_, index) => `edge-${String(index + 1).padStart(2, '0')}`);
    expect(rows.map(({ name }) => name)).toEqual(expected);
    expect(await names()).toEqual(expected);
    const printed = JSON.parse(created.stdout) as Listed[];
    expect(printed.map(({ appId }) => appId)).toEqual(rows.map(({ appId }) => appId));
    expect(created.stdout).not.toContain('mst_code_');
    expect([modeOf(at('codes')), readdirSync(directory)]).toEqual([0o600, ['codes']]);
    for (const app of rows) expect(await enroll(muster, app)).toMatch(/^mst_dev_/);
  });

  test.each([
    ['a CSV', '\uFEFFsite,name\r\nx,"edge, 1"\r\ny,"say ""hi"""\r\nz,edge\r\n', ['edge', 'edge, 1', 'say "hi"']],
    ['a title in capitals', 'Site, Name\nBerlin,edge 1\n', ['edge 1']],
    ['one name a line', 'edge, 1\n\n  edge 2 \r\nedge 2\n', ['edge 2', 'edge 2', 'edge, 1']],
    ['lines that end with CR alone', 'a\rb\r\rc', ['a', 'b', 'c']],
    ['a CSV whose lines end with CR alone', 'name,site\ra,x\r"b, c",y', ['a', 'b, c']],
    ['a CSV with blank lines', '\r\nname\r\n\r\na\r\n  \r\nb\r\n', ['a', 'b']],
    ['the longest names', `name\n${'😀'.repeat(100)}\n`, ['😀'.repeat(100)]],
    ['names with other numbers of commas', 'a, b\nc, d, e\n', ['a, b', 'c, d, e']],
    ['names with quotation marks within', 'say "hi", a\n24"\n', ['24"', 'say "hi", a']],
  ])('of %s', async (_what, text, expected) => {
    const created = await run('create', '--from', file('names', text), '--save-codes', at('codes'), '--quiet');
    expect([created.code, created.stderr]).toEqual([0, '']);
    expect(await names()).toEqual(expected);
  });

  test('of stdin', async () => {
    const { child, ended } = musterProcess(['apps', 'create', '--from', '-', '--save-codes', at('codes')], env, {
      stdin: 'a\nb\n',
    });
    expect(child.pid).toBeGreaterThan(0);
    expect((await ended).code).toBe(0);
    expect(await names()).toEqual(['a', 'b']);
  });

  /** From here on every create of the third app fails, whichever command tries it. @returns the address to use */
  async function thirdFails(): Promise<string> {
    const proxy = await failingCreate(muster.api, 3);
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    env = { ...env, MUSTER_CLIENT_URL: proxy.url };
    return proxy.url;
  }

  test('what fails is told in a table, the others are created, and --resume tries it again', async () => {
    await thirdFails();
    const created = await run('create', '--from', file('names', 'a\nb\nc\n'), '--save-codes', at('codes'), '-o', 'id');
    expect(created.code).toBe(1);
    expect(created.stderr).toMatch(/^FAILED +WHY\nc +\S.* \(request .*\)\n/m);
    expect(created.stderr).toContain(`Go on with: muster apps create --resume ${at('codes.resume')}\n`);
    expect(created.stderr).toContain('2 of 3 apps created; 1 failed.');
    expect(await names()).toEqual(['a', 'b']);
    expect(created.stdout.trim().split('\n')).toEqual(savedCodes(at('codes')).map(({ appId }) => appId));
    expect(modeOf(at('codes.resume'))).toBe(0o600);
    expect((await run('create', '--resume', at('codes.resume'))).code).toBe(1);
    expect(await names()).toEqual(['a', 'b']);
  });

  test('names that the service refuses each time keep no resume file, which would never end', async () => {
    await interrupted();
    const plan = readFileSync(at('codes.resume'), 'utf8');
    writeFileSync(at('codes.resume'), plan.replace('"c"', `"${'c'.repeat(101)}"`));
    env = ownedBy(muster, owner.apiKey);
    const resumed = await run('create', '--resume', at('codes.resume'));
    expect(resumed.code).toBe(1);
    expect(resumed.stderr).toMatch(/^FAILED +WHY\nc{101} +name: must have at most 100 characters \(request .*\)\n/m);
    expect(resumed.stderr).toContain('The service refuses what failed each time: correct it, and create it anew.\n');
    expect(resumed.stderr).not.toContain('Go on with');
    expect(readdirSync(directory).toSorted()).toEqual(['codes', 'names']);
    expect(await names()).toEqual(['a', 'b']);
  });

  /**
   * A create of three, of which the last fails, so that the resume file stays. @returns the address by which it does
   */
  const interrupted = async (): Promise<string> => {
    const url = await thirdFails();
    await run('create', '--from', file('names', 'a\nb\nc\n'), '--save-codes', at('codes'));
    return url;
  };

  test('--resume writes a row anew that was cut off, and the whole file where it is lost', async () => {
    await interrupted();
    const before = savedCodes(at('codes'));
    const text = readFileSync(at('codes'), 'utf8');
    for (const cut of [text.slice(0, -20), text.slice(0, 10), '', undefined]) {
      if (cut === undefined) rmSync(at('codes'));
      else writeFileSync(at('codes'), cut);
      expect((await run('create', '--resume', at('codes.resume'))).code).toBe(1);
      expect(savedCodes(at('codes'))).toEqual(before);
      expect(modeOf(at('codes'))).toBe(0o600);
    }
    expect(await names()).toEqual(['a', 'b']);
  });

  test.each([
    ['words', 'my diary\n'],
    ['another table', '"number","name"\r\n"1","a"\r\n'],
    ['rows of other apps', '"number","name","appId","enrollCode","enrollCodeExpiresAt"\r\n"7","a","b","c","d"\r\n'],
  ])('--resume leaves a file of codes alone that has %s', async (_what, text) => {
    await interrupted();
    writeFileSync(at('codes'), text);
    const refused = await run('create', '--resume', at('codes.resume'));
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('is not the file of codes')]);
    expect(readFileSync(at('codes'), 'utf8')).toBe(text);
  });

  test('--resume refuses another key, with which all would be created anew, and another file', async () => {
    await interrupted();
    env = ownedBy(muster, (await tenant(muster)).apiKey);
    const other = await run('create', '--resume', at('codes.resume'));
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining(`began with the API key ${owner.keyId}`)]);
    const none = await run('create', '--resume', file('none', '{}'));
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('no resume file')]);
  });

  test('--resume goes on with another key of the same account, which lists an app that is saved', async () => {
    const url = await interrupted();
    const { apiKey } = await secondKey();
    env = { MUSTER_CLIENT_URL: url, MUSTER_CLIENT_API_KEY: apiKey };
    expect((await run('create', '--resume', at('codes.resume'))).code).toBe(1);
    expect(await names()).toEqual(['a', 'b']);
    // Where none is saved yet, nothing shows that it is the same account.
    const text = readFileSync(at('codes'), 'utf8');
    writeFileSync(at('codes'), text.slice(0, text.indexOf('\n') + 1));
    const unknown = await run('create', '--resume', at('codes.resume'));
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('compare `muster apps list` with')]);
    env = { MUSTER_CLIENT_URL: url, MUSTER_CLIENT_API_KEY: owner.apiKey };
    expect((await run('create', '--resume', at('codes.resume'))).code).toBe(1);
    expect(readFileSync(at('codes'), 'utf8').split('\n')).toHaveLength(text.split('\n').length);
    expect(await names()).toEqual(['a', 'b']);
  });

  async function secondKey(): Promise<{ apiKey: string }> {
    const path = `${muster.ops}/operator/v1/accounts/${owner.accountId}/api-keys`;
    const { body } = await call(path, { method: 'POST', token: OPERATOR_TOKEN, body: {} });
    return { apiKey: String(body['apiKey']) };
  }

  test('a second --resume is refused while the first works, and takes its place once it was killed', async () => {
    await using proxy = await LossyProxy.before(muster.api);
    proxy.fate = () => (proxy.seen.length < 3 ? 'through' : 'hung');
    env = { ...env, MUSTER_CLIENT_URL: proxy.url };
    const { child, ended } = musterProcess(
      ['apps', 'create', '--count', '9', '--prefix', 'e', '--save-codes', at('codes')],
      env,
    );
    await until(() => proxy.count('hung') === 6);
    await until(() => savedCodes(at('codes')).length === 3);
    proxy.fate = undefined;
    // As a row is while it is written: the second one would cut it off.
    appendFileSync(at('codes'), '"9","e');
    const before = readFileSync(at('codes'), 'utf8');
    const second = await run('create', '--resume', at('codes.resume'));
    expect(second).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        `^muster: Another command works on these creates \\(process ${child.pid} on .*remove .*codes\\.resume\\.lock\\.\n$`,
      ) as string,
    });
    expect(readFileSync(at('codes'), 'utf8')).toBe(before);
    expect(readdirSync(directory).toSorted()).toEqual(['codes', 'codes.resume', 'codes.resume.lock']);
    child.kill('SIGKILL');
    await ended;
    expect((await run('create', '--resume', at('codes.resume'))).code).toBe(0);
    expect(await names()).toHaveLength(9);
    expect([savedCodes(at('codes')).length, readdirSync(directory)]).toEqual([9, ['codes']]);
  });

  test('of many that find the lock of a dead process, one takes it over', async () => {
    const { pid } = spawnSync(process.execPath, ['--version']);
    for (const holder of [pid, process.pid]) {
      const lock = { pid: holder, host: hostname(), token: '0'.repeat(32) };
      file('plan.lock', JSON.stringify(lock));
      const taken = await Promise.allSettled(Array.from({ length: 8 }, () => lockBeside(at('plan'))));
      const won = taken.filter((one) => one.status === 'fulfilled');
      expect(won).toHaveLength(1);
      expect(taken.filter((one) => one.status === 'rejected').map(({ reason }) => reason as unknown)).toEqual(
        Array.from({ length: 7 }, () => expect.objectContaining({ exitCode: 1 }) as unknown),
      );
      await won[0]?.value[Symbol.asyncDispose]();
      expect(readdirSync(directory)).toEqual([]);
    }
  });

  test.each([
    ['of another machine', () => ({ pid: 1, host: 'elsewhere', token: '0'.repeat(32) })],
    ['that is something else', () => 'mine'],
  ])('a lock %s is left alone', async (_what, content) => {
    await interrupted();
    file('codes.resume.lock', JSON.stringify(content()));
    const refused = await run('create', '--resume', at('codes.resume'));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('If there is none, remove')]);
    expect(readFileSync(at('codes.resume.lock'), 'utf8')).toBe(JSON.stringify(content()));
  });

  test('the way to go on is quoted for a shell', async () => {
    const path = at("the codes of 'us'");
    await thirdFails();
    const { stderr } = await run('create', '--from', file('names', 'a\nb\nc\n'), '--save-codes', path);
    expect(stderr).toContain(
      `Go on with: muster apps create --resume '${directory}/the codes of '\\''us'\\''.resume'\n`,
    );
  });

  test('--resume refuses keys that the service may have forgotten', async () => {
    await interrupted();
    const resumed = async (hours: number): Promise<unknown> => {
      const clock = { ...systemClock, now: () => systemClock.now() + hours * 3_600_000 };
      const terminal = recordedTerminal();
      const command = createApps(invocation(env, {}, { terminal, clock }), { resume: at('codes.resume') });
      return await command.catch((error: unknown) => error);
    };
    expect(await resumed(24)).toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('began a day ago') as string,
    });
    expect(await resumed(23)).toMatchObject({ exitCode: 1, message: '2 of 3 apps created; 1 failed.' });
  });

  test('a key that was revoked ends it with 5: where nothing is created, no file stays', async () => {
    const revoke = (): Promise<unknown> => {
      const key = `${muster.ops}/operator/v1/accounts/${owner.accountId}/api-keys/${owner.keyId}`;
      return call(key, { method: 'DELETE', token: OPERATOR_TOKEN });
    };
    await using proxy = await LossyProxy.before(muster.api);
    env = { ...env, MUSTER_CLIENT_URL: proxy.url };
    const create = ['create', '--count', '40', '--prefix', 'e', '--save-codes', at('codes')];
    // The answer of one is lost, and it may be there: the plan knows its key.
    proxy.fate = () => (proxy.seen.length === 0 ? 'lost' : 'through');
    proxy.header = (name, value) => (name === 'authorization' && proxy.seen.length > 1 ? 'Bearer none' : value);
    const unknown = await run(...create);
    expect([unknown.code, readdirSync(directory)]).toEqual([5, ['codes', 'codes.resume']]);
    expect(await names()).toHaveLength(1);
    [proxy.fate, proxy.header] = [undefined, undefined];
    expect((await run('create', '--resume', at('codes.resume'))).code).toBe(0);
    expect(await names()).toHaveLength(40);
    rmSync(at('codes'));

    await revoke();
    const refused = await run(...create);
    expect(refused).toMatchObject({ code: 5, stderr: expect.not.stringMatching(/The codes are|Go on/) as string });
    expect(refused.stderr).toMatch(/muster: 0 of 40 apps created; 40 failed, 20 of them not listed\.\n$/);
    expect(readdirSync(directory)).toEqual([]);
  });

  test('an outage ends it with what was not tried, and --resume creates the rest', async () => {
    await using proxy = await LossyProxy.before(muster.api);
    proxy.fate = () => (proxy.seen.length < 5 ? 'through' : 502);
    proxy.retryAfterSeconds = 61;
    env = { ...env, MUSTER_CLIENT_URL: proxy.url };
    const ended = await run('create', '--count', '40', '--prefix', 'e', '--save-codes', at('codes'));
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/not tried/);
    expect(ended.stderr).toMatch(/5 of 40 apps created; 35 failed, 15 of them not listed/);
    proxy.fate = undefined;
    expect((await run('create', '--resume', at('codes.resume'))).code).toBe(0);
    expect(await names()).toHaveLength(40);
    expect(existsSync(at('codes.resume'))).toBe(false);
  });

  test('kill -9 with answers under way: --resume leaves no app twice, and no code out', async () => {
    await using proxy = await LossyProxy.before(muster.api);
    // Those that hang are carried out, and the command never learns of it.
    proxy.fate = () => (proxy.seen.length < 20 ? 'through' : 'hung');
    env = { ...env, MUSTER_CLIENT_URL: proxy.url };
    let carriedOut = 0;
    proxy.hung = () => (carriedOut += 1);
    const args = ['apps', 'create', '--count', '60', '--prefix', 'edge-', '--save-codes', at('codes')];
    const { child, ended } = musterProcess(args, env);
    await until(() => carriedOut === 16);
    expect(await names()).toHaveLength(36);
    child.kill('SIGKILL');
    expect(await ended).toMatchObject({ code: 'SIGKILL', stdout: '' });
    appendFileSync(at('codes'), '"61","ed');

    proxy.fate = () => (proxy.seen.length % 7 === 0 ? 'lost' : 'through');
    const resumed = await run('create', '--resume', at('codes.resume'), '-o', 'id');
    expect(resumed.code).toBe(0);
    const rows = savedCodes(at('codes'));
    expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
    const there = await listed();
    expect(new Set(there.map(({ name }) => name)).size).toBe(60);
    expect(there).toHaveLength(60);
    expect(new Map(rows.map(({ name, appId }) => [name, appId]))).toEqual(
      new Map(there.map(({ name, appId }) => [name, appId])),
    );
    for (const app of rows.slice(15, 40)) expect(await enroll(muster, app)).toMatch(/^mst_dev_/);
  });

  test('SIGINT ends a --resume that asks whether a key is of the same account', async () => {
    await interrupted();
    const { apiKey } = await secondKey();
    await using proxy = await LossyProxy.before(muster.api);
    proxy.fate = () => 'hung';
    proxy.hung = () => process.emit('SIGINT', 'SIGINT');
    env = { MUSTER_CLIENT_URL: proxy.url, MUSTER_CLIENT_API_KEY: apiKey };
    const stopped = await run('create', '--resume', at('codes.resume'));
    expect(stopped).toEqual({ code: 1, stdout: '', stderr: 'muster: interrupted\n' });
    expect(readdirSync(directory).toSorted()).toEqual(['codes', 'codes.resume', 'names']);
  });

  test('SIGINT before the first create ends it with the way to go on', async () => {
    // The first look at the clock comes before any file.
    let looks = 0;
    const now = (): number => {
      if ((looks += 1) === 1) process.emit('SIGINT', 'SIGINT');
      return systemClock.now();
    };
    const terminal = recordedTerminal();
    const call = invocation(env, {}, { terminal, clock: { ...systemClock, now } });
    const options = { from: file('names', 'a\nb\n'), saveCodes: at('codes') };
    const stopped = await createApps(call, options).catch((error: unknown) => error);
    expect(stopped).toMatchObject({ exitCode: 1, message: 'interrupted: 0 of 2 apps created' });
    expect(terminal.err()).toContain(`Go on with: muster apps create --resume ${at('codes.resume')}\n`);
    expect(readdirSync(directory).toSorted()).toEqual(['codes', 'codes.resume', 'names']);
    expect((await run('create', '--resume', at('codes.resume'))).code).toBe(0);
    expect(await names()).toEqual(['a', 'b']);
  });

  test('SIGINT in the midst of them does so as well', async () => {
    await using proxy = await LossyProxy.before(muster.api);
    proxy.fate = () => (proxy.seen.length < 3 ? 'through' : 'hung');
    env = { ...env, MUSTER_CLIENT_URL: proxy.url };
    const { child, ended } = musterProcess(
      ['apps', 'create', '--count', '30', '--prefix', 'e', '--save-codes', at('codes')],
      env,
    );
    await until(() => proxy.count('hung') > 0);
    child.kill('SIGINT');
    const { code, stderr } = await ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/Go on with: muster apps create --resume .*codes\.resume\n/);
    expect(stderr).toMatch(/muster: interrupted: \d+ of 30 apps created\n$/);
    expect(stderr).not.toContain('mst_');
    proxy.fate = undefined;
    expect((await run('create', '--resume', at('codes.resume'))).code).toBe(0);
    expect(await names()).toHaveLength(30);
  });
});
