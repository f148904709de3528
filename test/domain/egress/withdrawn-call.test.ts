import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGuardedEgress, type EgressDeps } from '../../../src/domain/egress/guarded-egress.ts';
import { StoreUnavailable } from '../../../src/store/port.ts';
import { rangesOf } from '../../../src/text/ip-addresses.ts';
import { selfSigned } from '../../support/http/certificates.ts';
import { ConnectProxy } from '../../support/http/connect-proxy.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* Calls whose right to send ends while they are under way. */

const place = scratchDirectory('withdrawn-call');
const known = selfSigned(place, 'known');
const authorities = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...authorities, known.cert]));
afterAll(() => {
  setDefaultCACertificates(authorities);
  rmSync(place, { recursive: true });
});

const HEADER = 'Bearer wt7-secret';

/** A server that notes what it was sent, byte for byte, and answers once it may. */
async function server() {
  let sent = '';
  const answering = Promise.withResolvers<void>();
  const http = createServer((_request, response) => {
    void answering.promise.then(() => response.end());
  });
  http.on('connection', (socket) => socket.on('error', () => undefined).on('data', (bytes) => (sent += String(bytes))));
  await once(http.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (http.address() as AddressInfo).port,
    sent: () => sent,
    answer: () => answering.resolve(),
    isIdle: async (): Promise<boolean> => {
      const { promise, resolve } = Promise.withResolvers<number>();
      http.getConnections((_error, count) => resolve(count));
      return (await promise) === 0;
    },
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}

function caller(deps: Partial<EgressDeps> = {}) {
  const over = new AbortController();
  const egress = createGuardedEgress({
    clock: new FakeClock(),
    proxy: undefined,
    allow: rangesOf('127.0.0.1'),
    ownAddresses: () => [],
    ownPorts: () => [],
    storeUrls: [],
    resolve: async () => ['127.0.0.1'],
    ...deps,
  });
  return {
    withdraw: () => over.abort(),
    post: (url: string, maySend: () => Promise<boolean> = async () => true) =>
      egress.post({
        url: new URL(url),
        headers: { Authorization: HEADER },
        body: '',
        withdrawn: over.signal,
        maySend,
      }),
  };
}

const WITHDRAWN = { kind: 'withdrawn' };

test('it is asked once, on the connection, before a byte of the request is sent', async () => {
  await using there = await server();
  const url = `http://collector.example:${there.port}/`;
  const asked: string[] = [];
  const judged = (verdict: boolean) => async (): Promise<boolean> => {
    expect(await there.isIdle()).toBe(false);
    asked.push(there.sent());
    return verdict;
  };
  expect(await caller().post(url, judged(false))).toEqual(WITHDRAWN);
  await until(there.isIdle);
  expect([asked, there.sent()]).toEqual([[''], '']);
  there.answer();
  expect(await caller().post(url, judged(true))).toEqual({ kind: 'answered', status: 200 });
  expect(asked).toEqual(['', '']);
  expect(there.sent()).toContain(HEADER);
});

test('a call whose right cannot be judged sends nothing, and says why', async () => {
  await using there = await server();
  const down = async (): Promise<boolean> => {
    throw new StoreUnavailable('unreachable', 'The store is down.');
  };
  await expect(caller().post(`http://collector.example:${there.port}/`, down)).rejects.toThrow(StoreUnavailable);
  await until(there.isIdle);
  expect(there.sent()).toBe('');
});

test.each([
  ['before it begins', 0],
  ['while its name is looked up', 1],
  ['while it waits for an answer', 2],
])('one that is withdrawn %s ends at once', async (_when, stage) => {
  await using there = await server();
  const found = Promise.withResolvers<readonly string[]>();
  let looked = 0;
  const { post, withdraw } = caller({
    resolve: async () => {
      looked += 1;
      return await found.promise;
    },
  });
  if (stage === 0) withdraw();
  const call = post(`http://collector.example:${there.port}/`);
  if (stage === 1) await until(() => looked === 1);
  if (stage === 2) {
    found.resolve(['127.0.0.1']);
    await until(() => there.sent().includes(HEADER));
  }
  withdraw();
  expect(await call).toEqual(WITHDRAWN);
  found.resolve(['127.0.0.1']);
  await until(there.isIdle);
  expect(there.sent().includes(HEADER)).toBe(stage === 2);
});

test('the next lookup does not wait for one that was withdrawn before its turn', async () => {
  await using there = await server();
  there.answer();
  const first = Promise.withResolvers<readonly string[]>();
  const asked: string[] = [];
  const { post, withdraw } = caller({
    resolve: async (name) => {
      asked.push(name);
      return await (name === 'first.example' ? first.promise : ['127.0.0.1']);
    },
  });
  const calls = ['first', 'second'].map((name) => post(`http://${name}.example:${there.port}/`));
  await until(() => asked.length === 1);
  withdraw();
  expect(await Promise.all(calls)).toEqual([WITHDRAWN, WITHDRAWN]);
  first.resolve(['127.0.0.1']);
  await until(() => asked.length === 1);
  expect(asked).toEqual(['first.example']);
});

test('through a proxy that forwards, it is asked before the request goes to the proxy', async () => {
  await using there = await server();
  await using proxy = await ConnectProxy.start();
  const { post } = caller({ proxy: proxy.url });
  expect(await post(`http://127.0.0.1:${there.port}/`, async () => false)).toEqual(WITHDRAWN);
  expect([there.sent(), proxy.seen]).toEqual(['', []]);
});

test('through a tunnel it is asked once TLS is made, and the tunnel is asked for without the headers', async () => {
  let requests = 0;
  const secure = createTlsServer(known, () => (requests += 1));
  await once(secure.listen(0, '127.0.0.1'), 'listening');
  await using proxy = await ConnectProxy.start();
  const handshake = once(secure, 'secureConnection');
  const { post } = caller({ proxy: proxy.url });
  const { port } = secure.address() as AddressInfo;
  const refuse = async (): Promise<boolean> => {
    await handshake;
    return false;
  };
  expect(await post(`https://127.0.0.1:${port}/`, refuse)).toEqual(WITHDRAWN);
  expect([proxy.targets, requests]).toEqual([[`CONNECT 127.0.0.1:${port}`], 0]);
  secure.close();
  await once(secure, 'close');
});
