import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fishQuoted, shellQuoted } from '../../../../src/text/shell-words.ts';
import { keepAddresses } from '../../../../src/cli/connection/kept-addresses.ts';
import { runs } from '../../../support/run/effort.ts';
import { scratchDirectory } from '../../../support/run/scratch-directory.ts';
import { NO_SERVICE_FOLDER, musterHere } from '../../../support/service/muster-command.ts';
import { Muster, tenant } from '../../../support/service/muster.ts';

let root: string;
beforeAll(() => {
  root = scratchDirectory('env');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A data directory as `muster dev` leaves it. */
function dataDirectory(name: string): string {
  const path = join(mkdtempSync(join(root, 'home-')), name);
  mkdirSync(path);
  for (const file of ['demo-api-key', 'operator-token']) writeFileSync(join(path, file), 'a-secret\n', { mode: 0o600 });
  return path;
}

const PRINTED =
  'printf "%s\\n" "$MUSTER_CLIENT_URL" "$MUSTER_CLIENT_OPS_URL" "$MUSTER_CLIENT_DEVICE_URL" "$MUSTER_CLIENT_API_KEY_FILE" "$MUSTER_CLIENT_OPERATOR_TOKEN_FILE" "${MUSTER_CLIENT_API_KEY-unset}"';

test.each(['plain', 'it\'s $HOME `x` "and" \\more', '-n *', 'ünïcode'])(
  'a POSIX shell that evaluates it has the addresses, and the files in %j; no secret is printed',
  async (name) => {
    const path = dataDirectory(name);
    const { code, stdout, stderr } = await musterHere(['env', '--data-dir', path], {
      MUSTER_CLIENT_API_KEY: 'that-of-another-service',
      MUSTER_API_LISTEN: '0.0.0.0:9001',
      MUSTER_DEVICE_LISTEN: '[::]:9002',
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).not.toMatch(/a-secret|that-of-another/);
    const env = { PATH: process.env['PATH'], MUSTER_CLIENT_API_KEY: 'that-of-another-service' };
    const told = execFileSync('sh', ['-c', `eval "$1"; ${PRINTED}`, 'sh', stdout], { env, encoding: 'utf8' });
    expect(told.split('\n')).toEqual([
      'http://127.0.0.1:9001',
      'http://127.0.0.1:8082',
      'http://[::1]:9002',
      join(path, 'demo-api-key'),
      join(path, 'operator-token'),
      'unset',
      '',
    ]);
  },
);

test('the addresses are those that muster dev has kept, also where a port is another one at each start', async () => {
  const path = dataDirectory('kept');
  await keepAddresses(path, {
    api: 'http://127.0.0.1:41001',
    device: 'http://127.0.0.1:41002',
    ops: 'http://127.0.0.1:41003',
  });
  const { code, stdout } = await musterHere(['env', '--data-dir', path], {
    MUSTER_API_LISTEN: '127.0.0.1:0',
    // This one is a port.
    MUSTER_OPS_LISTEN: '127.0.0.1:80',
  });
  expect(code).toBe(0);
  expect(stdout.split('\n').slice(0, 3)).toEqual([
    "export MUSTER_CLIENT_URL='http://127.0.0.1:41001'",
    "export MUSTER_CLIENT_OPS_URL='http://127.0.0.1:80'",
    "export MUSTER_CLIENT_DEVICE_URL='http://127.0.0.1:41002'",
  ]);
});

test('by its help, the service is that of the variables, and not an embedded one alone', async () => {
  const { stdout } = await musterHere(['env', '--help']);
  expect(stdout).toMatch(/every command finds the service that its\s+variables configure/);
});

test('with it, a command finds the service', async () => {
  await using muster = await Muster.start();
  const { apiKey } = await tenant(muster);
  writeFileSync(join(muster.dataDir, 'demo-api-key'), apiKey, { mode: 0o600 });
  const { api, device, ops } = muster.service;
  const listen = ({ host, port }: typeof api): string => `${host}:${port}`;
  const { stdout } = await musterHere(['env', '--data-dir', muster.dataDir], {
    MUSTER_API_LISTEN: listen(api),
    MUSTER_DEVICE_LISTEN: listen(device),
    MUSTER_OPS_LISTEN: listen(ops),
  });
  const lines = execFileSync('sh', ['-c', 'eval "$1"; env', 'sh', stdout], { env: {}, encoding: 'utf8' });
  const env = Object.fromEntries(
    [...lines.matchAll(/^(MUSTER_\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  expect(await musterHere(['agent', 'simulate', '--count', '1', '--duration', '1s'], env)).toMatchObject({ code: 0 });
});

test.each([
  ['sh', shellQuoted, ['-c', 'eval "printf %s $1"', 'sh']],
  ['fish', fishQuoted, ['--no-config', '-c', 'eval "printf %s $argv[1]"']],
] as const)('every text is one word of %s', (shell, quoted, args) => {
  if (spawnSync(shell, ['-c', 'true']).status !== 0) {
    // Its rule (https://fishshell.com/docs/current/language.html#quotes) is held by the next test, too.
    process.stdout.write(`${shell} is not installed: its quotes were not evaluated\n`);
    return;
  }
  const text = fc.string({ unit: fc.constantFrom(...Array.from('a \'"\\$`!*~#;&|<>(){}[]\n\tü')) });
  fc.assert(
    fc.property(text, (value) => {
      expect(execFileSync(shell, [...args, quoted(value)], { encoding: 'utf8' })).toBe(value);
    }),
    { numRuns: runs(20) },
  );
});

test('fish has its own quotes, and its own words', async () => {
  const path = dataDirectory("it's \\");
  const { stdout } = await musterHere(['env', '--shell', 'fish', '--data-dir', path], {
    MUSTER_CLIENT_OPERATOR_TOKEN: 'x',
  });
  expect(stdout.split('\n')).toEqual([
    "set -gx MUSTER_CLIENT_URL 'http://127.0.0.1:8080'",
    "set -gx MUSTER_CLIENT_OPS_URL 'http://127.0.0.1:8082'",
    "set -gx MUSTER_CLIENT_DEVICE_URL 'http://127.0.0.1:8081'",
    expect.stringMatching(/^set -gx MUSTER_CLIENT_API_KEY_FILE '.*\/it\\'s \\\\\/demo-api-key'$/),
    expect.stringMatching(/^set -gx MUSTER_CLIENT_OPERATOR_TOKEN_FILE '.*\/operator-token'$/),
    'set -e MUSTER_CLIENT_OPERATOR_TOKEN',
    '',
  ]);
});

describe('the service that the variables of this shell configure', () => {
  test('has its token in the file that it reads, and what is of another one goes', async () => {
    const path = join(mkdtempSync(join(root, 'home-')), 'data');
    const own = { MUSTER_DATA_DIR: path, MUSTER_OPERATOR_TOKEN_FILE: 'secrets/operator-token' };
    const another = { MUSTER_CLIENT_API_KEY_FILE: '/a/key', MUSTER_CLIENT_CA_FILE: '/a/ca' };
    const { code, stdout } = await musterHere(['env'], { ...own, ...another });
    expect(code).toBe(0);
    expect(stdout.split('\n').slice(3)).toEqual([
      `export MUSTER_CLIENT_OPERATOR_TOKEN_FILE='${join(NO_SERVICE_FOLDER, 'secrets/operator-token')}'`,
      'unset MUSTER_CLIENT_API_KEY_FILE',
      'unset MUSTER_CLIENT_CA_FILE',
      '',
    ]);
  });

  test.each([
    ['sh', 'export MUSTER_CLIENT_OPERATOR_TOKEN="$MUSTER_OPERATOR_TOKEN"'],
    ['fish', 'set -gx MUSTER_CLIENT_OPERATOR_TOKEN "$MUSTER_OPERATOR_TOKEN"'],
  ])('has it in a variable: %s hands it on, and it is not printed', async (shell, line) => {
    const own = { MUSTER_DATA_DIR: dataDirectory('token'), MUSTER_OPERATOR_TOKEN: 'hunter2' };
    const { code, stdout } = await musterHere(['env', '--shell', shell], own);
    expect([code, stdout.split('\n')]).toEqual([0, expect.arrayContaining([line])]);
    expect(stdout).not.toMatch(/hunter2|OPERATOR_TOKEN_FILE/);
  });

  test.each([
    ['one certificate', 'tls.crt', /^export MUSTER_CLIENT_CA_FILE='.*\/tls\.crt'$/m],
    ['several', 'other.crt', /^export MUSTER_CLIENT_CA_FILE='[^':]*\/other\.crt:[^':]*\/tls\.crt'$/m],
  ])('presents %s', async (_what, other, line) => {
    const { code, stdout, stderr } = await musterHere(['env', '--data-dir', dataDirectory('tls')], {
      MUSTER_OPS_TLS_CERT_FILE: 'tls.crt',
      MUSTER_API_TLS_CERT_FILE: other,
    });
    expect([code, stderr, stdout]).toEqual([0, '', expect.stringMatching(line)]);
    expect(stdout).toContain("MUSTER_CLIENT_OPS_URL='https://127.0.0.1:8082'");
  });
});

describe('refused, with nothing to evaluate', () => {
  test('where no service was started', async () => {
    const ended = await musterHere(['env', '--data-dir', join(root, 'nothing')]);
    expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/muster dev/) as string });
  });

  test('where a port is another one at each start', async () => {
    const path = dataDirectory('port');
    const ended = await musterHere(['env', '--data-dir', path], { MUSTER_API_LISTEN: '127.0.0.1:0' });
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/MUSTER_API_LISTEN/) as string });
  });

  test('where the shell is another one', async () => {
    expect(await musterHere(['env', '--shell', 'csh'])).toMatchObject({ code: 2, stdout: '' });
  });
});
