import { execFile } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addUser } from '../../support/etcd/etcd-users.ts';
import type { EtcdCluster } from '../../support/etcd/etcd.ts';
import { commandsOf } from '../../support/repository/document-commands.ts';
import { Cluster } from '../support/cluster.ts';
import { describeOn, toolPath } from '../support/control-plane/tools.ts';
import { etcdBeside } from '../support/etcd-beside.ts';
import { buildImage, type Image } from '../support/node/image.ts';
import { etcdCertificates } from '../support/release-values.ts';
import { giveAddress } from '../support/release.ts';

/*
 * docs/INSTALL.md from an empty cluster to a daemon that polls: its commands are run as they stand, one after the
 * other.
 */

const ROOT = join(import.meta.dirname, '../../..');
const DOCUMENT = 'docs/INSTALL.md';
const PASSWORD = 'of etcd';

describeOn('cluster', 'docs/INSTALL.md, followed by pasting alone', () => {
  let cluster: Cluster;
  let folder: string;
  const opened = new AsyncDisposableStack();
  beforeAll(async () => {
    const image = await buildImage();
    cluster = opened.use(await Cluster.start({ nodes: 2 }));
    await cluster.load(image.archive);
    const etcd = opened.use(await etcdBeside(cluster));
    await addUser(etcd, { username: 'muster', password: PASSWORD }, '/muster/');
    folder = preparedFolder(cluster, etcd, image);
  });
  afterAll(() => opened.disposeAsync());

  /** Runs it in a shell that ends at the first command that fails. @returns what it printed */
  const paste = async (commands: string): Promise<string> => {
    const env = { ...process.env, KUBECONFIG: cluster.plane.kubeconfig, PATH: `${folder}/bin:${process.env['PATH']}` };
    const options = { cwd: folder, env, maxBuffer: OUTPUT_BYTES_MAX };
    return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], options)).stdout;
  };

  test('an empty cluster has a release on both nodes that passes its test', async () => {
    // A production cluster has what gives a Service of type LoadBalancer its address.
    const [said] = await Promise.all([
      paste(commandsOf(DOCUMENT, 'Production')),
      giveAddress(cluster, 'fleet', 'muster-device'),
    ]);
    expect(said).toMatch(/^Phase: +Succeeded$/m);
    const nodes = await paste('kubectl -n fleet get pods -l muster.dev/ops=true -o jsonpath={.items[*].spec.nodeName}');
    expect([...new Set(nodes.split(' '))].sort()).toEqual(['node1', 'node2']);
  });

  test('the first walk ends with a daemon that is enrolled, polls, and has applied its configuration', async () => {
    const said = await paste(commandsOf(DOCUMENT, 'A first walk'));
    expect(said).toMatch(/^fleetapp\.muster\.dev\/scanner condition met$/m);
    expect(said).toMatch(/^fleetotelconfig\.muster\.dev\/acme condition met$/m);
    expect(await paste('kubectl -n edge-north exec scanner -- cat /data/otel.yaml')).toContain(
      'endpoint: "https://otel.example.com"',
    );
    // A change reaches the poll that it holds.
    await paste(
      `kubectl -n edge-north patch fleetotelconfig acme --type=merge -p '{"spec":{"endpoint":"${CHANGED}"}}'`,
    );
    await paste(`until kubectl -n edge-north exec scanner -- grep -q ${CHANGED} /data/otel.yaml; do sleep 1; done`);
  });
});

const CHANGED = 'https://other.example.com';
const OUTPUT_BYTES_MAX = 10_000_000;

/** What the document says lies there, and the programs that it calls. */
function preparedFolder(cluster: Cluster, etcd: EtcdCluster, { name }: Image): string {
  const folder = mkdtempSync(join(cluster.plane.directory, 'install-'));
  for (const [file, path] of Object.entries(etcdCertificates(etcd))) copyFileSync(path, join(folder, file));
  writeFileSync(join(folder, 'password'), PASSWORD);
  const [repository = '', tag = ''] = name.split(':');
  const values = {
    // The nodes have it already.
    image: { repository, tag },
    store: { etcd: { endpoints: etcd.urls } },
    operator: { deviceUrl: 'https://muster-device.fleet.svc' },
    metrics: { podMonitor: { enabled: false }, prometheusRule: { enabled: false } },
  };
  writeFileSync(join(folder, 'my-values.yaml'), JSON.stringify(values));
  for (const part of ['charts', 'examples']) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  mkdirSync(join(folder, 'bin'));
  symlinkSync(toolPath('kubectl'), join(folder, 'bin/kubectl'));
  symlinkSync(toolPath('helm3'), join(folder, 'bin/helm'));
  return folder;
}
