import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { musterHere } from '../../../support/service/muster-command.ts';

/* The Leases that a release gives up; test/cluster has the command where there is a cluster. */

const RELEASE = 'fleet/muster';

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'muster-'));
});
afterAll(() => rmSync(home, { recursive: true }));
afterEach(() => void vi.unstubAllEnvs());

/** An API server with a Lease in each namespace, held by the release, that answers its deletion with the status. */
async function apiServer(leases: Readonly<Record<string, number>>) {
  const deleted: string[] = [];
  const items = Object.keys(leases).map((namespace) => ({
    metadata: { name: 'muster-operator', namespace, uid: namespace, resourceVersion: '1' },
    spec: { holderIdentity: RELEASE },
  }));
  const server = createServer((request, response) => {
    request.resume();
    const namespace = /namespaces\/([^/]+)\//.exec(request.url ?? '')?.[1];
    if (namespace !== undefined) deleted.push(namespace);
    const status = namespace === undefined ? 200 : (leases[namespace] ?? 500);
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(
        JSON.stringify(
          namespace === undefined ? { apiVersion: 'coordination.k8s.io/v1', kind: 'LeaseList', items } : {},
        ),
      );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'a', user: {} }],
  };
  writeFileSync(join(home, 'config'), JSON.stringify(config));
  vi.stubEnv('KUBECONFIG', join(home, 'config'));
  return {
    deleted,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const teardown = (): ReturnType<typeof musterHere> =>
  musterHere(['kubernetes', 'teardown', '--no-resources', '--release', RELEASE]);

test.each([
  ['gone', 404],
  ["another one's by now", 409],
])('a Lease that is %s keeps no other one from being given up', async (_what, status) => {
  await using server = await apiServer({ one: status, two: 200, three: 200 });
  const { code, stderr } = await teardown();
  expect([code, server.deleted]).toEqual([0, ['one', 'two', 'three']]);
  expect(stderr).toContain(`Namespaces that ${RELEASE} gave up: 2.`);
});

test('a refusal ends it', async () => {
  await using server = await apiServer({ one: 403, two: 200 });
  const { code, stderr } = await teardown();
  expect([code, server.deleted]).toEqual([1, ['one']]);
  expect(stderr).toContain('The namespaces cannot be released: the API server answered 403');
});
