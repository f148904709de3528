import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { answeringApiServer } from '../../../support/kubernetes/answering-api-server.ts';
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
  const server = await answeringApiServer(home, (request, response) => {
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
  });
  return { deleted, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const teardown = (): ReturnType<typeof musterHere> =>
  musterHere(['kubernetes', 'teardown', '--yes', '--no-resources', '--release', RELEASE]);

test.each([
  ['gone', 404],
  ["another one's by now", 409],
])('a Lease that is %s keeps no other one from being given up', async (_what, status) => {
  await using server = await apiServer({ one: status, two: 200, three: 200 });
  const { code, stderr } = await teardown();
  expect([code, server.deleted]).toEqual([0, ['one', 'two', 'three']]);
  expect(stderr).toContain(`Namespaces that ${RELEASE} gave up: 2.`);
});

test('a release that is none is refused before the first resource is deleted', async () => {
  await using server = await apiServer({ one: 200 });
  const { code, stderr } = await musterHere(['kubernetes', 'teardown', '--release', 'muster']);
  expect([code, server.deleted]).toEqual([2, []]);
  expect(stderr).toContain('It is NAMESPACE/NAME.');
});

test('where nobody can be asked, nothing is removed without --yes', async () => {
  await using server = await apiServer({ one: 200 });
  const args = ['kubernetes', 'teardown', '--release', RELEASE, '--secret', 'keys', '--namespace', 'fleet'];
  const { code, stderr } = await musterHere(args);
  expect([code, server.deleted]).toEqual([2, []]);
  expect(stderr).toMatch(
    /every custom resource, .* hold of the release fleet\/muster on .*, the Secret fleet\/keys\? .* --yes/,
  );
});

test('a refusal ends it', async () => {
  await using server = await apiServer({ one: 403, two: 200 });
  const { code, stderr } = await teardown();
  expect([code, server.deleted]).toEqual([1, ['one']]);
  expect(stderr).toContain('The namespaces cannot be released: the API server answered 403');
});
