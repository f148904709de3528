import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { get, setGlobalProxyFromEnv, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { openEtcdStore } from '../../../src/store/etcd/etcd-store.ts';
import { detailsOf } from '../../../src/store/etcd/wire/errors.ts';
import { textOverHttp } from '../../../src/store/etcd/wire/http.ts';
import { NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { ConnectProxy } from '../../support/http/connect-proxy.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { MainProgram } from '../../support/service/main-program.ts';
import { KEY_FILE_TEXT } from '../../support/service/muster.ts';
import { etcdBackend } from '../../support/store/backends.ts';
import { until } from '../../support/time/until.ts';
import { put, writing } from '../conformance/harness.ts';

const url = inject('etcd');
const skipped = url === undefined ? ` [skipped: ${NO_ETCD}]` : '';
const VARIABLES = ['grpc_proxy', 'https_proxy', 'http_proxy'];

const place = scratchDirectory('proxy-variables');
afterAll(() => rmSync(place, { recursive: true }));
afterEach(() => void vi.unstubAllEnvs());

/** The address of a proxy that is not there any more. */
async function nobody(): Promise<string> {
  await using gone = await ConnectProxy.start();
  return gone.url;
}

describe.skipIf(url === undefined)(`proxies in the environment${skipped}`, () => {
  const open = () => openEtcdStore({ endpoints: [url ?? ''], prefix: `${randomUUID()}/` });

  test.each(VARIABLES)('etcd is never reached through that of %s', async (variable) => {
    await using proxy = await ConnectProxy.start();
    vi.stubEnv(variable, proxy.url);
    await using store = await open();
    expect(await store.commit(writing(put('k', 'v')))).toMatchObject({ outcome: 'committed' });
    expect(await entriesOf(store, 'k')).toHaveLength(1);
    expect(proxy.seen).toEqual([]);
  });

  test('etcd is reached also where they name a proxy that is not there', async () => {
    const gone = await nobody();
    for (const variable of VARIABLES) vi.stubEnv(variable, gone);
    await using store = await open();
    expect(await store.head()).toEqual({ revision: 0, epochId: '' });
  });

  test('what etcd tells over plain HTTP is asked directly, also where Node itself goes by a proxy', async () => {
    await using proxy = await ConnectProxy.start();
    const restore = setGlobalProxyFromEnv({ http_proxy: proxy.url });
    onTestFinished(restore);
    const options = { tls: undefined, deadlineMs: 60_000, charactersMax: 10_000 };
    expect(await textOverHttp(new URL('/version', url), options)).toContain('etcdserver');
    expect(proxy.seen).toEqual([]);
    // The neighbour: an agent that is not chosen goes by it.
    proxy.instead = 502;
    const asked = get('http://nobody.example/');
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    expect(proxy.targets).toEqual(['GET http://nobody.example/']);
  });

  test('the service starts on etcd and sends nothing to them, NODE_USE_ENV_PROXY or not', async () => {
    await using proxy = await ConnectProxy.start();
    const keys = join(place, 'keys');
    writeFileSync(keys, KEY_FILE_TEXT, { mode: 0o600 });
    const { store = '', env = {} } = etcdBackend(url ?? '').place();
    const proxies = Object.fromEntries(VARIABLES.map((variable) => [variable, proxy.url]));
    await using program = new MainProgram({
      ...env,
      ...proxies,
      NODE_USE_ENV_PROXY: '1',
      MUSTER_STORE: store,
      MUSTER_KEY_FILE: keys,
      MUSTER_DATA_DIR: place,
    });
    const { ops } = await program.listening;
    await until(async () => (await fetch(`${ops}/readyz`)).ok);
    expect(proxy.seen).toEqual([]);
  });
});

test.each([
  [
    'No connection established. Last error: undefined. Resolution note: ',
    'No connection established. No reason is known',
  ],
  ['No connection established. Last error: null. Resolution note: ', 'No connection established. No reason is known'],
  [
    'round_robin: No connection established. Last error: undefined',
    'round_robin: No connection established. No reason is known',
  ],
  [
    'No connection established. Last error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: ',
    'No connection established. Last error: connect ECONNREFUSED 127.0.0.1:1',
  ],
  [
    'Last error: Error: undefined behaviour. Resolution note: x',
    'Last error: Error: undefined behaviour. Resolution note: x',
  ],
])('%j is told as %j', (details, words) => {
  expect(detailsOf({ details })).toBe(words);
});
