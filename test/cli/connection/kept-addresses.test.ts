import { spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addressOf } from '../../../src/cli/connection/address.ts';
import { operatorOf } from '../../../src/cli/connection/clients.ts';
import { ADDRESSES_FILE, keepAddresses } from '../../../src/cli/connection/kept-addresses.ts';
import { NO_GLOBALS } from '../../../src/cli/terminal/globals.ts';
import { invocation } from '../../../src/cli/terminal/invocation.ts';
import type { Environment } from '../../../src/cli/terminal/terminal.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { generateApiKey } from '../../../src/domain/credentials/tokens.ts';
import { killAtExit } from '../../support/run/guard.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { freePorts } from '../../support/service/free-ports.ts';
import { musterHere } from '../../support/service/muster-command.ts';
import { simulatedTimers } from '../../support/time/simulated-timers.ts';

/* The addresses that `muster dev` keeps for other terminals. */

let root: string;
let folder: string;
beforeAll(() => {
  root = scratchDirectory('kept-addresses');
});
const before = process.cwd();
afterAll(() => {
  process.chdir(before);
  rmSync(root, { recursive: true, force: true });
});
beforeEach(() => {
  // Commands look where they are run.
  const place = mkdtempSync(join(root, 'place-'));
  process.chdir(place);
  folder = join(place, '.muster');
  mkdirSync(folder);
});

const file = (): string => join(folder, ADDRESSES_FILE);
const put = (content: unknown): void => writeFileSync(file(), JSON.stringify(content), { mode: 0o600 });
const asked = (env: Environment = {}, globals = NO_GLOBALS) => ({ env, globals });
const URLS = { api: 'http://127.0.0.1:41001', device: 'http://[::1]:41002', ops: 'http://127.0.0.1:41003' };

test('are for their owner alone, and are what commands ask where nothing else is set', async () => {
  expect(await keepAddresses(folder, URLS)).toBe(file());
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  for (const plane of ['api', 'device', 'ops'] as const) {
    expect(addressOf(plane, asked())).toEqual({
      url: URLS[plane],
      from: `${file()}, which \`muster dev\` wrote`,
      isLocal: true,
      isThere: expect.any(Function) as unknown,
    });
  }
});

test.each<[Environment, string, string]>([
  [{ MUSTER_CLIENT_URL: 'http://v:1' }, 'http://v:1', 'the variable of the address comes before'],
  [{ MUSTER_API_LISTEN: '127.0.0.1:9' }, URLS.api, 'a variable of the service is not read'],
  [{ MUSTER_DATA_DIR: '/nowhere' }, URLS.api, 'nor is this one'],
])('%j: %s (%s)', async (env, url, _why) => {
  await keepAddresses(folder, URLS);
  expect(addressOf('api', asked(env)).url).toBe(url);
});

test('of a service that listens elsewhere are not kept', async () => {
  await keepAddresses(folder, { ...URLS, api: 'http://10.0.0.1:8080' });
  expect(addressOf('api', asked()).url).toBe('http://127.0.0.1:8080');
  expect(addressOf('ops', asked()).url).toBe(URLS.ops);
});

describe('a file that is not believed', () => {
  test.each<[unknown, RegExp, string]>([
    [{ version: 1, api: 'http://planted.example' }, /api: must be http:\/\/127/, 'secrets would go to another machine'],
    [{ version: 1, api: 'http://127.0.0.1.planted.example' }, /api: must be/, 'a name that looks like this machine'],
    [{ version: 1, api: 'http://127.0.0.1@planted.example' }, /api: must be/, 'a user that looks like it'],
    [{ version: 1, api: `http://127.0.0.1/${'x'.repeat(300)}` }, /api: /, 'a long one'],
    [{ version: 2 }, /version: /, 'a later version'],
    [{ version: 1, pid: 1, other: 1 }, /other/, 'an unknown field'],
    [{ version: 1 }, /pid: /, 'of no process'],
    [{ version: 1, pid: -1 }, /pid: /, 'all processes'],
    ['', /remove it/, 'no object'],
    [{ version: 1, api: 'x'.repeat(5000) }, /at most 4096 bytes/, 'a large file'],
  ])('%.60j: %s (%s)', (content, says, _why) => {
    put(content);
    expect(() => addressOf('api', asked())).toThrow(says);
    expect(() => addressOf('api', asked())).toThrow(file());
    expect(() => addressOf('api', asked())).not.toThrow(/planted/);
  });

  test('others could have written it', async () => {
    await keepAddresses(folder, URLS);
    chmodSync(file(), 0o622);
    expect(() => addressOf('api', asked())).toThrow(/others can write .*chmod go-w/);
  });

  test('a link is none', async () => {
    await keepAddresses(root, URLS);
    symlinkSync(join(root, ADDRESSES_FILE), file());
    expect(addressOf('api', asked()).url).toBe('http://127.0.0.1:8080');
  });
});

