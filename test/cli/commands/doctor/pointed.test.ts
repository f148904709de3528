import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { scratchDirectory } from '../../../support/run/scratch-directory.ts';
import { freePorts } from '../../../support/service/free-ports.ts';
import { connectedTo, musterHere, notStarted } from '../../../support/service/muster-command.ts';
import { KEY_FILE_TEXT, Muster, OPERATOR_TOKEN } from '../../../support/service/muster.ts';

/* `muster doctor` where it stands outside of the data of the service that it is pointed at. */

const before = process.cwd();
let root: string;
let muster: Muster;
let place: string;
beforeAll(async () => {
  root = realpathSync(scratchDirectory('pointed'));
  muster = await Muster.start();
});
afterAll(async () => {
  process.chdir(before);
  await muster[Symbol.asyncDispose]();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(() => {
  place = mkdtempSync(join(root, 'place-'));
  process.chdir(place);
});

interface Found {
  readonly level: string;
  readonly what: string;
  readonly says: string;
}

async function diagnosed(args: readonly string[], env: Readonly<Record<string, string>>) {
  const { code, stdout } = await musterHere(['doctor', '-o', 'json', ...args], env);
  const { findings } = JSON.parse(stdout) as { findings: Found[] };
  return { code, findings, whats: new Set(findings.map(({ what }) => what)) };
}

/** The subjects that are of the machine on which the service runs. */
const OF_THE_PLACE = ['key file', 'disk', 'port', 'store', 'format', 'open files', 'records'];

/** What leads to the service: each of them alone. */
async function waysTo({ ops }: Muster): Promise<readonly (readonly [string[], Record<string, string>])[]> {
  const token = join(place, 'token');
  writeFileSync(token, OPERATOR_TOKEN, { mode: 0o600 });
  const home = { XDG_CONFIG_HOME: join(place, 'config') };
  await musterHere(['context', 'add', 'it', '--ops-url', ops, '--operator-token-file', token], home);
  return [
    [[], connectedTo(muster)],
    [['--url', ops], { MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN }],
    [['--context', 'it'], home],
    [[], { ...home, MUSTER_CLIENT_CONTEXT: 'it' }],
  ];
}

test('the service alone is judged, whatever leads to it, and no folder that is none', async () => {
  for (const [args, env] of await waysTo(muster)) {
    for (const more of [[], ['--running'], ['--deep']]) {
      const { code, findings, whats } = await diagnosed([...args, ...more], env);
      expect([code, findings.filter(({ level }) => level === 'fail')]).toEqual([0, []]);
      expect(OF_THE_PLACE.filter((what) => what !== 'records' && whats.has(what))).toEqual([]);
      for (const what of ['configuration', 'version', 'service', 'clock', 'token', 'keys']) {
        expect(whats).toContain(what);
      }
      expect(findings.find(({ what }) => what === 'configuration')?.says).toContain(
        `there is no data in ${place}/.muster`,
      );
      if (more.includes('--deep')) expect(whats).toContain('audit');
    }
  }
});

test('a folder of another service is not judged by it either', async () => {
  mkdirSync(join(place, '.muster'), { mode: 0o700 });
  writeFileSync(join(place, '.muster/keys'), 'no key', { mode: 0o600 });
  const { code, findings, whats } = await diagnosed([], connectedTo(muster));
  expect([code, OF_THE_PLACE.filter((what) => whats.has(what))]).toEqual([0, []]);
  expect(findings.find(({ what }) => what === 'configuration')?.says).toContain('/.muster is of another service');
});

test('the service of the folder is judged with it', async () => {
  const data = join(place, '.muster');
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(join(data, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
  writeFileSync(join(data, 'operator-token'), OPERATOR_TOKEN, { mode: 0o600 });
  await using own = await Muster.start({ dataDir: data });
  const { service } = own;
  const env = { MUSTER_OPS_LISTEN: `127.0.0.1:${service.ops.port}` };
  // As `muster env` sets the one, and by the variables of the service itself.
  for (const lead of [env, { ...env, ...connectedTo(own) }]) {
    const { code, whats, findings } = await diagnosed([], lead);
    expect([code, findings.filter(({ level }) => level !== 'ok')]).toEqual([0, []]);
    for (const what of ['key file', 'disk', 'open files', 'store', 'token']) expect(whats).toContain(what);
  }
});

test('what it has from the variables of the service is told by their names', async () => {
  const MUSTER_OPS_LISTEN = `127.0.0.1:${muster.service.ops.port}`;
  const saysOf = async (what: string, env: Readonly<Record<string, string>>): Promise<string> =>
    (await diagnosed([], env)).findings.find((one) => one.what === what)?.says ?? '';
  const wrong = 'another-operator-token-0123456789-abc';
  const at = (from: string): RegExp => new RegExp(`replace it where it is from, ${from}\\. \\(request `);
  expect(await saysOf('token', { MUSTER_OPS_LISTEN, MUSTER_OPERATOR_TOKEN: wrong })).toMatch(
    at('MUSTER_OPERATOR_TOKEN'),
  );
  const file = join(place, 'token');
  writeFileSync(file, wrong, { mode: 0o600 });
  const inFile = await saysOf('token', { MUSTER_OPS_LISTEN, MUSTER_OPERATOR_TOKEN_FILE: 'token' });
  expect(inFile).toMatch(at(`MUSTER_OPERATOR_TOKEN_FILE \\(${file}\\)`));
  // One of the client comes before it, and is told as such.
  const own = { MUSTER_OPS_LISTEN, MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN, MUSTER_CLIENT_OPERATOR_TOKEN: wrong };
  expect(await saysOf('token', own)).toMatch(at('MUSTER_CLIENT_OPERATOR_TOKEN'));
  const stopped = await saysOf('service', { MUSTER_OPS_LISTEN: '127.0.0.1:9' });
  expect(stopped).toMatch(/which is from MUSTER_OPS_LISTEN\.$/);
});

test.each([
  ['MUSTER_DATA_DIR without data, as an image sets it', { MUSTER_DATA_DIR: 'empty' }, false],
  ['MUSTER_DATA_DIR with data', { MUSTER_DATA_DIR: 'data' }, true],
  ['MUSTER_KEY_FILE', { MUSTER_KEY_FILE: 'data/keys' }, true],
  ['MUSTER_STORE', { MUSTER_STORE: 'sqlite:empty/muster.db' }, true],
  ['MUSTER_LOG_LEVEL', { MUSTER_LOG_LEVEL: 'warn' }, false],
])('a variable that says where the data or the keys are: %s', async (_what, env, isHere) => {
  for (const name of ['empty', 'data']) mkdirSync(join(place, name), { mode: 0o700 });
  writeFileSync(join(place, 'data/keys'), KEY_FILE_TEXT, { mode: 0o600 });
  const { whats } = await diagnosed([], { ...connectedTo(muster), ...env });
  expect([whats.has('key file'), whats.has('store')]).toEqual([isHere, isHere]);
});

test('outside of the data, without a word about the service: one that responds is judged alone', async () => {
  const listen = { MUSTER_OPS_LISTEN: `127.0.0.1:${muster.service.ops.port}`, MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN };
  const { code, whats } = await diagnosed([], listen);
  expect([code, OF_THE_PLACE.filter((what) => whats.has(what))]).toEqual([0, []]);
  // Without one, this is where a first start is prepared.
  const [port] = await freePorts(1);
  const first = await diagnosed([], {
    ...notStarted(join(place, '.muster')),
    MUSTER_CLIENT_OPS_URL: '',
    MUSTER_OPS_LISTEN: `127.0.0.1:${port}`,
  });
  expect([first.code, ['key file', 'disk', 'port', 'store'].filter((what) => !first.whats.has(what))]).toEqual([0, []]);
});

test('where the one that is judged alone does not respond, that is a fault', async () => {
  const { code, findings, whats } = await diagnosed(['--url', 'http://127.0.0.1:9'], {});
  expect([code, whats.has('key file')]).toEqual([3, false]);
  expect(findings.filter(({ level }) => level === 'fail')).toEqual([
    {
      level: 'fail',
      what: 'service',
      says: expect.stringContaining('http://127.0.0.1:9 cannot be reached') as string,
    },
  ]);
});
