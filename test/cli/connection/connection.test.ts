import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addressOf, type Plane } from '../../../src/cli/connection/address.ts';
import { connectionTo, type SecuredPlane } from '../../../src/cli/connection/connection.ts';
import { globalsOf, type GlobalOptions } from '../../../src/cli/terminal/globals.ts';
import type { Environment } from '../../../src/cli/terminal/terminal.ts';
import { generateApiKey } from '../../../src/domain/credentials/tokens.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';

/* Which service a command asks, and with which secret: options, variables, contexts, this machine. */

let root: string;
const before = process.cwd();
let home: Environment;
const random = systemRandom();
const apiKey = (): string => generateApiKey(random).token.reveal();
const KEYS = { variable: apiKey(), file: apiKey(), prod: apiKey(), local: apiKey() };
const TOKENS = { prod: 'operator-token-of-prod-0123456789abc', local: 'operator-token-of-here-0123456789abc' };

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'muster-connection-')));
  const put = (name: string, text: string): string => {
    writeFileSync(join(root, name), `${text}\n`);
    return join(root, name);
  };
  mkdirSync(join(root, '.muster'));
  put('.muster/demo-api-key', KEYS.local);
  put('.muster/operator-token', TOKENS.local);
  put('key-of-a-file', KEYS.file);
  mkdirSync(join(root, 'config/muster'), { recursive: true, mode: 0o700 });
  const contexts = {
    prod: {
      url: 'https://api.prod.example',
      opsUrl: 'https://ops.prod.example:8082',
      apiKeyFile: put('prod-key', KEYS.prod),
      operatorTokenFile: put('prod-token', `alice:${TOKENS.prod}`),
      caFile: '/prod/ca.pem',
    },
    bare: { url: 'https://api.bare.example' },
    here: { url: 'http://127.0.0.1:18080', opsUrl: 'http://127.0.0.1:18082' },
    lost: { url: 'https://api.lost.example', apiKeyFile: join(root, 'nowhere') },
  };
  put('config/muster/config.json', JSON.stringify({ version: 1, contexts }));
  home = { XDG_CONFIG_HOME: join(root, 'config') };
  // This machine is what is in the folder of the command.
  process.chdir(root);
});
afterAll(() => {
  process.chdir(before);
  rmSync(root, { recursive: true });
});

const prod = { MUSTER_CLIENT_CONTEXT: 'prod' };