describe('of a process', () => {
  const kept = (): Readonly<Record<string, unknown>> =>
    JSON.parse(readFileSync(file(), 'utf8')) as Readonly<Record<string, unknown>>;
  const DEFAULT = 'http://127.0.0.1:8080';

  test('that runs are believed', async () => {
    await keepAddresses(folder, URLS);
    expect(kept()).toMatchObject({ pid: process.pid });
    expect(addressOf('api', asked()).url).toBe(URLS.api);
  });

  test('that was killed are not, since anybody may have its ports', async () => {
    const killed = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    killAtExit(killed);
    const { pid } = killed;
    const ended = once(killed, 'exit');
    killed.kill('SIGKILL');
    await ended;
    await keepAddresses(folder, URLS);
    const { began: _, ...without } = kept();
    for (const content of [
      { ...kept(), pid },
      { ...without, pid },
    ]) {
      put(content);
      expect(addressOf('api', asked())).toMatchObject({ url: DEFAULT, from: 'the default of MUSTER_CLIENT_URL' });
    }
  });

  test('whose number another one has by now are not either', async () => {
    await keepAddresses(folder, URLS);
    put({ ...kept(), began: 'earlier' });
    expect(addressOf('api', asked()).url).toBe(DEFAULT);
  });
});

test('a command that goes on sends nothing to them after the service, until it is back', async () => {
  const requests: string[] = [];
  await using server = createServer(({ headers }, response) => {
    requests.push(headers.authorization ?? '');
    response.end('{"accounts":[]}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const urls = { ...URLS, ops: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  await keepAddresses(folder, urls);
  const env = { MUSTER_CLIENT_OPERATOR_TOKEN: 'operator-token-for-tests-0123456789' };
  const operator = operatorOf(invocation(env, {}));
  await operator.listAccounts();
  rmSync(file());
  await expect(operator.listAccounts()).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('nothing listens there') as string,
  });
  expect(requests).toHaveLength(1);
  await keepAddresses(folder, urls);
  await operator.listAccounts();
  expect(requests).toHaveLength(2);
});

test('of a service that is gone: commands say that it cannot be reached, and where they have the address from', async () => {
  const [port = 0] = await freePorts(1);
  await keepAddresses(folder, { ...URLS, ops: `http://127.0.0.1:${port}` });
  const { code, stderr } = await musterHere(['usage'], {
    MUSTER_CLIENT_OPERATOR_TOKEN: 'operator-token-for-tests-0123456789',
  });
  expect(code).toBe(1);
  expect(stderr).toContain(`127.0.0.1:${port} cannot be reached (nothing listens there)`);
  expect(stderr).toContain(file());
});

test('so does one that waits for the service, once its time is up', async () => {
  const [port = 0] = await freePorts(1);
  await keepAddresses(folder, { ...URLS, api: `http://127.0.0.1:${port}` });
  using time = simulatedTimers();
  const refused = refusedConnection();
  const ended = musterHere(['apps', 'revoke', 'a'.repeat(20), 'b'.repeat(20), '--yes', '--timeout', '1s'], {
    MUSTER_CLIENT_API_KEY: generateApiKey(systemRandom()).token.reveal(),
  });
  await refused;
  await time.advance(1000);
  const { code, stderr } = await ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/The call did not succeed within 1000 ms .* Last trouble: network: The service at /);
  expect(stderr).toContain(`127.0.0.1:${port} cannot be reached (nothing listens there)`);
  expect(stderr).toContain(file());
});

/** Resolves when a connection of `fetch` was refused, and its caller knows. */
async function refusedConnection(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  subscribe('undici:client:connectError', resolve);
  await promise;
  unsubscribe('undici:client:connectError', resolve);
  await setImmediate();
}
