import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { sendResponse } from '../../../src/api/http/response.ts';
import { OWED_MAX } from '../../../src/api/listener/connection.ts';
import { connectRaw, exchange, header, type RawConnection } from '../../support/http/raw-http.ts';
import { echo, hold, openTestListener, type Handled, type TestListener } from '../../support/http/test-listener.ts';
import { until } from '../../support/time/until.ts';

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
/** More than the kernel takes for a client that reads nothing. */
const LARGE = Buffer.alloc(20_000_000, 'x');

test('requests behind an unanswered one are not handed over, and take no slot', async () => {
  await using service = await openTestListener({ concurrencyMax: 2, handle: hold });
  await using greedy = await connectRaw(service.port);
  await greedy.send(get('/held') + get('/behind').repeat(OWED_MAX / 2));
  const held = await service.request(0);
  await using other = await connectRaw(service.port);
  await other.send(get('/other'));
  const second = await service.request(1);
  expect([second.request.url, service.listener.inFlight]).toEqual(['/other', 2]);
  echo(held.request, held.response);
  expect((await greedy.answer()).body).toBe('GET /held');
  const next = await service.request(2);
  expect([next.request.url, service.listener.inFlight]).toEqual(['/behind', 2]);
});

test('a slot is free when the answer is written, though its client takes none of it', async () => {
  await using service = await openTestListener({
    concurrencyMax: 1,
    handle: (request, response) => sendResponse(request, response, 200, [], request.url === '/large' ? LARGE : 'small'),
  });
  await using deaf = await connectRaw(service.port);
  deaf.socket.pause();
  await deaf.send(get('/large').repeat(3));
  const { response } = await service.request(0);
  expect([response.headersSent, response.closed, service.listener.inFlight]).toEqual([true, false, 0]);
  expect((await exchange(service.port, get('/small'))).body).toBe('small');
  // Memory holds one of its answers: the next one is not made before the kernel has this one.
  expect(service.handled.filter(({ request }) => request.url === '/large')).toHaveLength(1);
});

test('a slot is free when the answer is written, though the rest of the body is still waited for', async () => {
  await using service = await openTestListener({ concurrencyMax: 1 });
  await using slow = await connectRaw(service.port);
  await slow.send('POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc');
  expect((await slow.answer()).body).toBe('POST /slow');
  const { response } = await service.request(0);
  expect([response.writableEnded, service.listener.inFlight]).toEqual([false, 0]);
});

test('above 16 owed answers a connection is read no further, and goes on when they are taken', async () => {
  const first = Promise.withResolvers<void>();
  await using service = await openTestListener({
    handle(request, response) {
      if (request.url === '/0') void first.promise.then(() => echo(request, response));
      else echo(request, response);
    },
  });
  await using greedy = await connectRaw(service.port);
  const paths = Array.from({ length: 100 }, (_, number) => `/${number}`);
  await greedy.send(paths.slice(0, OWED_MAX).map(get).join(''));
  const { socket } = (await service.request(0)).request;
  await greedy.send(get(`/${OWED_MAX}`));
  await until(() => socket.isPaused());
  const read = socket.bytesRead;
  await greedy.send(
    paths
      .slice(OWED_MAX + 1)
      .map(get)
      .join(''),
  );
  // Answered later than those were sent, so that they have arrived.
  expect((await exchange(service.port, get('/other'))).body).toBe('GET /other');
  expect([socket.bytesRead, socket.isPaused()]).toEqual([read, true]);
  first.resolve();
  for (const path of paths) expect((await greedy.answer()).body).toBe(`GET ${path}`);
});

test('16 owed answers do not stop the reading', async () => {
  await using service = await openTestListener({ handle: hold });
  await using connection = await connectRaw(service.port);
  await connection.send(get('/').repeat(OWED_MAX));
  const { socket } = (await service.request(0)).request;
  await until(() => socket.bytesRead === OWED_MAX * get('/').length);
  expect(socket.isPaused()).toBe(false);
});

test.each([
  ['in the same segment', true],
  ['in the next one', false],
])('nothing behind a request with Upgrade is executed, %s', async (_what, together) => {
  await using service = await openTestListener({ handle: hold });
  await using connection = await connectRaw(service.port);
  const upgrade = 'GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  const smuggled = 'POST /smuggled HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n';
  await connection.send(together ? upgrade + smuggled : upgrade);
  const { request, response } = await service.request(0);
  if (!together) {
    const read = request.socket.bytesRead;
    await connection.send(smuggled.repeat(40));
    await until(() => request.socket.bytesRead > read);
  }
  echo(request, response);
  const answer = await connection.answer();
  expect([answer.body, header(answer, 'connection')]).toEqual(['GET /upgrade', 'close']);
  expect(await connection.rest()).toBe('');
  expect(service.handled).toHaveLength(1);
});

