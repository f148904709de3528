import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, describe, expect, test } from 'vitest';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { COMPILED } from '../../support/service/compiled.ts';
import { setOtel } from '../../support/service/daemon.ts';
import { asOperator } from '../../support/service/v1.ts';
import { createApp, KEY_FILE_TEXT, Muster, tenant } from '../../support/service/muster.ts';
import { MAIN } from '../../support/service/muster-command.ts';

/* A file that is a mount of its own, as `docker run -v FILE:FILE` makes it: no other file can take its place. */

const UNSHARE = ['--user', '--map-root-user', '--mount', 'sh', '-c', 'mount --bind "$0" "$0" && exec "$@"'];
const isThere = spawnSync('unshare', [...UNSHARE, '/etc/hosts', 'true'], { stdio: 'ignore' }).status === 0;
const skipped = isThere ? '' : ' [skipped: files cannot be mounted in a user namespace here]';

const root = scratchDirectory('mounted-file');
afterAll(() => rmSync(root, { recursive: true }));

/** `muster …` where the file is mounted on itself. */
async function musterWith(file: string, args: readonly string[], env: Record<string, string>) {
  const { promise, resolve } = Promise.withResolvers<{ code: unknown; stderr: string }>();
  const words = [...UNSHARE, file, process.execPath, MAIN, ...args];
  const options = { env: { PATH: process.env['PATH'], ...COMPILED, ...env } };
  execFile('unshare', words, options, (error, _stdout, stderr) => resolve({ code: error?.code ?? 0, stderr }));
  return await promise;
}

const MOUNTED = 'it is mounted by itself, and cannot be replaced: mount its folder in its place';

describe.skipIf(!isThere)(`a file that is mounted by itself${skipped}`, () => {
  test('gets no key: the command says what to mount, and leaves it as it is', async () => {
    const keys = join(mkdtempSync(join(root, 'keys-')), 'keys');
    writeFileSync(keys, KEY_FILE_TEXT, { mode: 0o600 });
    expect(await musterWith(keys, ['keys', 'add'], { MUSTER_KEY_FILE: keys })).toEqual({
      code: 1,
      stderr: `muster: ${keys} cannot be written (${MOUNTED}): add the line where the file comes from.\n`,
    });
    expect(readFileSync(keys, 'utf8')).toBe(KEY_FILE_TEXT);
  });

  test('gets no context', async () => {
    const home = mkdtempSync(join(root, 'home-'));
    const file = join(home, '.config/muster/config.json');
    mkdirSync(join(home, '.config/muster'), { recursive: true, mode: 0o700 });
    writeFileSync(file, '{"version":1,"contexts":{}}', { mode: 0o600 });
    const args = ['context', 'add', 'here', '--url', 'http://127.0.0.1:8080'];
    const { code, stderr } = await musterWith(file, args, { HOME: home });
    expect([code, stderr]).toEqual([1, `muster: ${file}: ${MOUNTED}\n`]);
  });

  test('gets no configuration of a collector: the rollout says what to mount', async () => {
    await using muster = await Muster.start();
    const owner = await tenant(muster);
    const { appId, enrollCode } = await createApp(muster, owner.apiKey);
    await setOtel(muster, owner.apiKey);
    const folder = mkdtempSync(join(root, 'daemon-'));
    const [config, code] = [join(folder, 'collector.yaml'), join(folder, 'code')];
    writeFileSync(config, '');
    writeFileSync(code, enrollCode, { mode: 0o600 });
    const files = ['--credential-file', join(folder, 'credential'), '--code-file', code, '--otel-config', config];
    await musterWith(config, ['agent', 'run', '--once', '--app', appId, ...files], {
      MUSTER_CLIENT_DEVICE_URL: muster.device,
    });
    expect((await asOperator(muster)(`GET /accounts/${owner.accountId}/rollout`)).body).toMatchObject({
      failures: [
        { error: 'the file cannot be written (EBUSY: it is mounted by itself; mount its folder in its place)' },
      ],
    });
  });
});
