import { expect, test } from 'vitest';
import { TrustedProxies } from '../../../src/api/http/client-address.ts';
import { AUTHENTICATED } from '../../../src/api/http/exchange-events.ts';
import type { ListenerOptions } from '../../../src/api/listener/listener.ts';
import type { Rejection } from '../../../src/api/listener/metrics.ts';
import { rangesOf } from '../../../src/text/ip-addresses.ts';
import { connectRaw, exchange, header, type RawConnection } from '../../support/http/raw-http.ts';
import { echo, hold, openTestListener, OVERLOADED, type TestListener } from '../../support/http/test-listener.ts';

const get = (path: string, fields = ''): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;
const PROXY = new TrustedProxies(rangesOf('127.0.0.1'));

interface Observed extends TestListener {
  readonly rejected: readonly Rejection[];
}

/** `/known` authenticates; `/held` is held, and authenticates as well. */
async function open(options: Partial<ListenerOptions>): Promise<Observed> {
  const rejected: Rejection[] = [];
  const service = await openTestListener({
    onRejected: (reason) => rejected.push(reason),
    handle(request, response) {
      if (request.url === '/known' || request.url === '/held') response.emit(AUTHENTICATED);
      if (request.url?.startsWith('/held') === true) hold();
      else echo(request, response);
    },
    ...options,
  });
  return { ...service, rejected };
}

async function asked(service: TestListener, path: string): Promise<RawConnection> {
  const connection = await connectRaw(service.port);
  await connection.send(get(path));
  expect((await connection.answer()).status).toBe(200);
  return connection;
}

test('at the bound the connection gives way that has been idle longest', async () => {
  await using service = await open({ connectionsMax: 2 });
  await using first = await asked(service, '/a');
  await using second = await asked(service, '/b');
  await first.send(get('/c'));
  await first.answer();
  await using third = await asked(service, '/d');
  expect(await second.rest()).toBe('');
  await first.send(get('/e'));
  expect((await first.answer()).body).toBe('GET /e');
  expect((await exchange(service.port, get('/f'))).body).toBe('GET /f');
  expect(await third.rest()).toBe('');
  expect(service.rejected).toEqual(['connection_evicted', 'connection_evicted']);
});

test('a stranger gives way before a connection that has authenticated, however long that has been idle', async () => {
  await using service = await open({ connectionsMax: 2 });
  await using known = await asked(service, '/known');
  await using stranger = await asked(service, '/a');
  await using third = await asked(service, '/known');
  expect(await stranger.rest()).toBe('');
  await known.send(get('/b'));
  expect((await known.answer()).body).toBe('GET /b');
  await using fourth = await asked(service, '/known');
  expect(await third.rest(), 'of two that are known the longest idle goes').toBe('');
  expect(fourth.socket.destroyed).toBe(false);
});

test('a connection whose request is served does not give way: the new one is closed', async () => {
  await using service = await open({ connectionsMax: 1 });
  await using busy = await connectRaw(service.port);
  await busy.send(get('/held'));
  const { request, response } = await service.request(0);
  await using refused = await connectRaw(service.port);
  expect(await refused.rest()).toBe('');
  expect(service.rejected).toEqual(['connection_bound']);
  echo(request, response);
  expect((await busy.answer()).body).toBe('GET /held');
  await using next = await asked(service, '/a');
  expect(await busy.rest(), 'idle again, it does').toBe('');
  expect(service.rejected).toEqual(['connection_bound', 'connection_evicted']);
  expect(next.socket.destroyed).toBe(false);
});

test('a connection whose client takes no answer gives way', async () => {
  await using service = await open({ connectionsMax: 1 });
  await using deaf = await connectRaw(service.port);
  deaf.socket.pause();
  await deaf.send(get('/a').repeat(5));
  await service.request(0);
  await using next = await connectRaw(service.port);
  await next.send(get('/b'));
  expect((await next.answer()).body).toBe('GET /b');
});

test('strangers of one address have a bound; those who have authenticated are not counted', async () => {
  await using service = await open({ connectionsMax: 10, strangersPerAddressMax: 2 });
  await using known = await asked(service, '/known');
  await using alsoKnown = await asked(service, '/known');
  await using first = await asked(service, '/a');
  await using second = await asked(service, '/b');
  await using third = await asked(service, '/c');
  expect(await first.rest()).toBe('');
  for (const connection of [known, alsoKnown, second, third]) {
    await connection.send(get('/d'));
    expect((await connection.answer()).body).toBe('GET /d');
  }
  expect(service.rejected).toEqual(['address_bound']);
});

test('0 is no bound for an address', async () => {
  await using service = await open({ connectionsMax: 10, strangersPerAddressMax: 0 });
  await using first = await asked(service, '/a');
  await using second = await asked(service, '/b');
  await using third = await asked(service, '/c');
  for (const connection of [first, second, third]) {
    await connection.send(get('/d'));
    expect((await connection.answer()).body).toBe('GET /d');
  }
});

test('the connections of a trusted proxy are not counted, but the requests of one client that it forwards are', async () => {
  await using service = await open({ strangersPerAddressMax: 1, trustedProxies: PROXY });
  await using first = await connectRaw(service.port);
  await using second = await connectRaw(service.port);
  const from = (client: string): string => `X-Forwarded-For: 10.9.9.9, ${client}\r\n`;
  await first.send(get('/held-by-a-stranger', from('192.0.2.1')));
  const held = await service.request(0);
  await second.send(get('/a', from('192.0.2.1')));
  expect((await second.answer()).body).toBe(OVERLOADED);
  await second.send(get('/b', from('192.0.2.2')));
  expect((await second.answer()).body).toBe('GET /b');
  echo(held.request, held.response);
  await first.answer();
  await first.send(get('/held', from('192.0.2.1')));
  await service.request(2);
  await second.send(get('/c', from('192.0.2.1')));
  expect((await second.answer()).body, 'the held one has authenticated').toBe('GET /c');
  expect(service.rejected).toEqual(['address_bound']);
});

test('the connection of a stranger is closed soon, and its client is told so; another one is kept', async () => {
  await using service = await open({ strangerKeepAliveMs: 1 });
  await using known = await connectRaw(service.port);
  await known.send(get('/known'));
  expect(header(await known.answer(), 'keep-alive')).toBe('timeout=65');
  await using stranger = await connectRaw(service.port);
  await stranger.send(get('/a'));
  expect(header(await stranger.answer(), 'keep-alive')).toBe('timeout=0');
  expect(await stranger.rest()).toBe('');
  await known.send(get('/b'));
  expect((await known.answer()).body).toBe('GET /b');
});

test('a request that a stranger pipelined is served for as long as it takes, though it came before the answer', async () => {
  await using service = await open({ strangerKeepAliveMs: 0 });
  await using stranger = await connectRaw(service.port);
  await stranger.send(get('/a') + get('/held'));
  expect((await stranger.answer()).body).toBe('GET /a');
  const { request, response } = await service.request(1);
  expect(request.socket.timeout, 'no idle time runs').toBe(0);
  echo(request, response);
  expect((await stranger.answer()).body).toBe('GET /held');
});

test('a request that came while the service had no time for it is served, though the idle time is over', async () => {
  await using service = await open({ strangerKeepAliveMs: 0 });
  await using stranger = await asked(service, '/a');
  stranger.socket.write(get('/b'));
  // The timers come after this, and before the sockets are read.
  setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100));
  expect((await stranger.answer()).body).toBe('GET /b');
  expect(await stranger.rest()).toBe('');
});