test('the body of a request with Upgrade is no request', async () => {
  await using service = await openTestListener({ handle: hold });
  await using connection = await connectRaw(service.port);
  const body = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';
  const fields = `Host: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: ${body.length}`;
  await connection.send(`POST /upgrade HTTP/1.1\r\n${fields}\r\n\r\n`);
  const { request, response } = await service.request(0);
  await connection.send(body + get('/behind'));
  await until(() => request.complete || request.readableLength === body.length);
  echo(request, response);
  expect((await connection.answer()).body).toBe('POST /upgrade');
  expect(await connection.rest()).toBe('');
  expect(service.handled).toHaveLength(1);
});

test('but a connection without Upgrade goes on', async () => {
  await using service = await openTestListener();
  await using connection = await connectRaw(service.port);
  await connection.send(get('/1') + get('/2'));
  expect([(await connection.answer()).body, (await connection.answer()).body]).toEqual(['GET /1', 'GET /2']);
});

test('waiting requests of a client that leaves are never begun', async () => {
  await using service = await openTestListener({ handle: hold });
  await using connection = await connectRaw(service.port);
  await connection.send(get('/').repeat(5));
  const { response } = await service.request(0);
  const closed = once(response, 'close');
  connection.reset();
  await closed;
  await setImmediate();
  expect([service.handled.length, service.listener.inFlight]).toEqual([1, 0]);
});

test('what arrives behind the answer that ends a connection, before it has ended, is not executed', async () => {
  await using service = await openTestListener({ handle: hold });
  await using connection = await connectRaw(service.port);
  await connection.send(get('/last'));
  const { request, response } = await service.request(0);
  const { socket } = request;
  response.on('close', () => socket.emit('data', Buffer.from(get('/behind'))));
  response.shouldKeepAlive = false;
  echo(request, response);
  expect((await connection.answer()).body).toBe('GET /last');
  expect(await connection.rest()).toBe('');
  expect(service.handled).toHaveLength(1);
});

describe('above the bound of waiting requests', () => {
  /** `/held` is never answered, so that those behind it wait. */
  const open = (): Promise<TestListener> =>
    openTestListener({
      backlogMax: 30,
      handle(request, response) {
        if (request.url !== '/held') echo(request, response);
      },
    });

  interface Held extends AsyncDisposable {
    readonly connection: RawConnection;
    readonly held: Handled;
  }

  async function wait(service: TestListener, requests: number): Promise<Held> {
    const next = service.handled.length;
    const connection = await connectRaw(service.port);
    await connection.send(get('/held') + get('/').repeat(requests));
    const held = await service.request(next);
    return { connection, held, [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose]() };
  }

  async function expectServed({ connection, held }: Held, requests: number): Promise<void> {
    echo(held.request, held.response);
    expect((await connection.answer()).body).toBe('GET /held');
    for (let number = 0; number < requests; number += 1) expect((await connection.answer()).body).toBe('GET /');
  }

  test('the connection that has the most of them is closed, not the one that adds another one', async () => {
    await using service = await open();
    await using few = await wait(service, 9);
    await using most = await wait(service, 12);
    await using other = await wait(service, 13);
    expect(await most.connection.rest()).toBe('');
    await expectServed(few, 9);
    await expectServed(other, 13);
  });

  test('but none is closed at the bound, and one whose requests have begun has none of them', async () => {
    await using service = await open();
    await using first = await wait(service, 10);
    await using second = await wait(service, 10);
    await using third = await wait(service, 10);
    await expectServed(first, 10);
    await using fourth = await wait(service, 10);
    for (const held of [second, third, fourth]) await expectServed(held, 10);
  });

  test('one that has the most itself, and adds another one, is closed', async () => {
    await using service = await open();
    await using few = await wait(service, 9);
    await using most = await connectRaw(service.port);
    await most.send(get('/held') + get('/').repeat(22));
    expect(await most.rest()).toBe('');
    await expectServed(few, 9);
  });

  test('of several that have the most, the one that has waited longest is closed', async () => {
    await using service = await open();
    await using first = await wait(service, 10);
    await using second = await wait(service, 10);
    await using third = await wait(service, 10);
    await using fourth = await wait(service, 1);
    expect(await first.connection.rest()).toBe('');
    await expectServed(second, 10);
    await expectServed(third, 10);
    await expectServed(fourth, 1);
  });

  test('those of a client that has left do not count', async () => {
    await using service = await open();
    await using left = await wait(service, 15);
    const closed = once(left.held.response, 'close');
    left.connection.reset();
    await closed;
    await using first = await wait(service, 15);
    await using second = await wait(service, 15);
    await expectServed(first, 15);
    await expectServed(second, 15);
  });
});