describe('the address', () => {
  test.each<[Plane, GlobalOptions, Environment, string, string, string]>([
    ['api', {}, {}, 'http://127.0.0.1:8080', 'the default of MUSTER_CLIENT_URL', 'nothing is set'],
    ['device', {}, {}, 'http://127.0.0.1:8081', 'the default of MUSTER_CLIENT_DEVICE_URL', 'nothing is set'],
    ['ops', {}, {}, 'http://127.0.0.1:8082', 'the default of MUSTER_CLIENT_OPS_URL', 'nothing is set'],
    ['api', {}, prod, 'https://api.prod.example', 'the context prod', 'a context before the machine'],
    ['ops', {}, prod, 'https://ops.prod.example:8082', 'the context prod', 'its ops listener'],
    [
      'api',
      {},
      { ...prod, MUSTER_CLIENT_URL: 'http://v:1' },
      'http://v:1',
      'MUSTER_CLIENT_URL',
      'a variable before that',
    ],
    [
      'ops',
      {},
      { ...prod, MUSTER_CLIENT_OPS_URL: 'http://v:1//' },
      'http://v:1',
      'MUSTER_CLIENT_OPS_URL',
      'slashes at its end go',
    ],
    [
      'device',
      {},
      { ...prod, MUSTER_CLIENT_DEVICE_URL: 'http://v:1' },
      'http://v:1',
      'MUSTER_CLIENT_DEVICE_URL',
      'of each listener',
    ],
    [
      'api',
      {},
      { ...prod, MUSTER_CLIENT_URL: '' },
      'https://api.prod.example',
      'the context prod',
      'an empty one is none',
    ],
    [
      'api',
      { context: 'bare' },
      { ...prod, MUSTER_CLIENT_URL: 'http://v:1' },
      'https://api.bare.example',
      'the context bare',
      'the option names a context: before every variable',
    ],
    [
      'api',
      { url: 'http://o:1' },
      { ...prod, MUSTER_CLIENT_URL: 'http://v:1' },
      'http://o:1',
      '--url',
      'the option is first',
    ],
    ['ops', { url: 'http://o:1', context: 'prod' }, {}, 'http://o:1', '--url', 'also before --context'],
  ])('%s with %j and %j is %s, from %s (%s)', (plane, options, env, url, from) => {
    expect(addressOf(plane, { env: { ...home, ...env }, globals: globalsOf(options) })).toMatchObject({ url, from });
  });

  test.each<[Plane, GlobalOptions, Environment, RegExp, string]>([
    [
      'api',
      { context: 'staging' },
      {},
      /^No context has the name staging; there are: bare, here, lost, prod\.$/,
      'an unknown context',
    ],
    ['api', {}, { MUSTER_CLIENT_CONTEXT: 'staging' }, /there are: bare, here, lost, prod/, 'of a variable'],
    ['api', { context: 'constructor' }, {}, /No context has the name constructor/, 'a name that every object has'],
    ['ops', { context: 'bare' }, {}, /^the context bare: .*add it with --ops-url/, 'not this machine in its place'],
    [
      'ops',
      { context: 'bare' },
      { MUSTER_CLIENT_OPS_URL: 'http://v:1' },
      /^the context bare: /,
      'nor a variable: the option came first',
    ],
    ['api', { url: 'ftp://hunter2' }, {}, /^--url: must be http/, 'another protocol'],
    ['api', { url: 'http://me:hunter2@h' }, {}, /^--url: must be http/, 'a password'],
    ['api', { url: 'http://h/?k=hunter2' }, {}, /^--url: must be http/, 'a query'],
    ['api', { url: 'http://h/#hunter2' }, {}, /^--url: must be http/, 'a fragment'],
  ])('%s with %j and %j is refused: %s (%s)', (plane, options, env, words) => {
    const asked = { env: { ...home, ...env }, globals: globalsOf(options) };
    expect(() => addressOf(plane, asked)).toThrow(words);
    expect(() => addressOf(plane, asked)).not.toThrow(/hunter2/);
  });

  test('the authority of a context is trusted for its own addresses alone', () => {
    const caOf = (options: GlobalOptions, env: Environment = {}): string | undefined =>
      addressOf('api', { env: { ...home, ...env }, globals: globalsOf(options) }).caFiles?.join();
    expect(caOf({ context: 'prod' })).toBe('/prod/ca.pem');
    expect(caOf({ context: 'prod', url: 'https://tunnel:1' })).toBe('/prod/ca.pem');
    expect(caOf({}, prod)).toBe('/prod/ca.pem');
    expect(caOf({ url: 'https://other:1' }, prod)).toBeUndefined();
    expect(caOf({}, { ...prod, MUSTER_CLIENT_URL: 'https://other:1' })).toBeUndefined();
  });

  test('that of MUSTER_CLIENT_CA_FILE for the addresses of --url and of the variables', () => {
    const caOf = (options: GlobalOptions, env: Environment = {}): string | undefined =>
      addressOf('api', {
        env: { ...home, MUSTER_CLIENT_CA_FILE: '/ca.pem', ...env },
        globals: globalsOf(options),
      }).caFiles?.join();
    expect(caOf({ url: 'https://other:1' })).toBe('/ca.pem');
    expect(caOf({}, { MUSTER_CLIENT_URL: 'https://other:1' })).toBe('/ca.pem');
    expect(caOf({ context: 'prod', url: 'https://tunnel:1' })).toBe('/prod/ca.pem');
    expect(caOf({ context: 'bare' })).toBeUndefined();
    expect(caOf({})).toBeUndefined();
  });
});

