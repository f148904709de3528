import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { answeringApiServer } from '../../../support/kubernetes/answering-api-server.ts';
import { musterHere } from '../../../support/service/muster-command.ts';

/* What an API server may answer; test/cluster/status.test.ts has the command on a real one. */

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'muster-'));
});
afterAll(() => rmSync(home, { recursive: true }));
afterEach(() => void vi.unstubAllEnvs());

type Answer = (path: string, query: URLSearchParams) => readonly [status: number, body: object] | 'silence';

async function apiServer(answer: Answer): Promise<AsyncDisposable & { readonly asked: string[] }> {
  const asked: string[] = [];
  const server = await answeringApiServer(home, ({ url = '' }, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(url, 'http://api');
    const path = pathname.replace('/apis/muster.dev/v1beta1/', '');
    asked.push(path);
    const answered = answer(path, searchParams);
    if (answered === 'silence') return;
    response.writeHead(answered[0], { 'content-type': 'application/json' }).end(JSON.stringify(answered[1]));
  });
  return { asked, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const resource = (namespace: string, name: string, status: 'True' | 'False', message = 'It is so.') => ({
  metadata: { namespace, name, generation: 1, creationTimestamp: '2026-06-01T12:00:00Z' },
  status: { conditions: [{ type: 'Ready', status, reason: 'Synced', message, observedGeneration: 1 }] },
});
const list = (items: readonly object[], next = ''): [number, object] => [200, { metadata: { continue: next }, items }];
const refusal = (code: number): [number, object] => [code, { kind: 'Status', code, message: 'it may not' }];
/** FleetApps as they are given, and nothing else. */
const apps =
  (answered: ReturnType<Answer>): Answer =>
  (path) =>
    path.endsWith('fleetapps') ? answered : list([]);
const status = (...args: string[]) => musterHere(['kubernetes', 'status', ...args]);

test('all that is ready: exit code 0', async () => {
  await using _ = await apiServer(apps(list([resource('b', 'second', 'True'), resource('a', 'first', 'True')])));
  const { code, stdout } = await status('-o', 'id');
  expect([code, stdout]).toEqual([0, 'a/FleetApp/first\nb/FleetApp/second\n']);
});

test('what is not ready comes first, and ends the command with 3; the table is one line for each', async () => {
  const hostile = 'no\nsecond line \u001b[31m \u202e';
  await using _ = await apiServer(apps(list([resource('a', 'well', 'True'), resource('z', 'ill', 'False', hostile)])));
  const { code, stdout, stderr } = await status();
  const lines = stdout.trimEnd().split('\n');
  expect(lines[0]).toMatch(/^NAMESPACE +KIND +NAME +READY +REASON +MESSAGE +AGE$/);
  expect(lines[1]).toMatch(/^z +FleetApp +ill +no +Synced +no\\x0asecond line \\x1b\[31m \\u202e +\d+ \w+ ago$/);
  expect(lines[2]).toMatch(/^a +FleetApp +well +yes +Synced +It is so\. /);
  expect([code, lines.length, stderr]).toEqual([3, 3, 'muster: 1 of 2 resources are not ready.\n']);
});

test('with --not-ready what is ready is left out, and the exit code stays', async () => {
  await using _ = await apiServer(apps(list([resource('a', 'well', 'True'), resource('z', 'ill', 'False')])));
  const { code, stdout } = await status('--not-ready', '-o', 'id');
  expect([code, stdout]).toEqual([3, 'z/FleetApp/ill\n']);
});

test('json has the conditions, too', async () => {
  await using _ = await apiServer(apps(list([resource('a', 'well', 'True')])));
  const { stdout } = await status('-o', 'json');
  expect(JSON.parse(stdout)).toEqual([
    {
      namespace: 'a',
      kind: 'FleetApp',
      name: 'well',
      ready: true,
      reason: 'Synced',
      message: 'It is so.',
      createdAt: '2026-06-01T12:00:00Z',
      conditions: [{ type: 'Ready', status: 'True', reason: 'Synced', message: 'It is so.' }],
    },
  ]);
});

test('pages are followed to the last one, and anew where they have expired', async () => {
  let expired = true;
  await using _ = await apiServer((path, query) => {
    if (path !== 'fleetapps') return list([]);
    expect(query.get('limit')).toBe('500');
    if (query.get('continue') === null) return list([resource('a', 'one', 'True')], 'more');
    if (!expired) return list([resource('a', 'two', 'True')]);
    expired = false;
    return refusal(410);
  });
  expect((await status('-o', 'id')).stdout).toBe('a/FleetApp/one\na/FleetApp/two\n');
});

test('without the definitions: one sentence, and exit code 1', async () => {
  await using server = await apiServer(() => refusal(404));
  const { code, stdout, stderr } = await status();
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toBe(
    'muster: The cluster has no definitions of Muster: install the chart with crds.install=true, or choose another cluster by KUBECONFIG.\n',
  );
  expect(server.asked).toHaveLength(4);
});

test('without one of them the others are shown', async () => {
  await using _ = await apiServer((path) =>
    path === 'fleetapps' ? list([resource('a', 'well', 'True')]) : path === 'fleetapikeys' ? refusal(404) : list([]),
  );
  const { code, stdout, stderr } = await status('-o', 'id');
  expect([code, stdout]).toEqual([1, 'a/FleetApp/well\n']);
  expect(stderr).toBe('muster: The cluster has no definition of fleetapikeys: upgrade the release.\n');
});

test('a namespace that may not be seen is named, and the others are shown', async () => {
  await using server = await apiServer((path) =>
    path.startsWith('namespaces/theirs/')
      ? refusal(403)
      : path.endsWith('/fleetapps')
        ? list([resource('ours', 'x', 'True')])
        : list([]),
  );
  const { code, stdout, stderr } = await status('-n', 'ours', '-n', 'theirs', '-n', 'ours', '-o', 'id');
  expect([code, stdout]).toEqual([5, 'ours/FleetApp/x\n']);
  expect(stderr).toMatch(/^muster: This user may not list fleetaccounts in the namespace theirs, fleetapikeys in/);
  expect(server.asked).toHaveLength(8);
});

test('without the right to see all namespaces it says how to see some', async () => {
  await using _ = await apiServer(() => refusal(403));
  const { code, stderr } = await status();
  expect(code).toBe(5);
  expect(stderr).toContain('fleetotelconfigs in all namespaces: name the namespaces that it may see by --namespace.');
});

test('of resources that it may not list it does not say that there are none, or that all are ready', async () => {
  const none = /There is no custom resource that could be listed\.\n/;
  {
    await using _ = await apiServer(() => refusal(403));
    expect((await status()).stderr).toMatch(none);
  }
  await using _ = await apiServer((path) =>
    path.endsWith('fleetapps') ? list([resource('a', 'well', 'True')]) : refusal(403),
  );
  expect((await status('--not-ready')).stderr).toMatch(/^Every custom resource that could be listed is ready\.\n/);
});

test('the token in a file of the kubeconfig is that of the request', async () => {
  const tokens: unknown[] = [];
  await using _ = await answeringApiServer(home, ({ headers }, response: ServerResponse) => {
    tokens.push(headers.authorization);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(list([])[1]));
  });
  const config = join(home, 'config');
  writeFileSync(config, readFileSync(config, 'utf8').replace('"user":{}', '"user":{"tokenFile":"token"}'));
  expect(await status()).toMatchObject({ code: 2, stderr: expect.stringContaining('token has no token.') as string });
  expect(tokens).toEqual([]);
  writeFileSync(join(home, 'token'), 'ey.of-a.file\n');
  expect((await status()).code).toBe(0);
  expect(new Set(tokens)).toEqual(new Set(['Bearer ey.of-a.file']));
});

test('the token is found where the kubeconfig is in several files, each with a path from its own folder', async () => {
  const tokens: unknown[] = [];
  await using _ = await answeringApiServer(home, ({ headers }, response: ServerResponse) => {
    tokens.push(headers.authorization);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(list([])[1]));
  });
  const folder = join(home, 'users');
  mkdirSync(folder);
  const { users: _users, ...config } = JSON.parse(readFileSync(join(home, 'config'), 'utf8')) as { users: unknown };
  writeFileSync(join(home, 'config'), JSON.stringify({ ...config, users: [] }));
  writeFileSync(join(folder, 'config'), JSON.stringify({ users: [{ name: 'a', user: { tokenFile: 'token' } }] }));
  writeFileSync(join(folder, 'token'), 'of-the-second');
  const KUBECONFIG = [join(home, 'config'), join(folder, 'config')].join(delimiter);
  vi.stubEnv('KUBECONFIG', KUBECONFIG);
  expect((await musterHere(['kubernetes', 'status'], { KUBECONFIG })).code).toBe(0);
  expect(new Set(tokens)).toEqual(new Set(['Bearer of-the-second']));
});

test('an API server that is silent is given up after the time that was given', async () => {
  await using _ = await apiServer(() => 'silence');
  const { code, stderr } = await status('--timeout', '1s');
  expect([code, stderr]).toEqual([
    1,
    'muster: The API server does not answer a listing of fleetaccounts within 1 s.\n',
  ]);
});

test.each<[string, Answer, number, RegExp]>([
  ['does not take the credential', () => refusal(401), 5, /does not take the credential of the kubeconfig/],
  ['fails', () => refusal(500), 1, /fleetaccounts cannot be listed: the API server answered 500: it may not/],
  ['answers something else', () => [200, { hello: 'world' }], 1, /answers a listing of fleetaccounts as none does/],
])('an API server that %s', async (_what, answer, exit, words) => {
  await using _ = await apiServer(answer);
  const { code, stderr } = await status();
  expect([code, stderr]).toEqual([exit, expect.stringMatching(words)]);
});

test('no resource at all is no fault', async () => {
  await using _ = await apiServer(() => list([]));
  expect(await status()).toEqual({ code: 0, stdout: '', stderr: 'There is no custom resource of Muster.\n' });
});

test('a resource without a status is one that nobody has seen', async () => {
  await using _ = await apiServer(apps(list([{ metadata: { namespace: 'a', name: 'new', generation: 1 } }])));
  const { code, stdout } = await status();
  expect([code, stdout]).toEqual([3, expect.stringContaining('NotSeen  No operator has seen it: none follows its')]);
});

test('a name that is no namespace is refused before anything is asked', async () => {
  await using server = await apiServer(() => list([]));
  const { code, stderr } = await status('-n', '../x');
  expect([code, server.asked]).toEqual([2, []]);
  expect(stderr).toContain('It is the name of a namespace.');
});
