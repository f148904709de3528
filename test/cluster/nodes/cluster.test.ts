import { execFile } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { processesNaming } from '../support/clearing.ts';
import { Cluster } from '../support/cluster.ts';
import { eventually } from '../support/control-plane/program.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { buildImage, type Image } from '../support/node/image.ts';

/* The cluster that the tests of an installation rely on, with a plain Deployment of the image. */

const KERNEL = ['kernel/panic', 'kernel/panic_on_oops', 'vm/overcommit_memory'];
const kernelSettings = (): string[] => KERNEL.map((name) => readFileSync(`/proc/sys/${name}`, 'utf8'));

describeOn('cluster', 'a cluster of two nodes', () => {
  let before: readonly string[];
  let cluster: Cluster;
  let image: Image;
  beforeAll(async () => {
    before = kernelSettings();
    image = await buildImage();
    cluster = await Cluster.start({ nodes: 2 });
    await cluster.load(image.archive);
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  test('runs the image on both nodes, behind a Service that this machine reaches', async () => {
    await cluster.kubectl(['label', 'namespace', 'default', 'pod-security.kubernetes.io/enforce=restricted']);
    await cluster.kubectl(['apply', '--filename=-'], JSON.stringify(deployment(image.name)));
    await cluster.kubectl(['expose', 'deployment', 'muster', '--port=80', '--target-port=8082']);
    await cluster.kubectl(['rollout', 'status', 'deployment', 'muster', '--timeout=300s']);
    const nodes = await cluster.kubectl(['get', 'pods', '--output=jsonpath={.items[*].spec.nodeName}']);
    expect(nodes.split(' ').sort()).toEqual(['node1', 'node2']);
    const address = await cluster.kubectl(['get', 'service', 'muster', '--output=jsonpath={.spec.clusterIP}']);
    await eventually('the Service answers', () =>
      fetch(`http://${address}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
  });

  test('pods find Services by name, and this machine by its address', async () => {
    const exec = ['exec', 'deploy/muster', '--', 'node', '--eval'];
    const name = 'muster.default.svc.cluster.local';
    await eventually('the name is known', () =>
      cluster
        .kubectl([...exec, `fetch("http://${name}/readyz").then(({ status }) => process.exit(status - 200))`])
        .then(
          () => true,
          () => false,
        ),
    );
    const seen = `require("net").connect(1, "${cluster.hostAddress}").on("error", ({ code }) => console.log(code))`;
    expect(await cluster.kubectl([...exec, seen])).toBe('ECONNREFUSED\n');
  });

  test('nothing of it is left', async () => {
    const { plane, nodes } = cluster;
    const there = (): boolean[] => [
      existsSync(plane.directory),
      ...nodes.map(({ containerd }) => existsSync(`/proc/${containerd.pid}`)),
    ];
    expect(new Set(there().slice(1))).toEqual(new Set([true]));
    await cluster[Symbol.asyncDispose]();
    expect(there()[0]).toBe(false);
    expect(new Set(there().slice(1))).toEqual(new Set([false]));
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(plane.directory);
    // Another cluster that runs beside this one restores them.
    const beside = readdirSync('/run/muster-kubernetes').some((name) => /^\d+$/.test(name));
    expect(beside ? before : kernelSettings()).toEqual(before);
  });

  test('what a killed run leaves is cleared when the next cluster starts', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [CRASHING]).catch(outputOf);
    const directory = stdout.trim();
    expect([directory, existsSync(directory)]).toEqual([expect.stringContaining('muster-kubernetes-'), true]);
    // A pod's processes have no parent that would end them; they name the folder of the cluster's sockets.
    const sockets = globSync('/run/muster-kubernetes/*/files').find((file) => readFileSync(file, 'utf8') === directory);
    const left = processesNaming([dirname(sockets ?? '')]);
    expect(left).not.toEqual([]);
    await using _ = await Cluster.start({ nodes: 1 });
    expect([left.filter((pid) => existsSync(`/proc/${pid}`)), existsSync(directory)]).toEqual([[], false]);
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(directory);
  });
});

const CRASHING = join(import.meta.dirname, '../support/node/crashing-run.ts');

/** Of a command that a signal has ended. @throws the error of any other */
function outputOf(error: unknown): { stdout: string } {
  const { signal, stdout } = error as { signal?: string; stdout?: string };
  if (signal !== 'SIGKILL' || stdout === undefined) throw error;
  return { stdout };
}

function deployment(image: string): object {
  const labels = { app: 'muster' };
  const container = {
    name: 'muster',
    image,
    imagePullPolicy: 'Never',
    env: [{ name: 'MUSTER_DATA_DIR', value: '/data' }],
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
    readinessProbe: { httpGet: { path: '/readyz', port: 8082 }, periodSeconds: 1 },
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
  };
  const spread = { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule' };
  const spec = {
    securityContext: { runAsNonRoot: true, fsGroup: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    topologySpreadConstraints: [{ ...spread, labelSelector: { matchLabels: labels } }],
    containers: [container],
    volumes: [{ name: 'data', emptyDir: {} }],
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'muster', namespace: 'default' },
    spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}