describe('the secret', () => {
  const NO_CA = { MUSTER_CLIENT_CONTEXT: 'prod' };
  const secretOf = (plane: SecuredPlane, options: GlobalOptions, env: Environment): [string, string] => {
    const { token, tokenFrom } = connectionTo(plane, { env: { ...home, ...env }, globals: globalsOf(options) });
    return [token.reveal(), tokenFrom.replace(`${root}/`, '')];
  };

  beforeAll(() => {
    // These read the authority of a context as well.
    const path = join(root, 'config/muster/config.json');
    const text = JSON.stringify({
      version: 1,
      contexts: {
        prod: {
          url: 'https://api.prod.example',
          opsUrl: 'https://ops.prod.example:8082',
          apiKeyFile: join(root, 'prod-key'),
          operatorTokenFile: join(root, 'prod-token'),
        },
        bare: { url: 'https://api.bare.example' },
        here: { url: 'http://127.0.0.1:18080', opsUrl: 'http://127.0.0.1:18082' },
        lost: { url: 'https://api.lost.example', apiKeyFile: join(root, 'nowhere') },
      },
    });
    writeFileSync(path, text);
  });

  test.each<[SecuredPlane, GlobalOptions, Environment, string, string, string]>([
    ['api', {}, {}, KEYS.local, '.muster/demo-api-key', 'this machine: the key of the demo'],
    ['ops', {}, {}, TOKENS.local, '.muster/operator-token', 'this machine: the token of the embedded store'],
    ['api', { url: 'http://localhost:1' }, {}, KEYS.local, '.muster/demo-api-key', 'this machine under another port'],
    [
      'ops',
      { context: 'here' },
      {},
      TOKENS.local,
      '.muster/operator-token',
      'a context of this machine without a file',
    ],
    ['api', {}, NO_CA, KEYS.prod, 'the context prod (prod-key)', 'the context gives its own'],
    ['ops', {}, NO_CA, TOKENS.prod, 'the context prod (prod-token)', 'of the operator: without its name'],
    [
      'api',
      {},
      { ...NO_CA, MUSTER_CLIENT_API_KEY: KEYS.variable },
      KEYS.variable,
      'MUSTER_CLIENT_API_KEY',
      'a variable before it',
    ],
    [
      'api',
      { context: 'prod' },
      { MUSTER_CLIENT_API_KEY: KEYS.variable },
      KEYS.prod,
      'the context prod (prod-key)',
      '--context before a variable',
    ],
    [
      'api',
      { context: 'bare' },
      { MUSTER_CLIENT_API_KEY: KEYS.variable },
      KEYS.variable,
      'MUSTER_CLIENT_API_KEY',
      'which fills what the context lacks',
    ],
    [
      'api',
      { context: 'prod', url: 'https://tunnel:1' },
      {},
      KEYS.prod,
      'the context prod (prod-key)',
      'both said: a tunnel',
    ],
    [
      'api',
      {},
      { ...NO_CA, MUSTER_CLIENT_URL: 'https://api.prod.example:443' },
      KEYS.prod,
      'the context prod (prod-key)',
      'the same host and port in other words',
    ],
    [
      'api',
      {},
      { MUSTER_CLIENT_API_KEY: ` ${KEYS.variable}\n` },
      KEYS.variable,
      'MUSTER_CLIENT_API_KEY',
      'with blanks around it',
    ],
  ])('%s with %j and %j: ‥%s from %s (%s)', (plane, options, env, secret, from) => {
    expect(secretOf(plane, options, env)).toEqual([secret, from]);
  });

  test('a file is read where a variable names it', () => {
    const env = { ...prod, MUSTER_CLIENT_API_KEY_FILE: join(root, 'key-of-a-file') };
    expect(secretOf('api', {}, env)).toEqual([KEYS.file, 'MUSTER_CLIENT_API_KEY_FILE (key-of-a-file)']);
  });

  test.each<[SecuredPlane, GlobalOptions, Environment, RegExp, string]>([
    [
      'api',
      { url: 'https://elsewhere:1' },
      {},
      /^MUSTER_CLIENT_API_KEY or MUSTER_CLIENT_API_KEY_FILE: set one for https:\/\/elsewhere:1 \(from --url\)$/,
      "this machine's key goes nowhere else",
    ],
    [
      'ops',
      {},
      { MUSTER_CLIENT_OPS_URL: 'http://10.0.0.1:8082' },
      /^MUSTER_CLIENT_OPERATOR_TOKEN or MUSTER_CLIENT_OPERATOR_TOKEN_FILE: set one for .*\(from MUSTER_CLIENT_OPS_URL\)$/,
      'nor does its token',
    ],
    [
      'api',
      { url: 'https://elsewhere:1' },
      NO_CA,
      /the context prod gives none: its secret is sent to its own addresses alone$/,
      "nor does a context's",
    ],
    [
      'ops',
      {},
      { ...NO_CA, MUSTER_CLIENT_OPS_URL: 'https://ops.prod.example' },
      /its own addresses alone$/,
      'another port is another service',
    ],
    [
      'api',
      { context: 'bare' },
      {},
      /the context bare gives none: it has no --api-key-file$/,
      'a context without a file, of another machine',
    ],
    [
      'api',
      { context: 'lost' },
      {},
      /^the context lost \(.*nowhere\): the file cannot be read \(ENOENT\)$/,
      'a file that is gone',
    ],
    ['api', {}, { MUSTER_CLIENT_API_KEY: 'hunter2' }, /^MUSTER_CLIENT_API_KEY: must be an API key/, 'no key'],
    [
      'api',
      {},
      { MUSTER_CLIENT_API_KEY: `${KEYS.variable.slice(0, -1)}-` },
      /^MUSTER_CLIENT_API_KEY: must be an API key/,
      'a key with a slip in it',
    ],
    [
      'ops',
      {},
      { MUSTER_CLIENT_OPERATOR_TOKEN: 'hunter2' },
      /^MUSTER_CLIENT_OPERATOR_TOKEN: line 1 must have at least 32/,
      'no token',
    ],
    [
      'api',
      {},
      { MUSTER_CLIENT_API_KEY_FILE: '/nowhere/key' },
      /^MUSTER_CLIENT_API_KEY_FILE \(\/nowhere\/key\): the file cannot be read \(ENOENT\)$/,
      'no file',
    ],
    [
      'api',
      {},
      { MUSTER_CLIENT_API_KEY_FILE: '/' },
      /^MUSTER_CLIENT_API_KEY_FILE \(\/\): the file cannot be read \(EISDIR\)$/,
      'a folder',
    ],
    [
      'api',
      {},
      { MUSTER_CLIENT_API_KEY_FILE: '/dev/zero' },
      /^\/dev\/zero: must have at most \d+ bytes$/,
      'a file without an end',
    ],
  ])('%s with %j is refused (%s)', (plane, options, env, words) => {
    expect(() => secretOf(plane, options, env)).toThrow(words);
    expect(() => secretOf(plane, options, env)).not.toThrow(/hunter2/);
  });

  test('of a machine that has none in this folder is asked for', () => {
    const elsewhere = mkdtempSync(join(root, 'elsewhere-'));
    process.chdir(elsewhere);
    try {
      expect(() => secretOf('ops', {}, {})).toThrow(
        'MUSTER_CLIENT_OPERATOR_TOKEN or MUSTER_CLIENT_OPERATOR_TOKEN_FILE: set one; there is no token of an embedded ' +
          `store at ${elsewhere}/.muster/operator-token (ENOENT)`,
      );
    } finally {
      process.chdir(root);
    }
  });

  test('--timeout and --request-id go along', () => {
    const globals = globalsOf({ timeout: 5, requestId: 'a-1' });
    expect(connectionTo('api', { env: home, globals })).toMatchObject({ timeoutMs: 5000, requestId: 'a-1' });
    expect(JSON.stringify(connectionTo('api', { env: home, globals }))).not.toContain(KEYS.local);
  });
});

