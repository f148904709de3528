import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CLIENT } from '../../../src/config/client-variables.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { generateApiKey } from '../../../src/domain/credentials/tokens.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { musterHere } from '../../support/service/muster-command.ts';

/* A secret that the service refuses: the words say which of several places it is from. */

let root: string;
const before = process.cwd();
const SECRETS = { api: generateApiKey(systemRandom()).token.reveal(), ops: 'operator-token-for-tests-0123456789' };
const REFUSALS = { api: 'invalid_key', ops: 'invalid_token' } as const;
let server: Server;
let url: string;

beforeAll(async () => {
  root = scratchDirectory('refused-secret');
  process.chdir(root);
  server = createServer(({ url: path = '' }, response) => {
    const code = path.startsWith('/operator/') ? REFUSALS.ops : REFUSALS.api;
    if (path === '/readyz') return void response.end('{"status":"ready"}');
    response.writeHead(401).end(JSON.stringify({ error: { code, message: 'It is unknown.' } }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const put = (name: string, text: string): void => writeFileSync(join(root, name), text, { mode: 0o600 });
  put('api.secret', SECRETS.api);
  put('ops.secret', `ann:${SECRETS.ops}`);
  mkdirSync(join(root, '.muster'));
  put('.muster/demo-api-key', SECRETS.api);
  put('.muster/operator-token', SECRETS.ops);
  mkdirSync(join(root, 'muster'), { mode: 0o700 });
  const files = { apiKeyFile: join(root, 'api.secret'), operatorTokenFile: join(root, 'ops.secret') };
  const contexts = { prod: { url, opsUrl: url, ...files } };
  put('muster/config.json', JSON.stringify({ version: 1, contexts }));
  mkdirSync(join(root, 'current/muster'), { recursive: true, mode: 0o700 });
  put('current/muster/config.json', JSON.stringify({ version: 1, current: 'prod', contexts }));
});
afterAll(() => {
  process.chdir(before);
  server.close();
  rmSync(root, { recursive: true, force: true });
});

const PLANES = [
  { plane: 'api', variable: CLIENT.apiKey, file: CLIENT.apiKeyFile, local: 'demo-api-key', what: 'API key' },
  {
    plane: 'ops',
    variable: CLIENT.operatorToken,
    file: CLIENT.operatorTokenFile,
    local: 'operator-token',
    what: 'operator token',
  },
] as const;

interface Source {
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly from: string;
}

/** Every place that a secret may be from. */
function sourcesOf({ plane, variable, file, local }: (typeof PLANES)[number]): readonly Source[] {
  const [urls, path] = [{ [CLIENT.url]: url, [CLIENT.opsUrl]: url }, join(root, `${plane}.secret`)];
  const ofContext = `the context prod (${path})`;
  return [
    { env: { ...urls, [variable]: SECRETS[plane] }, from: variable },
    { env: { ...urls, [file]: path }, from: `${file} (${path})` },
    { args: ['--context', 'prod'], env: { XDG_CONFIG_HOME: root }, from: ofContext },
    { env: { XDG_CONFIG_HOME: root, [CLIENT.context]: 'prod' }, from: ofContext },
    { env: { XDG_CONFIG_HOME: join(root, 'current') }, from: ofContext },
    { args: ['--url', url], env: {}, from: join(root, '.muster', local) },
    { env: urls, from: join(root, '.muster', local) },
  ];
}

/** Commands of each API, the raw one among them. */
const COMMANDS = {
  api: [
    ['apps', 'list'],
    ['apps', 'watch'],
    ['apps', 'create', '--name', 'x'],
    ['apps', 'revoke', 'a'.repeat(20), '--yes'],
    ['otel', 'get'],
    ['api', 'GET', '/v1/apps'],
    ['agent', 'simulate', '--count', '1'],
  ],
  ops: [
    ['accounts', 'list'],
    ['accounts', 'create', '--name', 'x'],
    ['api-keys', 'list', '--account', 'a'.repeat(16)],
    ['users', 'list'],
    ['review', 'list', '--account', 'a'.repeat(16)],
    ['rollout', 'status'],
    ['rollout', 'list'],
    ['usage'],
    ['audit', 'list'],
    ['limits'],
    ['keys', 'status'],
    ['keys', 'rotate'],
    ['backup', 'create', 'refused.backup'],
    ['api', 'GET', '/operator/v1/accounts'],
  ],
} as const;

test.each(PLANES.flatMap((one) => COMMANDS[one.plane].map((args) => [args, one] as const)))(
  'muster %j says where the secret is from, by the first of its sources',
  async (args, one) => {
    const [source] = sourcesOf(one);
    const { code, stderr } = await musterHere(args, source?.env ?? {});
    expect([code, stderr]).toEqual([
      5,
      expect.stringContaining(`${url} does not take the ${one.what}: replace it where it is from, ${source?.from}.`),
    ]);
  },
);

test.each(PLANES)('of $plane: each of the places is told', async (one) => {
  const [args] = COMMANDS[one.plane];
  for (const { args: more = [], env, from } of sourcesOf(one)) {
    const { code, stdout, stderr } = await musterHere([...args, ...more], env);
    expect([code, stderr]).toEqual([
      5,
      expect.stringMatching(/^muster: http:\S+ does not take the .*\. \(request \S+\)\n$/),
    ]);
    expect(stderr).toContain(`does not take the ${one.what}: replace it where it is from, ${from}.`);
    expect(`${stdout}${stderr}`).not.toContain(SECRETS[one.plane]);
  }
});

test('muster doctor tells it as well', async () => {
  const { code, stdout } = await musterHere(['doctor', '--url', url], {});
  expect([code, stdout]).toEqual([
    3,
    expect.stringMatching(/^fail +token +.* does not take the operator token: .*\.muster\/operator-token\./m),
  ]);
});

test('no other file of the command makes a client with a secret of its own, but for what `muster dev` starts itself', () => {
  const folder = join(import.meta.dirname, '../../../src/cli');
  const makers = globSync('**/*.ts', { cwd: folder }).filter((path) =>
    /new (?:Owner|Operator)Client\(/.test(readFileSync(join(folder, path), 'utf8')),
  );
  expect(makers.toSorted()).toEqual(['commands/dev/account.ts', 'commands/dev/dev.ts', 'connection/clients.ts']);
});

test('what another service refuses is none of it', async () => {
  await using stranger = createServer((_request, response) => {
    response.writeHead(401).end('<html>');
  }).listen(0, '127.0.0.1');
  await once(stranger, 'listening');
  const env = {
    [CLIENT.url]: `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`,
    [CLIENT.apiKey]: SECRETS.api,
  };
  const { code, stderr } = await musterHere(['apps', 'list'], env);
  expect([code, stderr]).toEqual([1, expect.not.stringContaining('where it is from')]);
});
