import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addressOf } from '../../../src/cli/connection/address.ts';
import { connectionTo } from '../../../src/cli/connection/connection.ts';
import { PLANES } from '../../../src/cli/connection/service-here.ts';
import { muster } from '../../../src/cli/program.ts';
import { NO_GLOBALS } from '../../../src/cli/terminal/globals.ts';
import type { Environment } from '../../../src/cli/terminal/terminal.ts';
import { CLIENT, CLIENT_VARIABLES, successorOf } from '../../../src/config/client-variables.ts';
import { readConfig } from '../../../src/config/config.ts';
import { VARIABLES } from '../../../src/config/environment.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { generateApiKey } from '../../../src/domain/credentials/tokens.ts';
import { everyCommand, surplusCall, takesAll, wordsOf } from '../../support/cli/every-command.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { musterHere } from '../../support/service/muster-command.ts';

/*
 * The client and the service have variables of their own, so that a shell for one installation may start another one.
 */

let root: string;
const before = process.cwd();
const apiKey = generateApiKey(systemRandom()).token.reveal();
const TOKEN = 'operator-token-of-here-0123456789abc';
beforeAll(() => {
  root = scratchDirectory('own-variables');
  const place = mkdtempSync(join(root, 'place-'));
  mkdirSync(join(place, '.muster'));
  writeFileSync(join(place, '.muster/demo-api-key'), apiKey, { mode: 0o600 });
  writeFileSync(join(place, '.muster/operator-token'), TOKEN, { mode: 0o600 });
  process.chdir(place);
});
afterAll(() => {
  process.chdir(before);
  rmSync(root, { recursive: true, force: true });
});

/** An environment in which every variable of the names has a value, and that keeps which of them was read. */
function watched(names: readonly string[], values: Environment = {}) {
  const read = new Set<string>();
  const env = new Proxy<Record<string, string>>(
    {},
    {
      get: (_target, name) => {
        if (typeof name === 'string' && names.includes(name)) read.add(name);
        return typeof name === 'string' ? (values[name] ?? (names.includes(name) ? 'hunter2' : undefined)) : undefined;
      },
    },
  );
  return { env, read };
}

test('no variable is in both tables, and the names of the client tell whose they are', () => {
  expect(VARIABLES.length).toBeGreaterThan(60);
  expect(CLIENT_VARIABLES.filter((name) => VARIABLES.includes(name))).toEqual([]);
  expect(CLIENT_VARIABLES.filter((name) => !name.startsWith('MUSTER_CLIENT_'))).toEqual([]);
  expect(VARIABLES.filter((name) => name.startsWith('MUSTER_CLIENT'))).toEqual([]);
});

test('addresses and secrets are found without a variable of the service', () => {
  const { env, read } = watched(VARIABLES);
  const asked = { env, globals: NO_GLOBALS };
  expect(PLANES.map((plane) => addressOf(plane, asked).url)).toEqual([
    'http://127.0.0.1:8080',
    'http://127.0.0.1:8082',
    'http://127.0.0.1:8081',
  ]);
  expect(connectionTo('api', asked).token.reveal()).toBe(apiKey);
  expect(connectionTo('ops', asked).token.reveal()).toBe(TOKEN);
  // Whether a name is set that the client had as well is asked for a refusal alone.
  expect([...read].filter((name) => successorOf(name) === undefined)).toEqual([]);
});

/**
 * They are of an installation on this machine, or lead from its variables to a client's; `keys rotate` looks at its key
 * file, too, as `keys add` has left it.
 */
const OF_THE_SERVICE: ReadonlySet<string> = new Set([
  'serve',
  'dev',
  'env',
  'restore',
  'init-store',
  'doctor',
  'backup verify',
  'keys add',
  'keys rotate',
  'config check',
  'config list',
  'config explain',
  'kubernetes secrets',
  'kubernetes rbac',
  'kubernetes teardown',
]);
const clients = everyCommand(muster({})).filter(
  (command) => command.commands.length === 0 && !OF_THE_SERVICE.has(wordsOf(command).join(' ')),
);

describe('no command that asks a service', () => {
  // Nobody listens there.
  const url = 'http://127.0.0.1:9';
  const own = {
    [CLIENT.url]: url,
    [CLIENT.opsUrl]: url,
    [CLIENT.deviceUrl]: url,
    [CLIENT.apiKey]: apiKey,
    [CLIENT.operatorToken]: TOKEN,
  };

  test.each(clients.map((command) => [wordsOf(command).join(' '), command] as const))(
    'reads a variable of the service: muster %s',
    async (_path, command) => {
      const { env, read } = watched(VARIABLES, own);
      const words = surplusCall(command).filter(
        (word) => word !== 'surplus' && (word !== '--all' || !takesAll(command)),
      );
      await musterHere([...words, ...(takesAll(command) ? ['x', '--yes'] : [])], env);
      expect([...read]).toEqual([]);
    },
  );
});

