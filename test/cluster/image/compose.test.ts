import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findEtcd } from '../../support/etcd/etcd-binary.ts';
import { call } from '../../support/service/muster.ts';
import { command } from '../support/control-plane/command.ts';
import { eventually } from '../support/control-plane/program.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { ContainerTools } from '../support/node/container-tools.ts';
import { podman } from '../support/node/container.ts';
import { buildImage } from '../support/node/image.ts';

/*
 * deploy/compose.yaml as docs/COMPOSE.md starts it: podman-compose reads the settings, the images are built here. Those
 * of Prometheus and Grafana are not, and test/repository/compose.test.ts has the rest of the file.
 */

const ROOT = resolve(import.meta.dirname, '../../..');
const ETCD = 'localhost/muster-test-etcd:1';
/** The listeners of the two replicas, as the file binds them to this machine. */
const FIRST = { api: 'http://127.0.0.1:8080', ops: 'http://127.0.0.1:8082' };
const SECOND = { api: 'http://127.0.0.1:8180', ops: 'http://127.0.0.1:8182' };
const MUSTER = ['muster-1', 'muster-2'];

describeOn('compose', 'deploy/compose.yaml by podman-compose', () => {
  const project = `muster-${randomUUID()}`;
  const manual = readFileSync(join(ROOT, 'docs/COMPOSE.md'), 'utf8');
  let tools: ContainerTools;
  let folder: string;
  let env: Record<string, string>;
  beforeAll(async () => {
    await buildImage();
    tools = new ContainerTools();
    env = { ...tools.env, ETCD_IMAGE: ETCD };
    await command(process.execPath, ['scripts/image.ts', '--with', 'podman', '--', ...tools.building], {
      cwd: ROOT,
      env,
    });
    await etcdImage(tools);
    folder = mkdtempSync(join(tmpdir(), 'muster-compose-'));
    for (const part of ['deploy', 'charts']) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
    rmSync(join(folder, 'deploy/compose/secrets'), { recursive: true, force: true });
    await shell(...shellOf(manual).filter((line) => line.includes('deploy/compose/secrets')));
    const [up = ''] = /podman-compose \S+ \S+ up --detach etcd-1[^`]*/.exec(manual) ?? [];
    await shell(up.replace('podman-compose ', `podman-compose --project-name ${project} `));
  });
  afterAll(async () => {
    await compose('down', '--volumes', '--timeout', '1');
    await podman('network', 'rm', '--force', `${project}_default`);
    tools[Symbol.dispose]();
    rmSync(folder, { recursive: true });
  });

  const shell = (...lines: string[]): Promise<string> =>
    command('bash', ['-euo', 'pipefail', '-c', lines.join('\n')], { cwd: folder, env });
  const compose = (...args: string[]): Promise<string> =>
    command('podman-compose', ['--project-name', project, '--file', 'deploy/compose.yaml', ...args], {
      cwd: folder,
      env,
    });
  const ready = (): Promise<void> =>
    eventually('both replicas are ready', async () => {
      const answers = await Promise.all(
        [FIRST, SECOND].map(({ ops }) => fetch(`${ops}/readyz`).catch(() => undefined)),
      );
      return answers.every((answer) => answer?.ok === true);
    });
  const operator = async (path: string, body?: object): Promise<Record<string, unknown>> => {
    const token = readFileSync(join(folder, 'deploy/compose/secrets/operator-token'), 'utf8').trim();
    const answer = await call(`${FIRST.ops}/operator/v1${path}`, {
      token,
      ...(body && { method: 'POST', body }),
    });
    expect([path, answer.status]).toEqual([path, body === undefined ? 200 : 201]);
    return answer.body;
  };

  test('keeps an account and its apps over a restart of both replicas, and works with two of three etcd', async () => {
    await ready();
    const { accountId } = await operator('/accounts', { name: 'acme', entitlement: 'enterprise' });
    const { apiKey } = await operator(`/accounts/${String(accountId)}/api-keys`, { name: 'first' });
    const appsAt = (api: string, name?: string): ReturnType<typeof call> =>
      call(`${api}/v1/apps`, { token: String(apiKey), ...(name && { method: 'POST', body: { name } }) });
    const created = await appsAt(FIRST.api, 'scanner');
    expect(created.status).toBe(201);
    const { appId } = created.body;

    // 30 s to end is what the file gives them, and more than they need.
    await compose('restart', '--timeout', '30', ...MUSTER);
    await ready();
    expect(await operator(`/accounts/${String(accountId)}`)).toMatchObject({ name: 'acme' });
    for (const { api } of [FIRST, SECOND]) {
      expect((await appsAt(api)).body).toMatchObject({ apps: [{ appId, name: 'scanner' }] });
    }

    await compose('stop', '--timeout', '20', 'etcd-2');
    expect((await appsAt(SECOND.api, 'second')).status).toBe(201);
    expect((await appsAt(FIRST.api)).body).toMatchObject({ apps: [{ name: 'scanner' }, { name: 'second' }] });
  });

  test.each(MUSTER)('%s runs as hardened as the file says, and not as root', async (name) => {
    const container = `${project}_${name}_1`;
    const format =
      '--format={{.HostConfig.ReadonlyRootfs}} {{.EffectiveCaps}} {{.HostConfig.SecurityOpt}} {{.Config.User}}';
    expect(await podman('inspect', format, container)).toBe('true [] [no-new-privileges] 65532:0\n');
  });
});

/** The lines that a manual has in its blocks of shell, in order. */
function shellOf(manual: string): string[] {
  return [...manual.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) => block.trim().split('\n'));
}

/** The etcd of the tests, with nothing else, as an image that starts like etcd's own. */
async function etcdImage({ env }: ContainerTools): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-etcd-image-'));
  cpSync(findEtcd() ?? '', join(folder, 'etcd'));
  writeFileSync(
    join(folder, 'Dockerfile'),
    'FROM scratch\nCOPY etcd /usr/local/bin/etcd\nCMD ["/usr/local/bin/etcd"]\n',
  );
  await command('podman', ['build', '--quiet', '--tag', ETCD, folder], { env });
  rmSync(folder, { recursive: true });
}
