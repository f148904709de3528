import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { muster } from '../../src/cli/program.ts';
import { everyCommand, surplusCall, takesAll, wordsOf } from '../support/cli/every-command.ts';
import { musterHere, type Ended } from '../support/service/muster-command.ts';
import { OPERATOR_TOKEN } from '../support/service/muster.ts';

/*
 * A word that no command knows is never taken for something else: `muster backup ls` would be a backup in the file
 * `ls`.
 */

let server: Server;
let asked: string[];
let home: string;
let env: Record<string, string>;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'muster-words-'));
  asked = [];
  server = createServer(({ method = '', url = '' }, response) => {
    asked.push(`${method} ${url}`);
    response.writeHead(502).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  env = {
    HOME: home,
    MUSTER_DATA_DIR: home,
    MUSTER_CLIENT_URL: url,
    MUSTER_CLIENT_OPS_URL: url,
    MUSTER_CLIENT_DEVICE_URL: url,
    MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN,
  };
});
afterAll(() => {
  server.close();
  rmSync(home, { recursive: true });
});

/** Runs the command, and fails where it asked a service or left a file. */
async function withoutEffect(args: readonly string[]): Promise<Ended> {
  const before = readdirSync(process.cwd());
  const ended = await musterHere(args, env);
  expect([asked, readdirSync(home), readdirSync(process.cwd())]).toEqual([[], [], before]);
  return ended;
}

/** Only the scripts of shells call it, with whatever stands on the line. */
const commands = everyCommand(muster({})).filter((command) => command.name() !== 'complete');
const groups = commands.filter((command) => command.commands.length > 0);
const leaves = commands.filter((command) => command.commands.length === 0);
test.each(groups.map((group) => wordsOf(group).join(' ')))(
  'muster %s: an unknown subcommand is refused, with the help of this group',
  async (path) => {
    const words = path.split(' ').filter(Boolean);
    for (const unknown of [['ls'], ['ls', 'x'], ['ls', '--yes'], ['']]) {
      expect(await withoutEffect([...words, ...unknown])).toEqual({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(
          `^error: unknown command '${unknown[0]}'\n(?:\\(Did you mean .*\n)?\\(${['muster', ...words].join(' ')} --help tells more\\)\n$`,
        ) as string,
      });
    }
  },
);

test.each(leaves.filter((leaf) => !takesAll(leaf)).map((leaf) => [wordsOf(leaf).join(' '), leaf] as const))(
  'muster %s: a surplus word is refused, with the help of this command',
  async (path, leaf) => {
    const { code, stdout, stderr } = await withoutEffect(surplusCall(leaf));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^error: too many arguments for '.*surplus\.\n\(muster [a-z -]+ --help tells more\)\n$/);
    expect(stderr).toContain(`(muster ${path} --help tells more)`);
  },
);

test('the commands that take any number of words', () => {
  expect(leaves.filter((leaf) => takesAll(leaf)).map((leaf) => wordsOf(leaf).join(' '))).toEqual([
    'apps code',
    'apps revoke',
    'apps delete',
    'apps adopt',
    'agent run',
  ]);
});

test.each([
  [['agent', 'run', 'status', '--credential-file', 'x'], 'a word that was meant for a command'],
  [['agent', 'run', 'a', '--credential-file', 'x', '--', 'b'], 'a word before --'],
])('muster %j: what it runs stands behind -- alone (%s)', async (args) => {
  expect(await withoutEffect(args)).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^muster: A program to run stands behind `--`, .*\n/) as string,
  });
});

test.each([
  [['apps', 'list', '--nonsense'], 'muster apps list'],
  [['apps', 'list', '--limit', '0'], 'muster apps list'],
  [['backup', 'create'], 'muster backup create'],
  [['kubernetes', 'secrets'], 'muster kubernetes secrets'],
])('muster %j: the hint names the help of the command itself', async (args, path) => {
  const { code, stderr } = await withoutEffect(args);
  expect([code, stderr.split('\n').at(-2)]).toEqual([2, `(${path} --help tells more)`]);
});

test('the right words beside them are taken', async () => {
  expect(await musterHere(['backup', 'verify', '/nowhere/backup'], env)).toMatchObject({ code: 1 });
  expect(await musterHere(['openapi', 'device'], env)).toMatchObject({ code: 0 });
  expect(await musterHere(['agent', 'run', '--credential-file', join(home, 'c'), '--once', '--', 'true'], env)).toEqual(
    {
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('give --otel-config') as string,
    },
  );
});
