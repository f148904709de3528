import type { Rejection } from '../../../src/api/listener/metrics.ts';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, test, vi } from 'vitest';
import { DRAIN_BYTES_MAX, DRAIN_MS, requestIdOf, sendResponse } from '../../../src/api/http/response.ts';
import { isListening } from '../../support/http/listening.ts';
import { connectRaw, exchange, header, type RawConnection } from '../../support/http/raw-http.ts';
import {
  echo,
  endPatience,
  hold,
  NOT_FOUND,
  OTHER_SCHEME,
  openTestListener,
  OVERLOADED,
  ownTime,
  PATIENT,
} from '../../support/http/test-listener.ts';
import { until } from '../../support/time/until.ts';

const FRESH_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-z]+$/;
const TLS_CLIENT_HELLO = Buffer.from(
  '16030100c8010000c40303cd2a1e0c5c3f1c8b7f2a6c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7080000004130113021301',
  'hex',
);

/** A head whose header section is about that many bytes. */
const headOf = (bytes: number): string => `GET /long HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(bytes)}\r\n\r\n`;

async function expectRefusal(connection: RawConnection, body = NOT_FOUND): Promise<void> {
  const refusal = await connection.answer();
  expect(refusal.status).toBe(404);
  expect(refusal.body).toBe(body);
  expect(header(refusal, 'content-type')).toBe('application/json');
  expect(header(refusal, 'cache-control')).toBe('no-store, no-transform');
  expect(header(refusal, 'connection')).toBe('close');
  expect(header(refusal, 'content-length')).toBe(String(body.length));
  expect(header(refusal, 'x-request-id')).toMatch(FRESH_ID);
  expect(await connection.rest()).toBe('');
}

