import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { greeting, type Greeted } from '../../../../src/cli/commands/dev/greeting.ts';
import { ownCommand } from '../../../../src/cli/commands/dev/own-command.ts';
import { Secret } from '../../../../src/domain/credentials/secret.ts';
import { ROOT } from '../../../support/repository/source-tree.ts';
import { scratchDirectory } from '../../../support/run/scratch-directory.ts';
import { musterHere } from '../../../support/service/muster-command.ts';

/* What `muster dev` refuses and what it prints; test/system/quickstart.test.ts starts it, and pastes its lines. */

let root: string;
beforeAll(() => {
  root = scratchDirectory('dev');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('a store that others may use', () => {
  const env = {
    MUSTER_STORE: 'etcd:http://127.0.0.1:1',
    MUSTER_OPERATOR_TOKEN: 'operator-token-for-tests-0123456789',
    MUSTER_KEY_FILE: '',
  };
  const dev = async () => {
    const key = join(root, 'keys');
    writeFileSync(key, `1:${Buffer.alloc(32, 7).toString('base64')}\n`, { mode: 0o600 });
    return await musterHere(['dev'], { ...env, MUSTER_KEY_FILE: key });
  };

  test('is left alone without --yes', async () => {
    expect(await dev()).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^muster: MUSTER_STORE names a store that others may use.*--yes/) as string,
    });
  });
});

test.each(['API', 'DEVICE', 'OPS'])('a certificate of MUSTER_%s_TLS_CERT_FILE is refused', async (listener) => {
  const file = join(root, 'certificate');
  writeFileSync(file, '', { mode: 0o600 });
  const env = { [`MUSTER_${listener}_TLS_CERT_FILE`]: file, [`MUSTER_${listener}_TLS_KEY_FILE`]: file };
  expect(await musterHere(['dev'], { ...env, MUSTER_DATA_DIR: join(root, 'tls') })).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^muster: MUSTER_API_TLS_CERT_FILE, .* plain http\. Leave them out\.\n$/) as string,
  });
  expect(existsSync(join(root, 'tls'))).toBe(false);
});

describe('the words that call this command', () => {
  const program = join(ROOT, 'bin/muster.mjs');

  /** A folder of programs with this `muster`. */
  function folderWith(make: (path: string) => void, name = 'bin'): string {
    const folder = join(mkdtempSync(join(root, 'path-')), name);
    mkdirSync(folder, { recursive: true });
    make(join(folder, 'muster'));
    return folder;
  }
  const own = (path: string): void => symlinkSync(program, path);
  const another = (path: string): void => {
    writeFileSync(path, '#!/bin/sh\n');
    chmodSync(path, 0o755);
  };

  test('are a path of this folder in a checkout', () => {
    expect(ownCommand({ PATH: '/usr/bin' })).toBe(`./${relative('', program)}`);
    expect(ownCommand({})).toBe('./bin/muster.mjs');
  });

  test('are the name where a shell finds it', () => {
    expect(ownCommand({ PATH: `/nowhere:${folderWith(own)}` })).toBe('muster');
  });

  test('are the path where a shell would find another one, or only what npm starts would find it', () => {
    expect(ownCommand({ PATH: `${folderWith(another)}:${folderWith(own)}` })).toBe('./bin/muster.mjs');
    expect(ownCommand({ PATH: folderWith(own, 'node_modules/.bin') })).toBe('./bin/muster.mjs');
  });

  test('are one word of a shell, wherever the program lies', () => {
    const elsewhere = join(mkdtempSync(join(root, 'a folder-')), 'muster.mjs');
    writeFileSync(elsewhere, '');
    expect(ownCommand({}, elsewhere)).toBe(`'${elsewhere}'`);
  });
});

describe('the greeting', () => {
  const greeted = (more: Partial<Greeted> = {}): string =>
    greeting({
      urls: { api: 'http://127.0.0.1:1', device: 'http://127.0.0.1:2', ops: 'http://127.0.0.1:3' },
      apiKey: 'mst_live_secret',
      dataDir: join(process.cwd(), '.muster'),
      muster: './bin/muster.mjs',
      steps: 'muster',
      agents: 0,
      ...more,
    });

  test('has the API key only where its lines need it', () => {
    expect(greeted()).not.toContain('mst_live_secret');
    expect(greeted()).toContain(join(process.cwd(), '.muster', 'demo-api-key'));
    expect(greeted({ steps: 'curl' })).toContain('KEY=mst_live_secret;');
  });

  test('has the panel and the link of the first operator where they are there', () => {
    expect(greeted()).not.toMatch(/panel|operator of/);
    const panel = 'http://localhost:4';
    expect(greeted({ panel })).toContain(`panel      ${panel}`);
    expect(greeted({ panel })).not.toContain('first operator');
    const firstLink = new Secret(`${panel}/link#mst_link_operator_x`);
    expect(greeted({ panel, firstLink })).toMatch(
      /first operator of the panel.*\n\nhttp:.*#mst_link_operator_x\n\nPaste/,
    );
  });

  test.each(['muster', 'curl'] as const)('for %s names the data directory where it is another one', (steps) => {
    expect(greeted({ steps })).toContain('eval "$(./bin/muster.mjs env)"');
    expect(greeted({ steps, dataDir: "/it's here" })).toContain(
      `eval "$(./bin/muster.mjs env --data-dir '/it'\\''s here')"`,
    );
  });
});
