import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { selfSigned, type SelfSigned } from '../../support/http/certificates.ts';
import { NO_SERVICE_FOLDER, musterCommand, musterHere, type Ended } from '../../support/service/muster-command.ts';
import { Muster, OPERATOR_TOKEN } from '../../support/service/muster.ts';

let root: string;
let env: Record<string, string>;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-contexts-'));
});
afterAll(() => rmSync(root, { recursive: true }));
beforeEach(() => {
  env = { HOME: mkdtempSync(join(root, 'home-')), MUSTER_DATA_DIR: '/nowhere' };
});

const run = (line: string, more: Record<string, string> = {}): Promise<Ended> =>
  musterHere(line.split(' '), { ...env, ...more });
const file = (): string => join(env['HOME'] ?? '', '.config/muster/config.json');
const kept = (): unknown => JSON.parse(readFileSync(file(), 'utf8')) as unknown;

describe('muster context', () => {
  test('add, use, list, current and remove', async () => {
    expect(
      await run('context add prod --url https://api.example --ops-url https://ops.example --api-key-file /k'),
    ).toEqual({
      code: 0,
      stdout: '',
      stderr: 'The context prod is there. `muster context use prod` makes it the current one.\n',
    });
    await run(
      'context add dev --url http://127.0.0.1:8080 --ops-url http://127.0.0.1:8082 --operator-token-file t --quiet',
    );
    expect(await run('context current')).toMatchObject({ code: 4, stdout: '' });
    expect(await run('context use prod')).toMatchObject({ code: 0, stderr: 'prod is the current context.\n' });
    expect((await run('context current -o id')).stdout).toBe('prod\n');
    expect((await run('context list -o id')).stdout).toBe('prod\ndev\n');
    const list = JSON.parse((await run('context list -o json')).stdout) as unknown;
    expect(list).toEqual([
      { name: 'prod', current: true, url: 'https://api.example', opsUrl: 'https://ops.example', apiKeyFile: '/k' },
      {
        name: 'dev',
        current: false,
        url: 'http://127.0.0.1:8080',
        opsUrl: 'http://127.0.0.1:8082',
        operatorTokenFile: join(NO_SERVICE_FOLDER, 't'),
      },
    ]);
    expect((await run('context list')).stdout).toMatch(
      /^CURRENT +NAME +URL .*\nyes +prod +https.*\nno +dev +http.*\n$/,
    );
    expect(await run('context remove prod')).toMatchObject({
      code: 0,
      stderr: 'prod is removed; no context is the current one.\n',
    });
    expect((await run('context list -o id')).stdout).toBe('dev\n');
    expect(kept()).toMatchObject({ version: 1, contexts: { dev: {} } });
  });

  test('the file is for its owner alone, in a directory that is so too, and nothing stays beside it', async () => {
    mkdirSync(join(env['HOME'] ?? '', '.config/muster'), { recursive: true, mode: 0o755 });
    await run('context add a --url https://a');
    expect([statSync(file()).mode & 0o777, statSync(join(file(), '..')).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(readdirSync(join(file(), '..'))).toEqual(['config.json']);
    await run('context add b --url https://b');
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  test('XDG_CONFIG_HOME comes before HOME; a relative one is none', async () => {
    const XDG_CONFIG_HOME = join(env['HOME'] ?? '', 'xdg');
    await run('context add a --url https://a', { XDG_CONFIG_HOME });
    expect(readdirSync(join(XDG_CONFIG_HOME, 'muster'))).toEqual(['config.json']);
    await run('context add b --url https://b', { XDG_CONFIG_HOME: 'xdg' });
    expect(kept()).toMatchObject({ contexts: { b: { url: 'https://b' } } });
  });

  test.each([
    ['context add a', /give --url, --ops-url or both/, 'no address'],
    ['context add a --url ftp://h', /contexts\.a\.url: must be http/, 'no address of HTTP'],
    ['context add a --url http://me:hunter2@h', /contexts\.a\.url: must be http/, 'a password'],
    ['context add .a --url http://h', /must be 1 to 63 letters/, 'a name that begins otherwise'],
    [`context add ${'a'.repeat(64)} --url http://h`, /must be 1 to 63 letters/, 'a name that is too long'],
    ['context add there --url http://h', /has the name there already/, 'a name that is taken'],
    ['context use staging', /No context has the name staging; there are: other, there\./, 'an unknown name'],
    ['context remove staging', /No context has the name staging; there are: other, there\./, 'an unknown name'],
    ['usage --context staging', /No context has the name staging; there are: other, there\./, 'of any command'],
    ['--context staging usage', /No context has the name staging; there are: other, there\./, 'before its name, too'],
  ])('muster %s is refused with 2 (%s)', async (line, words) => {
    await run('context add there --url https://h');
    await run('context add other --url https://h');
    const before = readFileSync(file(), 'utf8');
    const { code, stdout, stderr } = await run(line);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(words);
    expect(stderr).not.toContain('hunter2');
    expect(readFileSync(file(), 'utf8')).toBe(before);
  });

  test('the longest name is taken, and without a home nothing can be kept', async () => {
    expect((await run(`context add ${'a'.repeat(63)} --url http://h`)).code).toBe(0);
    const refused = await musterHere(['context', 'add', 'a', '--url', 'http://h'], {});
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('HOME: set it')]);
    expect((await musterHere(['context', 'list'], {})).stderr).toBe(
      'There is no context; `muster context add` makes one.\n',
    );
  });

  test.each(['/nowhere', '/dev/null', '/proc/self'])(
    'a home at %s, where nothing can be, has no contexts',
    async (HOME) => {
      const { code, stdout, stderr } = await run('context list -o json', { HOME });
      expect([code, stdout, stderr]).toEqual([0, '[]\n', '']);
    },
  );

  test('MUSTER_CLIENT_CONTEXT comes before the current one', async () => {
    await run('context add a --url https://a');
    await run('context add b --url https://b');
    const more = { MUSTER_CLIENT_CONTEXT: 'b' };
    expect((await run('context use a', more)).stderr).toBe(
      'a is the current context, but MUSTER_CLIENT_CONTEXT names b, which comes first.\n',
    );
    expect((await run('context current -o id', more)).stdout).toBe('b\n');
    expect((await run('context current -o id')).stdout).toBe('a\n');
  });
});

describe('a command asks the service of its context', () => {
  let muster: Muster;
  beforeAll(async () => {
    muster = await Muster.start();
    writeFileSync(join(root, 'token'), `${OPERATOR_TOKEN}\n`);
  });
  afterAll(() => muster[Symbol.asyncDispose]());
  const add = (name: string, ops: string): Promise<Ended> =>
    run(`context add ${name} --ops-url ${ops} --operator-token-file ${join(root, 'token')}`);

  test('by the current one, by --context and by MUSTER_CLIENT_CONTEXT', async () => {
    await add('here', muster.ops);
    await add('nowhere', 'http://127.0.0.1:9');
    expect((await run('usage --context here')).code).toBe(0);
    expect((await run('--context here usage')).code).toBe(0);
    expect((await run('usage', { MUSTER_CLIENT_CONTEXT: 'here' })).code).toBe(0);
    await run('context use nowhere');
    const unreached = await run('usage');
    expect([unreached.code, unreached.stderr]).toEqual([
      1,
      expect.stringMatching(/127\.0\.0\.1:9 cannot be reached .*which is from the context nowhere\.$/m),
    ]);
    await run('context use here');
    expect((await run('usage')).code).toBe(0);
    expect((await run('keys status')).code).toBe(0);
    expect((await run('limits')).code).toBe(0);
    expect((await run('audit verify')).code).toBe(0);
    expect((await run('doctor')).stdout).toMatch(/^ok +token +the service takes the operator token$/m);
  });
});

/** An ops listener that remembers who asked. */
async function listener(answer: (response: ServerResponse) => void, tls?: SelfSigned) {
  const asked: IncomingMessage[] = [];
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    asked.push(request);
    answer(response);
  };
  const server = tls ? createSecureServer(tls, handle) : createServer(handle);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}
const noneLimited = (response: ServerResponse): void => void response.end('{"limited":0,"accounts":[]}');

describe('the request', () => {
  const named = { MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN };

  test('--url and --request-id: who is asked, and as what', async () => {
    const { url, asked } = await listener(noneLimited);
    expect((await run(`limits --url ${url} --request-id my-own.1`, named)).code).toBe(0);
    expect((await run(`limits --url ${url}`, named)).code).toBe(0);
    expect(asked.map(({ headers }) => headers['x-request-id'])).toEqual([
      'my-own.1',
      expect.stringMatching(/^[0-9a-f-]{36}$/),
    ]);
  });

  test('--timeout ends the wait for a service that does not respond', async () => {
    const { url, asked } = await listener(() => undefined);
    const { code, stderr } = await run(`limits --url ${url} --timeout 1s`, named);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/did not succeed within 1000 ms .*no answer/)]);
    // No second one; and none where the machine stands still for the whole second.
    expect(asked.length).toBeLessThanOrEqual(1);
  });

  // A process of its own: whom it trusts holds to its end.
  test('--ca-file: an authority that Node does not know is trusted for its context, and for no other', async () => {
    const directory = mkdtempSync(join(root, 'ca-'));
    const { url } = await listener(noneLimited, selfSigned(directory, 'ops'));
    const ca = join(directory, 'ops.crt');
    await run(`context add trusted --ops-url ${url} --ca-file ${ca}`);
    await run(`context add other --ops-url ${url}`);
    await run(`context add lost --ops-url ${url} --ca-file ${join(directory, 'none')}`);
    await run(`context add wrong --ops-url ${url} --ca-file ${join(root, 'token')}`);
    const outcome = async (context: string): Promise<unknown[]> => {
      const { code, stderr } = await musterCommand(['limits', '--context', context], { ...env, ...named });
      return [code, stderr];
    };
    expect(await outcome('trusted')).toEqual([0, expect.stringContaining('No account is limited')]);
    expect(await outcome('other')).toEqual([
      1,
      expect.stringContaining('of an unknown authority, which a context names with --ca-file'),
    ]);
    expect(await outcome('lost')).toEqual([2, expect.stringContaining('the CA file cannot be read (ENOENT)')]);
    expect(await outcome('wrong')).toEqual([2, expect.stringContaining('must have certificates in PEM')]);
  });
});
