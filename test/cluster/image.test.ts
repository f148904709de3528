import { beforeAll, expect, test } from 'vitest';
import { OPERATOR_TOKEN } from '../support/service/muster.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { Container, podman } from './support/node/container.ts';
import { buildImage, type Image } from './support/node/image.ts';

/* deploy/Dockerfile: what is in the image, and how it runs where little is allowed. */

const BASE = 'docker.io/library/node:24-bookworm-slim';
const ADDED_BYTES_MAX = 60_000_000;

/** Ports that it chooses itself, on the machine's own network. */
const ENV = {
  MUSTER_API_LISTEN: '127.0.0.1:0',
  MUSTER_DEVICE_LISTEN: '127.0.0.1:0',
  MUSTER_OPS_LISTEN: '127.0.0.1:0',
  MUSTER_PANEL_LISTEN: '127.0.0.1:0',
  MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
};

describeOn('image', 'the image', () => {
  let image: Image;
  beforeAll(async () => {
    image = await buildImage();
  });

  const running = async (user: string): Promise<{ container: Container; ops: string }> => {
    const container = await Container.run({ image: image.name, user, env: ENV });
    const { ops } = JSON.parse(await container.line('muster is listening')) as { ops: { host: string; port: number } };
    return { container, ops: `http://${ops.host}:${ops.port}` };
  };

  test('runs as any user on a read-only file system, and ends with 0 at SIGTERM', async () => {
    const { container, ops } = await running('51234:51234');
    await using _ = container;
    for (const path of ['/readyz', '/docs', '/docs/page.js', '/docs/swagger-ui.js', '/docs/swagger-ui.css']) {
      expect([path, (await fetch(ops + path)).status]).toEqual([path, 200]);
    }
    expect(await container.exec('node', '--print', 'process.getuid()')).toBe('51234\n');
    await expect(container.exec('node', '--eval', 'fs.writeFileSync("/app/x", "")')).rejects.toThrow('EROFS');
    expect(await container.end('SIGTERM')).toBe(0);
    expect(await container.logs()).toContain('"msg":"muster has stopped"');
  });

  test('has one process, without a shell before it', async () => {
    const { container } = await running('65532:0');
    await using _ = container;
    const first = await container.exec('cat', '/proc/1/cmdline');
    expect(first.split('\0')).toEqual(['node', '--disable-sigusr1', '/app/bin/muster.mjs', 'serve', '']);
    const processes = await container.exec('sh', '-c', 'for p in /proc/[0-9]*; do cat $p/cmdline; echo; done');
    expect(processes.match(/muster\.mjs/g)).toHaveLength(1);
  });

  test('has the command beside the service', async () => {
    const { container, ops } = await running('51234:51234');
    await using _ = container;
    const told = await container.exec(
      'env',
      `MUSTER_CLIENT_OPS_URL=${ops}`,
      `MUSTER_CLIENT_OPERATOR_TOKEN=${OPERATOR_TOKEN}`,
      'muster',
      'doctor',
      '--running',
    );
    expect(told).toMatch(/^ok +service/m);
  });

  test('is by default a user with a number that is not root', async () => {
    expect((await podman('image', 'inspect', '--format={{.Config.User}}', image.name)).trim()).toBe('65532:0');
  });

  test('has the program, and nothing else', async () => {
    const there = ['/app/dist/src/main.js', '/app/node_modules/etcd3', '/app/node_modules/@kubernetes/client-node'];
    const packages = ['vitest', 'typescript', 'node', '@scarf', 'swagger-ui-dist'];
    const absent = ['/app/test', '/app/src', ...packages.map((name) => `/app/node_modules/${name}`)];
    const managers = ['npm', 'npx', 'corepack', 'yarn'].map((name) => `/usr/local/bin/${name}`);
    const paths = [...there, ...absent, ...managers];
    const script = `process.stdout.write(JSON.stringify(${JSON.stringify(paths)}.filter((p) => fs.existsSync(p))))`;
    const run = ['run', '--rm', '--network=none', '--runtime=runc', '--pull=never'];
    const bounds = ['--ulimit=nofile=1024:1024', '--ulimit=nproc=4096:4096'];
    const found = await podman(...run, ...bounds, '--entrypoint=node', image.name, '--eval', script);
    expect(JSON.parse(found)).toEqual(there);
  });

  test('adds no more than 60 MB to its base', async () => {
    const sizeOf = async (name: string): Promise<number> =>
      Number(await podman('image', 'inspect', '--format={{.Size}}', name));
    const added = (await sizeOf(image.name)) - (await sizeOf(BASE));
    process.stdout.write(`The image adds ${(added / 1e6).toFixed(1)} MB to its base.\n`);
    expect(added).toBeLessThan(ADDED_BYTES_MAX);
  });
});
