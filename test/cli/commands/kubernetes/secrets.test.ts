import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { openSqliteStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { answeringApiServer } from '../../../support/kubernetes/answering-api-server.ts';
import { musterCommand, musterHere } from '../../../support/service/muster-command.ts';
import { Muster, tenant } from '../../../support/service/muster.ts';

/* Where there is no cluster; test/cluster/chart.test.ts has the same commands where there is one. */

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'muster-'));
  writeFileSync(join(home, 'broken'), 'apiVersion: v1\nclusters: [\n');
});
afterAll(() => rmSync(home, { recursive: true }));
afterEach(() => void vi.unstubAllEnvs());

test.each<[string, readonly string[], Record<string, string>, RegExp]>([
  ['no cluster', ['secrets', '--name=a'], {}, /^muster: No cluster: run it in a pod, or set KUBECONFIG\.\n$/],
  ['no cluster to clean up', ['teardown'], {}, /^muster: No cluster/],
  [
    'a kubeconfig that is none',
    ['secrets', '--name=a'],
    { KUBECONFIG: 'broken' },
    /^muster: The kubeconfig cannot be used: /,
  ],
  [
    'a namespace that cannot be',
    ['rbac', 'A_B', '--release=a/b', '--service-account=a/b'],
    {},
    /^muster: The namespace/,
  ],
  ['no release', ['rbac', 'a', '--service-account=a/b'], {}, /^muster: --release: it is NAMESPACE\/NAME/],
  [
    'an account in no namespace',
    ['rbac', 'a', '--release=a/b', '--service-account=b'],
    {},
    /^muster: --service-account: /,
  ],
  ['no name', ['secrets'], {}, /required option '--name/],
  ['a time that is none', ['teardown', '--timeout=soon'], {}, /It is a duration with its unit/],
])('%s is wrong usage', async (_what, args, env, words) => {
  // The client of Kubernetes reads the environment of the process.
  vi.stubEnv('HOME', home);
  vi.stubEnv('KUBECONFIG', env['KUBECONFIG'] === undefined ? undefined : join(home, env['KUBECONFIG']));
  const { code, stderr } = await musterHere(['kubernetes', ...args]);
  expect([code, stderr]).toEqual([2, expect.stringMatching(words)]);
});

test('so it is of a process', async () => {
  const { code, stderr } = await musterCommand(['kubernetes', 'secrets', '--name=a'], { HOME: home });
  expect([code, stderr]).toEqual([2, 'muster: No cluster: run it in a pod, or set KUBECONFIG.\n']);
});

test.each(['1.1', '1.2'] as const)(
  'a Role is for its namespace, whatever YAML %s takes its name for',
  async (version) => {
    const names = ['team-a', 'yes', '0o17', '017', '1e3'];
    const options = ['--release=a/b', '--service-account=a/b'];
    for (const name of names) {
      const { stdout } = await musterCommand(['kubernetes', 'rbac', name, ...options]);
      const objects = parseAllDocuments(stdout, { version }).map((document) => document.toJS() as Labelled);
      expect(objects.map(({ kind, metadata }) => [kind, metadata.namespace])).toEqual([
        ['Role', name],
        ['RoleBinding', name],
      ]);
    }
  },
);

interface Labelled {
  readonly kind: string;
  readonly metadata: { readonly namespace: string };
}

interface Asked extends AsyncDisposable {
  readonly asked: string[];
  /** The values that Secrets were to have. */
  readonly sent: string[];
}

/**
 * An API server that answers each creation of a Secret with the next status, and keeps what was sent. Its refusals
 * quote that, as a policy may.
 */
async function apiServer(...statuses: readonly number[]): Promise<Asked> {
  const [asked, sent]: [string[], string[]] = [[], []];
  const answers = [...statuses];
  const server = await answeringApiServer(home, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const status = answers.shift() ?? 500;
      const { stringData = {} } = JSON.parse(Buffer.concat(chunks).toString()) as {
        stringData?: Record<string, string>;
      };
      asked.push(`${request.url} ${Object.keys(stringData).toString()} → ${status}`);
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ message: `a policy refuses ${Object.values(stringData).join(' and ')}` }));
      sent.push(...Object.values(stringData));
    });
  });
  return { asked, sent, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const SECRETS = '/api/v1/namespaces/default/secrets';
const TRIED = `${SECRETS}?dryRun=All&fieldManager=muster operator-token,keys`;
const MADE = `${SECRETS}?fieldManager=muster operator-token,keys,store-id`;

test.each<[string, readonly number[], readonly string[], boolean]>([
  ['made with the Secret where there is none', [201, 201], [`${TRIED} → 201`, `${MADE} → 201`], true],
  ['left alone where the Secret is there', [409], [`${TRIED} → 409`], false],
  ['there, with its id, where the Secret came meanwhile', [201, 409], [`${TRIED} → 201`, `${MADE} → 409`], true],
  ['left alone where Secrets may not be made', [403], [`${TRIED} → 403`], false],
])('the store is %s', async (_, statuses, asked, isMade) => {
  await using server = await apiServer(...statuses);
  const file = join(home, 'muster.db');
  rmSync(file, { force: true });
  const args = ['kubernetes', 'secrets', '--name=a', '--store-id-key=store-id'];
  const { code } = await musterHere(args, { MUSTER_STORE: `sqlite:${file}` });
  expect([code, server.asked, existsSync(file)]).toEqual([statuses.includes(403) ? 1 : 0, asked, isMade]);
});

test('a refusal that quotes the Secret is told of without its words', async () => {
  await using server = await apiServer(403);
  const { code, stdout, stderr } = await musterHere(['kubernetes', 'secrets', '--name=a']);
  expect([code, server.sent.length]).toEqual([1, 2]);
  expect(stderr).toContain('The Secret default/a cannot be made: the API server answered 403');
  for (const value of server.sent) expect(stdout + stderr).not.toContain(value.trim());
});

test('no Secret is made where the store cannot be', async () => {
  await using server = await apiServer(201);
  const args = ['kubernetes', 'secrets', '--name=a', '--store-id-key=store-id'];
  const { code, stderr } = await musterHere(args, { MUSTER_STORE: `sqlite:${home}` });
  expect([code, server.asked]).toEqual([1, [`${TRIED} → 201`]]);
  expect(stderr).toContain('cannot be made');
});

const withSecrets = (store: string): ReturnType<typeof musterHere> =>
  musterHere(['kubernetes', 'secrets', '--name=a', '--store-id-key=store-id'], { MUSTER_STORE: store });

test('a Job that was killed once the store had its id makes the Secret when it runs again, with that id', async () => {
  const store = `sqlite:${join(home, 'begun.db')}`;
  const { stdout } = await musterHere(['init-store'], { MUSTER_STORE: store });
  await using server = await apiServer(201, 201);
  const { code } = await withSecrets(store);
  expect([code, server.asked]).toEqual([0, [`${TRIED} → 201`, `${MADE} → 201`]]);
  expect((await musterHere(['init-store'], { MUSTER_STORE: store })).stdout).toBe(stdout);
});

test.each<[string, number, number, RegExp]>([
  ['is lost where the store is in use: no new key is made', 201, 1, /missing.*restore your copy of the Secret/],
  ['may come while the store is looked at, and a service start with it', 409, 0, /there already/],
])('a Secret %s', async (_, secondTry, code, words) => {
  const path = join(home, `used-${secondTry}.db`);
  {
    await using muster = await Muster.start({ store: `sqlite:${path}` });
    await tenant(muster);
  }
  const headOf = async (): Promise<number> => {
    await using store = await openSqliteStore(path);
    return (await store.head()).revision;
  };
  const before = await headOf();
  await using server = await apiServer(201, secondTry);
  expect(await withSecrets(`sqlite:${path}`)).toMatchObject({ code, stderr: expect.stringMatching(words) as string });
  expect(server.asked).toEqual([`${TRIED} → 201`, `${TRIED} → ${secondTry}`]);
  expect(await headOf()).toBe(before);
});
