import { join, resolve } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../../../src/version.ts';
import { Cluster } from '../support/cluster.ts';
import { command } from '../support/control-plane/command.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { ContainerTools } from '../support/node/container-tools.ts';
import { podman } from '../support/node/container.ts';
import { buildImage } from '../support/node/image.ts';

/* `npm run image`, by the tools that are here. */

const ROOT = resolve(import.meta.dirname, '../../..');
const ARCHIVE = join(ROOT, `dist-image/muster-${VERSION}.tar`);

describeOn('image', 'npm run image', () => {
  let tools: ContainerTools;
  beforeAll(async () => {
    await buildImage();
    tools = new ContainerTools();
  });
  afterAll(() => tools[Symbol.dispose]());

  test.each(['podman', 'buildah'])('%s builds and saves the image that the chart’s defaults name', async (name) => {
    const args = [join(ROOT, 'scripts/image.ts'), '--with', name, '--', ...tools.building];
    const told = await command(process.execPath, args, { cwd: ROOT, env: tools.env });
    const id = /sha256:([0-9a-f]{64})/.exec(told)?.[1] ?? '';
    expect(told).toContain(`muster:${VERSION} is built by ${name} (sha256:${id})`);
    for (const load of ['kind load image-archive', 'k3d image import', 'minikube image load'])
      expect(told).toContain(`${load} dist-image/muster-${VERSION}.tar\n`);
    expect(told).toContain('\n  helm install muster charts/muster --namespace fleet --create-namespace --wait\n');

    const manifest = await command('tar', ['--extract', '--to-stdout', '--file', ARCHIVE, 'manifest.json']);
    // A node reads muster:VERSION, without a registry, as this name.
    const saved = { Config: `${id}.json`, RepoTags: [`docker.io/library/muster:${VERSION}`] };
    expect(JSON.parse(manifest)).toEqual([expect.objectContaining(saved)]);
    // compose.yaml, too, names it so.
    expect((await podman('image', 'inspect', '--format={{.Id}}', `muster:${VERSION}`)).trim()).toBe(id);
  });
});

describeOn('cluster', 'the archive of npm run image', () => {
  test('is what the chart’s defaults name, where no registry is reached', async () => {
    await buildImage();
    using tools = new ContainerTools();
    const args = [join(ROOT, 'scripts/image.ts'), '--with', 'podman', '--', ...tools.building];
    await command(process.execPath, args, { cwd: ROOT, env: tools.env });
    await using cluster = await Cluster.start({ nodes: 1 });
    await cluster.load(ARCHIVE);
    // docs/INSTALL.md has a volume, and this cluster no StorageClass.
    const install = ['install', 'muster', join(ROOT, 'charts/muster'), '--namespace', 'fleet', '--create-namespace'];
    await cluster.plane.helm(3, [...install, '--wait', '--set', 'store.sqlite.persistence.enabled=false']);
    const image = '--output=jsonpath={.spec.template.spec.containers[0].image}';
    const named = await cluster.kubectl(['get', 'deployment', 'muster', '--namespace', 'fleet', image]);
    expect(named).toBe(`muster:${VERSION}`);
  });
});
