import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { scratchDirectory } from '../support/run/scratch-directory.ts';

/* Which tool `npm run image` and `npm run publish-release` take, and what they refuse before they ask one. */

const SCRIPTS = resolve(import.meta.dirname, '../../scripts');
const folder = scratchDirectory('image-tools');
const path = join(folder, 'path');
const asked = join(folder, 'asked');

beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program that notes what it is asked, and then ends as the lines say. */
function installed(name: string, ...lines: readonly string[]): void {
  const script = ['#!/bin/sh', `echo "${name} $*" >>'${asked}'`, ...lines].join('\n');
  writeFileSync(join(path, name), script, { mode: 0o755 });
}
const BUILDS_NOTHING = 'test "$1" != build';
const NO_DAEMON = 'echo "Cannot connect to the daemon." >&2; exit 1';

function runScript(script: string, ...args: string[]): { code: number | null; told: string; asked: string[] } {
  const env = { PATH: path, HOME: folder };
  const { status, stderr } = spawnSync(process.execPath, [join(SCRIPTS, script), ...args], { encoding: 'utf8', env });
  const lines = existsSync(asked) ? readFileSync(asked, 'utf8').trim().split('\n') : [];
  return { code: status, told: stderr, asked: lines };
}

describe.skipIf(process.platform === 'win32')('the tool', () => {
  test('none: one sentence says what to install', () => {
    expect(runScript('image.ts')).toEqual({
      code: 1,
      told: 'No tool builds images here: install docker, podman or buildah, on Debian by "apt-get install podman".\n',
      asked: [],
    });
  });

  test('is the first that answers: docker, podman, buildah', () => {
    installed('buildah', BUILDS_NOTHING);
    expect(runScript('image.ts').told).toContain('by buildah.\nbuildah did not build the image.\n');
    installed('podman', BUILDS_NOTHING);
    expect(runScript('image.ts').told).toContain('by podman.\npodman did not build the image.\n');
    installed('docker', BUILDS_NOTHING);
    expect(runScript('image.ts').told).toContain('by docker.\ndocker did not build the image.\n');
  });

  test('is the next one where the first is there and does not answer', () => {
    installed('docker', NO_DAEMON);
    installed('podman', BUILDS_NOTHING);
    const { code, asked } = runScript('image.ts', '--', '--network', 'host');
    expect(code).toBe(1);
    expect(asked.map((line) => line.split(' ', 2).join(' '))).toEqual([
      'docker version',
      'podman info',
      'podman build',
    ]);
    expect(asked.at(-1)).toMatch(/^podman build --file deploy\/Dockerfile --tag muster:\S+ .* --network host \.$/);
  });

  test('that does not answer is named with its reason where there is no other', () => {
    installed('docker', NO_DAEMON);
    expect(runScript('image.ts').told).toBe(
      'No tool builds images here: docker is there and does not answer (Cannot connect to the daemon.); ' +
        'install docker, podman or buildah, on Debian by "apt-get install podman".\n',
    );
  });

  test('that --with asks for is taken, or nothing', () => {
    installed('docker', BUILDS_NOTHING);
    installed('buildah', BUILDS_NOTHING);
    expect(runScript('image.ts', '--with', 'buildah').told).toContain('by buildah.');
    expect(runScript('image.ts', '--with', 'podman')).toMatchObject({
      code: 1,
      told: 'No tool builds images here: install podman, or leave out --with.\n',
    });
  });
});

describe('wrong arguments end with 2, and the usage', () => {
  test.each([
    ['image.ts', ['registry.example.com'], 'Nothing is pushed: npm run publish-release does that.'],
    ['image.ts', ['--key', 'cosign.key'], 'Nothing is pushed: npm run publish-release does that.'],
    ['image.ts', ['--base', 'node:24'], 'Nothing is pushed: npm run publish-release does that.'],
    ['image.ts', ['--with', 'kaniko'], '--with is one of docker, podman, buildah.'],
    ['publish-release.ts', [], 'Name one registry.'],
    ['publish-release.ts', ['registry.example.com', '--transparency-log'], '--transparency-log is for a --key.'],
    [
      'publish-release.ts',
      ['registry.example.com', '--plain-http'],
      '--plain-http is for a registry on the loopback of this machine alone.',
    ],
  ])('%s %j', (script, args, words) => {
    const { code, told, asked } = runScript(script, ...args);
    expect([code, asked]).toEqual([2, []]);
    expect(told).toMatch(new RegExp(`^${words.replaceAll('.', '\\.')}\nnpm run ${script.replace('.ts', '')} `));
  });
});