describe('refused below routing (H21)', () => {
  test.each<[string, string | Buffer, body?: string]>([
    ['random bytes', Buffer.from([0, 1, 2, 255, 254, 13, 10, 13, 10])],
    ['a TLS client hello, whose client is told the scheme', TLS_CLIENT_HELLO, OTHER_SCHEME],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/0.9', 'GET /\r\n\r\n'],
    ['HTTP/2 in a request line', 'GET / HTTP/2.0\r\n\r\n'],
    ['a version that does not exist', 'GET / HTTP/3.7\r\n\r\n'],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a method in lower case', 'get / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['lines that end in a lone LF', 'GET / HTTP/1.1\nA: b\n\n'],
    ['a header line that ends in a lone LF', 'GET / HTTP/1.1\r\nHost: a\r\nA: b\nC: d\r\n\r\n'],
    ['a header line that ends in a lone CR', 'GET / HTTP/1.1\r\nHost: a\r\nA: b\rC: d\r\n\r\n'],
    ['a header folded over two lines', 'GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n'],
    ['a space between name and colon', 'GET / HTTP/1.1\r\nHost: a\r\nA : b\r\n\r\n'],
    ['NUL in a header value', 'GET / HTTP/1.1\r\nHost: a\r\nA: b\0c\r\n\r\n'],
    ['NUL in the target', 'GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a space in the target', 'GET /a b HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a header name that is none', 'GET / HTTP/1.1\r\nHost: a\r\nA(: b\r\n\r\n'],
    ['a negative Content-Length', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n'],
    ['a Content-Length with a plus', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na'],
    ['an empty Content-Length', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n'],
    ['a Content-Length beyond 64 bits', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n'],
    ['two equal Content-Lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na'],
    ['two Content-Lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['two Content-Lengths in one line', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na'],
    [
      'Content-Length and chunked',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'chunked and Content-Length',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n',
    ],
    ['chunked twice', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n'],
    ['no Host', 'GET / HTTP/1.1\r\nA: b\r\n\r\n'],
    ['two Hosts', 'GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n'],
    ['the same Host twice', 'GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n'],
    ['two Hosts under HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n'],
    ['chunked under HTTP/1.0', 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    [
      'chunked under HTTP/1.0 that stays open',
      'POST / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['headers above 16 KiB', headOf(16_500)],
    ['a target above 16 KiB', `GET /${'a'.repeat(16_500)} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'],
    [
      'CONNECT with bytes for the other side',
      Buffer.concat([Buffer.from('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'), TLS_CLIENT_HELLO]),
    ],
  ])('%s', async (_what, bytes, body) => {
    const rejected: Rejection[] = [];
    await using service = await openTestListener({ onRejected: (reason) => rejected.push(reason) });
    await using connection = await connectRaw(service.port);
    await connection.send(bytes);
    await expectRefusal(connection, body);
    expect(service.handled).toEqual([]);
    expect(rejected).toEqual(['below_routing']);
  });

  test.each<[string, string, string]>([
    ['an empty Host', 'GET /a HTTP/1.1\r\nHost:\r\n\r\n', 'GET /a'],
    ['HTTP/1.0 with a Host', 'GET /a HTTP/1.0\r\nHost: a\r\n\r\n', 'GET /a'],
    [
      'chunked under HTTP/1.1',
      'POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
      'POST /a',
    ],
    ['a body under HTTP/1.0', 'POST /a HTTP/1.0\r\nContent-Length: 1\r\n\r\na', 'POST /a'],
    ['an absolute target', 'GET http://example.com/a?b HTTP/1.1\r\nHost: c\r\n\r\n', 'GET http://example.com/a?b'],
    ['OPTIONS *', 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', 'OPTIONS *'],
    ['empty lines before the request line', '\r\n\r\nGET /a HTTP/1.1\r\nHost: a\r\n\r\n', 'GET /a'],
    ['a tab and 8-bit bytes in a header value', 'GET /a HTTP/1.1\r\nHost: a\r\nA: b\tc\xe9\r\n\r\n', 'GET /a'],
    ['HTTP/1.0', 'GET /a HTTP/1.0\r\n\r\n', 'GET /a'],
    ['headers just below 16 KiB', headOf(16_300), 'GET /long'],
    ['Content-Length with zeros in front', 'POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0001\r\n\r\na', 'POST /a'],
    ['Upgrade', 'GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', 'GET /a'],
    [
      'Upgrade to HTTP/2',
      'POST /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 1\r\n\r\na',
      'POST /a',
    ],
  ])('but not %s', async (_what, bytes, echoed) => {
    await using service = await openTestListener();
    const { status, body } = await exchange(service.port, Buffer.from(bytes, 'latin1'));
    expect({ status, body }).toEqual({ status: 200, body: echoed });
  });

  test('no header is dropped, however many there are', async () => {
    await using service = await openTestListener();
    await exchange(service.port, `GET /a HTTP/1.1\r\nHost: a\r\n${'a:1\r\n'.repeat(3_000)}Authorization: last\r\n\r\n`);
    expect(service.handled[0]?.request.rawHeaders).toHaveLength(6_004);
    expect(service.handled[0]?.request.headers.authorization).toBe('last');
  });

  test('a head that does not come to its end in time, and a connection that says nothing', async () => {
    await using service = await openTestListener({ ...PATIENT, handle: hold });
    await using held = await connectRaw(service.port);
    await held.send('GET /held HTTP/1.1\r\nHost: a\r\n\r\n');
    const { request, response } = await service.request(0);
    await using slow = await connectRaw(service.port);
    await slow.send('GET / HTTP/1.1\r\nHost: a\r\nX: ');
    await using silent = await connectRaw(service.port);
    endPatience(request);
    await expectRefusal(slow);
    await expectRefusal(silent);
    echo(request, response);
    expect((await held.answer()).body, 'the answer may take as long as it takes').toBe('GET /held');
  });

  test('a client that leaves off in the middle of the head, and reads on', async () => {
    await using service = await openTestListener();
    await using connection = await connectRaw(service.port);
    await connection.send('GET / HTTP/1.1\r\nHost: a\r\nHo');
    connection.halfClose();
    await expectRefusal(connection);
  });

  test('the client that goes on sending can read the refusal, and nothing breaks under it', async () => {
    ownTime();
    await using service = await openTestListener();
    await using connection = await connectRaw(service.port);
    await connection.send('junk\r\n\r\n');
    expect((await connection.answer()).status).toBe(404);
    for (let sent = 0; sent < 5; sent += 1) await connection.send(Buffer.alloc(65_536));
    connection.halfClose();
    await connection.closed();
    expect(connection.socket.errored).toBeNull();
    await service.listener.drain(60_000);
  });

  test('the client that does not stop is cut off', async () => {
    ownTime();
    await using service = await openTestListener();
    await using connection = await connectRaw(service.port);
    await connection.send('junk\r\n\r\n');
    await expectRefusal(connection);
    const flood = connection.send(Buffer.alloc(50_000_000));
    vi.advanceTimersByTime(DRAIN_MS - 1);
    // Had it been cut off by now, its client would hear of it before this answer.
    await exchange(service.port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(connection.socket.closed).toBe(false);
    vi.advanceTimersByTime(1);
    await connection.closed();
    await flood;
  });

  test.each([
    ['junk', 'junk\r\n\r\n'],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('%s behind requests that are under way comes after their answers, and counts once', async (_what, bytes) => {
    const rejected: Rejection[] = [];
    await using service = await openTestListener({
      ...PATIENT,
      handle: hold,
      onRejected: (reason) => rejected.push(reason),
    });
    await using connection = await connectRaw(service.port);
    await connection.send(`GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n${bytes}`);
    const first = await service.request(0);
    // The junk is a head that does not come to its end either, and is older than this one.
    await using slow = await connectRaw(service.port);
    endPatience(first.request);
    await expectRefusal(slow);
    echo(first.request, first.response);
    expect((await connection.answer()).body).toBe('GET /1');
    const second = await service.request(1);
    echo(second.request, second.response);
    expect((await connection.answer()).body).toBe('GET /2');
    await expectRefusal(connection);
    expect([service.listener.inFlight, rejected]).toEqual([0, ['below_routing', 'below_routing']]);
  });

  test('answers under way are given up when the client leaves behind a CONNECT', async () => {
    await using service = await openTestListener({ handle: hold });
    await using connection = await connectRaw(service.port);
    await connection.send(
      'GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\nCONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
    );
    const { response } = await service.request(0);
    const gone = once(response, 'close');
    connection.reset();
    await gone;
    expect([service.listener.inFlight, service.handled.length]).toEqual([0, 1]);
  });

  test('a body that is not framed as HTTP says leaves the answer to its request, and no second one', async () => {
    await using service = await openTestListener({ handle: hold });
    await using connection = await connectRaw(service.port);
    await connection.send('POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n');
    const { request, response } = await service.request(0);
    echo(request, response);
    const only = await connection.answer();
    expect(only.body).toBe('POST /1');
    expect(header(only, 'connection')).toBe('close');
    connection.halfClose();
    expect(await connection.rest()).toBe('');
  });

  test.each([
    ['by answer', echo],
    [
      'by other means',
      (_request: unknown, response: ServerResponse) => void response.setHeader('Content-Length', 7).end('POST /1'),
    ],
  ])('nothing is written behind an answer, given %s, whose body then goes wrong', async (_what, handle) => {
    await using service = await openTestListener({ handle });
    await using connection = await connectRaw(service.port);
    await connection.send('POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n');
    expect((await connection.answer()).body).toBe('POST /1');
    await connection.send('zz\r\n');
    connection.halfClose();
    expect(await connection.rest()).toBe('');
  });
});

describe('requests on one connection', () => {
  test('two in one segment are answered in order', async () => {
    await using service = await openTestListener();
    await using connection = await connectRaw(service.port);
    await connection.send(
      'POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /2 HTTP/1.1\r\nHost: a\r\n\r\n',
    );
    expect((await connection.answer()).body).toBe('POST /1');
    expect((await connection.answer()).body).toBe('GET /2');
  });

  test('HTTP/1.0 stays open where it asks for it', async () => {
    await using service = await openTestListener();
    await using connection = await connectRaw(service.port);
    await connection.send('GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n');
    expect(header(await connection.answer(), 'connection')).toBe('keep-alive');
    await connection.send('GET /2 HTTP/1.0\r\n\r\n');
    const last = await connection.answer();
    expect([last.body, header(last, 'connection')]).toEqual(['GET /2', 'close']);
    expect(await connection.rest()).toBe('');
  });

  test.each([
    ['100-continue, and nobody reads the body', '100-continue'],
    ['an unknown expectation', '200-ok'],
  ])('Expect: %s: the answer comes alone', async (_what, expectation) => {
    await using service = await openTestListener();
    await using connection = await connectRaw(service.port);
    await connection.send(`POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: ${expectation}\r\n\r\n`);
    const only = await connection.answer();
    expect([only.status, only.body]).toEqual([200, 'POST /a']);
  });

  test('a client that has sent its FIN gets its answer', async () => {
    await using service = await openTestListener({ handle: hold });
    await using connection = await connectRaw(service.port);
    await connection.send('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
    const { request, response } = await service.request(0);
    connection.halfClose();
    await once(request.socket, 'end');
    echo(request, response);
    expect((await connection.answer()).body).toBe('GET /a');
    expect(await connection.rest()).toBe('');
  });

  test('but it is not waited upon for ever', async () => {
    await using service = await openTestListener({ handle: hold, halfClosedMs: 20 });
    await using connection = await connectRaw(service.port);
    await connection.send('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
    const { response } = await service.request(0);
    connection.halfClose();
    await once(response, 'close');
    expect(service.listener.inFlight).toBe(0);
  });

  test('an answer that the client does not take is given up', async () => {
    await using service = await openTestListener({
      unreadAnswerMs: 20,
      handle: (request, response) => sendResponse(request, response, 200, [], Buffer.alloc(50_000_000)),
    });
    await using connection = await connectRaw(service.port);
    connection.socket.pause();
    await connection.send('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
    const { response } = await service.request(0);
    await once(response, 'close');
    expect(service.listener.inFlight).toBe(0);
  });

  test('200 clients that leave in the middle of their bodies leave nothing behind', async () => {
    await using service = await openTestListener({ handle: hold });
    const connections = await Promise.all(Array.from({ length: 200 }, () => connectRaw(service.port)));
    for (const connection of connections)
      await connection.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc');
    await service.request(199);
    expect(service.listener.inFlight).toBe(200);
    const closed = service.handled.map(({ response }) => once(response, 'close'));
    connections.forEach((connection, number) => {
      if (number % 2 === 0) connection.reset();
      else connection.socket.destroy();
    });
    // The response to a half-closed body reaches nobody, and must do no harm on its way.
    for (const { request, response } of service.handled) echo(request, response);
    await Promise.all(closed);
    expect(service.listener.inFlight).toBe(0);
  });
});

describe('bounds', () => {
  test.each([
    [0, '1'],
    [0.999, '5'],
  ])('a request above the bound is sent away with a spread Retry-After (%d → %s s)', async (random, retryAfter) => {
    const rejected: Rejection[] = [];
    const onRejected = (reason: Rejection): void => void rejected.push(reason);
    await using service = await openTestListener({
      concurrencyMax: 2,
      handle: hold,
      random: () => random,
      onRejected,
    });
    await using connection = await connectRaw(service.port);
    await using other = await connectRaw(service.port);
    await connection.send('GET /1 HTTP/1.1\r\nHost: a\r\n\r\n');
    await other.send('GET /2 HTTP/1.1\r\nHost: a\r\n\r\n');
    const [first, second] = [await service.request(0), await service.request(1)];
    const rejectedResponse = await exchange(service.port, 'GET /3 HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine\r\n\r\n');
    expect([rejectedResponse.status, rejectedResponse.body]).toEqual([503, OVERLOADED]);
    expect(header(rejectedResponse, 'retry-after')).toBe(retryAfter);
    expect(header(rejectedResponse, 'cache-control')).toBe('no-store, no-transform');
    expect(header(rejectedResponse, 'x-request-id')).toBe('mine');
    expect([service.handled.length, service.listener.inFlight, rejected]).toEqual([2, 2, ['request_bound']]);

    const done = once(first.response, 'close');
    echo(first.request, first.response);
    await done;
    await using next = await connectRaw(service.port);
    await next.send('GET /4 HTTP/1.1\r\nHost: a\r\n\r\n');
    const fourth = await service.request(2);
    echo(fourth.request, fourth.response);
    echo(second.request, second.response);
    expect((await next.answer()).body).toBe('GET /4');
  });

  test.each([
    ['127.0.0.1', '127.0.0.1', 'the address is already in use'],
    ['[::ffff:127.0.0.1]', '::ffff:127.0.0.1', 'the address is already in use'],
    ['203.0.113.1', '203.0.113.1', 'this machine does not have the address'],
  ])('a listener that cannot listen on %s says so in one sentence, with what to do', async (shown, host, reason) => {
    await using service = await openTestListener();
    const { port } = service;
    await expect(openTestListener({ name: 'device', host, port })).rejects.toThrow(
      `The device listener cannot listen on ${shown}:${port}: ${reason}: set MUSTER_DEVICE_LISTEN to another one.`,
    );
  });
});

describe('drain', () => {
  test('idle connections close at once, answers under way complete and say close, nobody else comes in', async () => {
    await using service = await openTestListener({ handle: hold });
    await using fresh = await connectRaw(service.port);
    await using idle = await connectRaw(service.port);
    await idle.send('GET /idle HTTP/1.1\r\nHost: a\r\n\r\n');
    const first = await service.request(0);
    const done = once(first.response, 'close');
    echo(first.request, first.response);
    await done;
    expect(header(await idle.answer(), 'connection')).toBe('keep-alive');
    await using alone = await connectRaw(service.port);
    await alone.send('GET /alone HTTP/1.1\r\nHost: a\r\n\r\n');
    const only = await service.request(1);
    await using busy = await connectRaw(service.port);
    await busy.send('GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n');
    const one = await service.request(2);
    expect(isListening(service.port)).toBe(true);
    const drained = service.listener.drain(60_000);
    expect(await idle.rest()).toBe('');
    expect(await fresh.rest()).toBe('');
    expect(isListening(service.port)).toBe(false);
    await busy.send('GET /3 HTTP/1.1\r\nHost: a\r\n\r\n');
    for (const { request, response } of [only, one]) echo(request, response);
    expect(header(await busy.answer(), 'connection')).toBe('keep-alive');
    const two = await service.request(3);
    await until(() => two.request.socket.bytesRead === 3 * 'GET /1 HTTP/1.1\r\nHost: a\r\n\r\n'.length);
    echo(two.request, two.response);
    expect(header(await busy.answer(), 'connection')).toBe('keep-alive');
    const three = await service.request(4);
    echo(three.request, three.response);
    const last = await busy.answer();
    expect([last.body, header(last, 'connection')]).toEqual(['GET /3', 'close']);
    expect(await busy.rest()).toBe('');
    expect(header(await alone.answer(), 'connection')).toBe('close');
    await drained;
  });

  test('an answer that is complete but not yet taken is not cut off', async () => {
    const body = Buffer.alloc(20_000_000, 'x');
    await using service = await openTestListener({
      handle: (request, response) => sendResponse(request, response, 200, [], body),
    });
    await using connection = await connectRaw(service.port);
    connection.socket.pause();
    await connection.send('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
    await service.request(0);
    const drained = service.listener.drain(60_000);
    connection.socket.resume();
    expect((await connection.rest()).split('\r\n\r\n')[1]).toHaveLength(body.length);
    await drained;
  });

  test('a head of which a part was there may come to its end', async () => {
    await using service = await openTestListener();
    await using connection = await connectRaw(service.port);
    await using other = await connectRaw(service.port);
    await connection.send('GET /a HT');
    // Answered later than the part was sent, so the part has arrived.
    await other.send('GET /b HTTP/1.1\r\nHost: a\r\n\r\n');
    await other.answer();
    const drained = service.listener.drain(60_000);
    await connection.send('TP/1.1\r\nHost: a\r\n\r\n');
    const late = await connection.answer();
    expect([late.body, header(late, 'connection')]).toEqual(['GET /a', 'close']);
    await drained;
  });

  test('connections that are left after the grace are destroyed', async () => {
    await using service = await openTestListener({ handle: hold });
    await using connection = await connectRaw(service.port);
    await connection.send('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
    await service.request(0);
    await service.listener.drain(20);
    expect(await connection.rest()).toBe('');
    expect(service.listener.inFlight).toBe(0);
  });
});

describe('answer', () => {
  test.each<[string, string, number, string | undefined, string | undefined, string]>([
    ['GET', 'GET', 200, '{"ä":1}', '8', '{"ä":1}'],
    ['HEAD has the length and no body', 'HEAD', 200, '{"ä":1}', '8', ''],
    ['no body is a body of length 0', 'GET', 200, undefined, '0', ''],
    ['204 has neither', 'GET', 204, 'x', undefined, ''],
    ['304 has neither', 'GET', 304, 'x', undefined, ''],
  ])('%s', async (_what, method, status, body, length, received) => {
    const headers = ['ETag', '"1"'];
    await using service = await openTestListener({
      handle: (request, response) => sendResponse(request, response, status, headers, body),
    });
    await using connection = await connectRaw(service.port);
    for (const round of [1, 2]) {
      await connection.send(`${method} /${round} HTTP/1.1\r\nHost: a\r\n\r\n`);
      const got = await connection.answer(method === 'HEAD' ? { method } : {});
      expect([got.status, header(got, 'content-length'), got.body]).toEqual([status, length, received]);
      expect(header(got, 'etag')).toBe('"1"');
    }
    expect(headers, 'a prepared list stays as it is').toEqual(['ETag', '"1"']);
  });

  test('the first answer wins, and one to a client that has gone goes nowhere', async () => {
    await using service = await openTestListener({ handle: hold });
    await using connection = await connectRaw(service.port);
    await connection.send('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
    const { request, response } = await service.request(0);
    sendResponse(request, response, 200, { ETag: '"1"' }, 'first');
    sendResponse(request, response, 502, {}, 'second');
    expect((await connection.answer()).body).toBe('first');
    await connection.send('GET /b HTTP/1.1\r\nHost: a\r\n\r\n');
    const next = await service.request(1);
    connection.reset();
    await once(next.response, 'close');
    echo(next.request, next.response);
    expect(next.response.headersSent).toBe(false);
  });

  test.each([
    ['with a length', 'Content-Length: 10\r\n\r\nabc', 'defghij'],
    ['chunked', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n', '3\r\ndef\r\n0\r\n\r\n'],
  ])('a body that nobody wants, %s, is drained and the connection stays', async (_what, start, rest) => {
    await using service = await openTestListener();
    await using connection = await connectRaw(service.port);
    await connection.send(`POST /a HTTP/1.1\r\nHost: a\r\n${start}`);
    const early = await connection.answer();
    expect([early.body, header(early, 'connection')]).toEqual(['POST /a', 'keep-alive']);
    await connection.send(`${rest}GET /b HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect((await connection.answer()).body).toBe('GET /b');
  });

  test.each(['HEAD', 'POST'] as const)('the answer to %s does not wait for the rest of the body', async (method) => {
    await using service = await openTestListener({
      handle: (request, response) => sendResponse(request, response, method === 'HEAD' ? 200 : 204, [], 'x'),
    });
    await using connection = await connectRaw(service.port);
    await connection.send(`${method} /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n`);
    await connection.answer(method === 'HEAD' ? { method } : {});
    await connection.send(`abc${method} /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc`);
    await connection.answer(method === 'HEAD' ? { method } : {});
  });

  test('a 413 says close, and closes when the body has come to its end', async () => {
    await using service = await openTestListener({
      handle: (request, response) => sendResponse(request, response, 413, [], 'large'),
    });
    await using connection = await connectRaw(service.port);
    await connection.send('POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc');
    const refused = await connection.answer();
    expect([refused.status, header(refused, 'connection')]).toEqual([413, 'close']);
    await connection.send('defghijGET /b HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await connection.rest(), 'RFC 9112, 9.6: nothing is served behind close').toBe('');
    expect(service.handled).toHaveLength(1);
  });

  test.each([
    ['chunked', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n', 'keep-alive', 200],
    ['chunked and refused', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n', 'close', 413],
    ['of 10 GB', 'Content-Length: 10000000000\r\n\r\nabc', 'close', 200],
  ])('a body that stops coming, %s, is waited upon for a second', async (_what, start, connectionHeader, status) => {
    ownTime();
    await using service = await openTestListener({
      handle: (request, response) => sendResponse(request, response, status, [], 'x'),
    });
    await using connection = await connectRaw(service.port);
    await connection.send(`POST /a HTTP/1.1\r\nHost: a\r\n${start}`);
    const early = await connection.answer();
    expect([early.status, header(early, 'connection')]).toEqual([status, connectionHeader]);
    const { response } = await service.request(0);
    vi.advanceTimersByTime(999);
    expect(response.writableEnded).toBe(false);
    vi.advanceTimersByTime(1);
    expect(await connection.rest()).toBe('');
  });

  test('a body that never ends: the client reads its 413, 1 MiB is read away, then it is cut off', async () => {
    ownTime();
    await using service = await openTestListener({
      handle: (request, response) => sendResponse(request, response, 413, [], 'large'),
    });
    await using connection = await connectRaw(service.port);
    await connection.send('POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    const flood = (async () => {
      const chunk = Buffer.from(`10000\r\n${'x'.repeat(65_536)}\r\n`);
      while (!connection.socket.closed) await connection.send(chunk);
    })();
    expect((await connection.answer()).body).toBe('large');
    const { request } = await service.request(0);
    await until(() => request.socket.bytesRead > DRAIN_BYTES_MAX);
    vi.advanceTimersByTime(DRAIN_MS);
    await connection.closed();
    await flood;
    // Some is in buffers on its way when the reading stops.
    expect(request.socket.bytesRead).toBeLessThan(1.5 * DRAIN_BYTES_MAX);
    expect(service.listener.inFlight).toBe(0);
  });

  test.each(['reset', 'halfClose'] as const)('a client that leaves (%s) while its body is drained', async (leave) => {
    ownTime();
    await using service = await openTestListener();
    await using connection = await connectRaw(service.port);
    await connection.send('POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc');
    await connection.answer();
    const { response } = await service.request(0);
    const closed = once(response, 'close');
    connection[leave]();
    await closed;
    await connection.closed();
    expect([service.listener.inFlight, vi.getTimerCount()]).toEqual([0, 0]);
    expect((await exchange(service.port, 'GET /b HTTP/1.1\r\nHost: a\r\n\r\n')).body).toBe('GET /b');
  });

  test('an answer to a client that has left off in its body waits for nothing', async () => {
    ownTime();
    await using service = await openTestListener({ handle: hold });
    await using connection = await connectRaw(service.port);
    await connection.send('POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc');
    const { request, response } = await service.request(0);
    connection.halfClose();
    await once(request.socket, 'end');
    echo(request, response);
    expect((await connection.answer()).body).toBe('POST /a');
    expect(await connection.rest()).toBe('');
  });

  test.each([
    ['a.B-c_1', true],
    ['x'.repeat(128), true],
    ['x'.repeat(129), false],
    ['a b', false],
    ['', false],
  ])('X-Request-Id %.20s is kept: %s', async (sent, kept) => {
    await using service = await openTestListener();
    await exchange(service.port, `GET /a HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${sent}\r\n\r\n`);
    const { request } = await service.request(0);
    if (kept) expect(requestIdOf(request)).toBe(sent);
    else expect(requestIdOf(request)).toMatch(FRESH_ID);
  });
});