describe('the file of contexts', () => {
  const CONTEXT = { url: 'https://h' };
  const refusalOf = (content: unknown, mode = 0o600): string => {
    const config = mkdtempSync(join(root, 'home-'));
    mkdirSync(join(config, 'muster'), { mode: 0o700 });
    const path = join(config, 'muster/config.json');
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    chmodSync(path, mode);
    try {
      addressOf('api', { env: { XDG_CONFIG_HOME: config }, globals: globalsOf({}) });
      return 'taken';
    } catch (error) {
      return (error as Error).message.replace(`${config}/muster/`, '');
    }
  };
  const named = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`c${n}`, CONTEXT]));
  const withContext = (context: object): object => ({ version: 1, contexts: { a: context } });

  test.each<[unknown, string | RegExp, string]>([
    [{ version: 1, contexts: {} }, 'taken', 'no context'],
    [{ version: 1, contexts: named(100) }, 'taken', 'as many as there may be'],
    [{ version: 1, contexts: named(101) }, 'config.json: contexts: must be at most 100', 'one more'],
    ['{', 'config.json: must be JSON', 'no JSON'],
    [' '.repeat(1_048_577), /must have at most 1048576 bytes$/, 'too large'],
    [{ version: 2, contexts: {} }, /config\.json: version: /, 'of a later version'],
    [{ version: 1, contexts: {}, apiKey: 'hunter2' }, /^config\.json: Unrecognized key/, 'a field that there is not'],
    [withContext({ url: 'http://me:hunter2@h' }), /contexts\.a\.url: must be http/, 'a secret in an address'],
    [
      withContext({ ...CONTEXT, apiKeyFile: 'hunter2' }),
      /contexts\.a\.apiKeyFile: must be an absolute path/,
      'a path that depends on where one stands',
    ],
    [withContext({ ...CONTEXT, apiKey: 'x' }), /contexts\.a: Unrecognized key/, 'a secret in place of its file'],
    [
      { version: 1, contexts: { '../a': CONTEXT } },
      /contexts\.\.\.\/a: must be 1 to 63 letters/,
      'a name that is a path',
    ],
    [
      { version: 1, current: 'gone', contexts: { a: CONTEXT } },
      'No context has the name gone; there are: a.',
      'a current one that is gone',
    ],
  ])('%.60j → %s (%s)', (content, words) => {
    const told = refusalOf(content);
    if (typeof words === 'string') expect(told).toBe(words);
    else expect(told).toMatch(words);
    expect(told).not.toContain('hunter2');
  });

  test.each([
    [0o600, 'taken', 'as it is made'],
    [0o644, 'taken', 'others may read it: there is no secret in it'],
    [0o622, 'others can write config.json: chmod go-w config.json', 'others could send our secrets elsewhere'],
  ])('a file of mode %o → %s (%s)', (mode, words) => {
    expect(refusalOf({ version: 1, contexts: {} }, mode).replaceAll(/\/\S*\//g, '')).toBe(words);
  });
});