test('the service reads none of the client', () => {
  const { env, read } = watched(CLIENT_VARIABLES);
  readConfig(env);
  expect([...read]).toEqual([]);
  const all = Object.fromEntries(CLIENT_VARIABLES.map((name) => [name, 'hunter2']));
  expect(readConfig(all)).toEqual(readConfig({}));
});

describe('a former name of a variable', () => {
  const elsewhere = { [CLIENT.opsUrl]: 'http://127.0.0.1:9', [CLIENT.url]: 'http://127.0.0.1:9' };
  const far = { [CLIENT.opsUrl]: 'http://10.0.0.1:9', [CLIENT.url]: 'http://10.0.0.1:9' };

  test.each<[string, string[], Record<string, string>, number, string]>([
    ['MUSTER_URL', ['apps', 'list'], { MUSTER_URL: 'http://v:1' }, 1, CLIENT.url],
    ['MUSTER_OPS_URL', ['accounts', 'list'], { MUSTER_OPS_URL: 'http://v:1' }, 1, CLIENT.opsUrl],
    ['MUSTER_CONTEXT', ['apps', 'list'], { MUSTER_CONTEXT: 'prod' }, 1, CLIENT.context],
    ['MUSTER_API_KEY', ['apps', 'list'], { ...far, MUSTER_API_KEY: 'hunter2' }, 2, CLIENT.apiKey],
    ['MUSTER_API_KEY_FILE', ['apps', 'list'], { ...far, MUSTER_API_KEY_FILE: 'hunter2' }, 2, CLIENT.apiKeyFile],
    [
      'MUSTER_OPERATOR_TOKEN',
      ['accounts', 'list'],
      { ...far, MUSTER_OPERATOR_TOKEN: 'hunter2' },
      2,
      CLIENT.operatorToken,
    ],
    [
      'MUSTER_OPERATOR_TOKEN_FILE',
      ['accounts', 'list'],
      { ...far, MUSTER_OPERATOR_TOKEN_FILE: 'hunter2' },
      2,
      CLIENT.operatorTokenFile,
    ],
  ])('%s has no effect, and the refusal of muster %j names the new one', async (name, args, env, code, successor) => {
    const ended = await musterHere(args, env);
    expect([ended.code, ended.stderr]).toEqual([
      code,
      expect.stringContaining(`; ${name} is not read here: set ${successor}`) as string,
    ]);
    expect(ended.stderr).not.toMatch(/hunter2|http:\/\/v/);
  });

  test.each([
    ['where the new one is set as well', { ...elsewhere, MUSTER_URL: 'http://v:1', [CLIENT.apiKey]: apiKey }],
    ['where neither is', { ...elsewhere, [CLIENT.apiKey]: apiKey }],
  ])('is not told %s', async (_what, env) => {
    const { stderr } = await musterHere(['apps', 'list'], env);
    expect(stderr).toContain('cannot be reached');
    expect(stderr).not.toContain('is not read here');
  });

  test('is explained by the new one', async () => {
    const { code, stderr } = await musterHere(['config', 'explain', 'MUSTER_URL']);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`is it ${CLIENT.url} that you mean?`) as string]);
  });
});

test.each([
  ['api', ['apps', 'list'], CLIENT.apiKey, CLIENT.apiKeyFile, apiKey],
  ['ops', ['accounts', 'list'], CLIENT.operatorToken, CLIENT.operatorTokenFile, TOKEN],
] as const)('a secret of %s and its file exclude each other', async (_plane, args, value, file, secret) => {
  const path = join(root, 'secret');
  writeFileSync(path, secret, { mode: 0o600 });
  const both = await musterHere(args, { [value]: secret, [file]: path });
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining(`${value} and ${file}: set one`) as string });
  // Nobody listens at the port: each alone is taken.
  const urls = { [CLIENT.url]: 'http://127.0.0.1:9', [CLIENT.opsUrl]: 'http://127.0.0.1:9' };
  expect(await musterHere(args, { ...urls, [value]: secret })).toMatchObject({ code: 1 });
  expect(await musterHere(args, { ...urls, [file]: path })).toMatchObject({ code: 1 });
});
