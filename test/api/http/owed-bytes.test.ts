import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { OwedBytes } from '../../../src/api/http/pieces/owed-bytes.ts';
import { sendResponse } from '../../../src/api/http/response.ts';
import { PIECE_BYTES } from '../../../src/api/http/pieces/write-pieces.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { connectRaw } from '../../support/http/raw-http.ts';
import { openTestListener, type TestListener } from '../../support/http/test-listener.ts';
import { until } from '../../support/time/until.ts';

/* What is owed to clients that do not take their answers. */

/** More than the kernels of both sides take for a client that reads nothing. */
const LARGE = Buffer.alloc(20_000_000, 'x');
const TEXT = LARGE.toString();
/** A long answer of which the kernel takes all at once. */
const SMALL = Buffer.alloc(PIECE_BYTES + 1000, 'y');
const KERNEL_BYTES_MAX = LIMITS.kernelBytesPerConnectionMax;
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const bound = (max: number): OwedBytes => new OwedBytes({ strangersMax: max, knownMax: max });
const UNBOUND = Number.MAX_SAFE_INTEGER;

/**
 * A listener whose clients are strangers, but for those of `/as/NAME`. `small` and `text` in the path ask for those.
 */
const openCounted = (owed: OwedBytes): Promise<TestListener> =>
  openTestListener({
    handle(request, response) {
      const { url = '' } = request;
      const body = url.includes('small') ? SMALL : url.includes('text') ? TEXT + url.at(-1) : LARGE;
      sendResponse(request, response, 200, [], body, owed, /^\/as\/(\w+)/.exec(url)?.[1]);
    },
  });

/** A client that asks and reads nothing. */
async function deaf(service: TestListener, text = get('/')) {
  const connection = await connectRaw(service.port);
  connection.socket.pause();
  await connection.send(text);
  return connection;
}

/** The code of the error with which a socket that is read on closes; undefined where it is ended in order. */
async function errorOf(socket: Socket): Promise<string | undefined> {
  let code: string | undefined;
  socket.on('error', (error: NodeJS.ErrnoException) => (code = error.code));
  socket.resume();
  if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return code;
}

describe('the bytes that clients have not taken', () => {
  test.each(['/', '/as/a'])(
    'of %s are what was handed over for each and the body once, and none once they are gone',
    async (path) => {
      const owed = bound(UNBOUND);
      const pool = path === '/' ? owed.strangers : owed.known;
      await using service = await openCounted(owed);
      const clients = [await deaf(service, get(path)), await deaf(service, get(path)), await deaf(service, get(path))];
      await service.request(2);
      await until(() => pool.sum >= LARGE.length + 3 * PIECE_BYTES);
      expect(pool.sum).toBeLessThanOrEqual(LARGE.length + 3 * KERNEL_BYTES_MAX);
      for (const client of clients) client.socket.destroy();
      await until(() => pool.sum === 0);
    },
  );

  test('above the bound the answer goes that has waited longest, and whoever reads has all of theirs', async () => {
    const owed = bound(LARGE.length + KERNEL_BYTES_MAX + PIECE_BYTES);
    await using service = await openCounted(owed);
    await using first = await deaf(service);
    const { response } = await service.request(0);
    await until(() => owed.strangers.sum > LARGE.length + PIECE_BYTES);
    const closed = once(response, 'close');
    const whole = await fetch(`http://127.0.0.1:${service.port}/`);
    expect((await whole.arrayBuffer()).byteLength).toBe(LARGE.length);
    await closed;
    // It is reset, so that the kernel keeps nothing for it.
    expect(await errorOf(first.socket)).toBe('ECONNRESET');
  });

  test('above the bound the account goes that holds most, though another one has waited longer', async () => {
    const owed = bound(LARGE.length + 3 * KERNEL_BYTES_MAX);
    await using service = await openCounted(owed);
    await using honest = await deaf(service, get('/as/honest'));
    const kept = (await service.request(0)).response;
    const flood: { [Symbol.asyncDispose](): Promise<void> }[] = [];
    await using all = new AsyncDisposableStack();
    for (let number = 1; number <= 6; number += 1) {
      flood.push(all.use(await deaf(service, get('/as/flood').repeat(2))));
      await service.request(number);
    }
    const responses = service.handled.slice(1).map(({ response }) => response);
    await until(() => responses.some(({ destroyed }) => destroyed));
    expect(owed.known.sum).toBeLessThanOrEqual(LARGE.length + 3 * KERNEL_BYTES_MAX);
    expect([kept.destroyed, honest.socket.destroyed]).toEqual([false, false]);
  });

  test('answers with the same text share its bytes, and others do not', async () => {
    const owed = bound(UNBOUND);
    await using service = await openCounted(owed);
    await using all = new AsyncDisposableStack();
    for (let number = 0; number < 3; number += 1) all.use(await deaf(service, get('/as/a/text1')));
    await service.request(2);
    await until(() => owed.known.sum >= LARGE.length + 3 * PIECE_BYTES);
    expect(owed.known.sum).toBeLessThan(2 * LARGE.length);
    all.use(await deaf(service, get('/as/a/text2')));
    await service.request(3);
    await until(() => owed.known.sum > 2 * LARGE.length);
  });

  test('are owed when all was handed over, until a request comes that nothing waited for', async () => {
    const owed = bound(UNBOUND);
    await using service = await openCounted(owed);
    await using client = await deaf(service, get('/small').repeat(3));
    await service.request(2);
    await until(() => owed.strangers.sum === 3 * SMALL.length);
    client.socket.resume();
    for (let number = 0; number < 3; number += 1) await client.answer();
    await client.send(get('/small'));
    await client.answer();
    await until(() => owed.strangers.sum === SMALL.length);
  });

  test.each([
    ['whose answer says that the connection closes', 'Connection: close\r\n', false],
    ['whose client has ended its side', '', true],
  ])('of a connection %s are owed to its end, which is a reset', async (_which, field, isHalfClosed) => {
    const owed = bound(2.5 * SMALL.length);
    await using service = await openCounted(owed);
    await using client = await deaf(service, `GET /small HTTP/1.1\r\nHost: a\r\n${field}\r\n`);
    if (isHalfClosed) client.halfClose();
    const { response } = await service.request(0);
    if (!response.closed) await once(response, 'close');
    await until(() => response.req.socket.writableEnded);
    expect([owed.strangers.sum, response.req.socket.destroyed]).toEqual([SMALL.length, false]);
    // Another client's answer is above the bound.
    await using reader = await deaf(service, get('/small'));
    reader.socket.resume();
    await reader.answer();
    await until(() => response.req.socket.destroyed);
    expect(owed.strangers.sum).toBe(SMALL.length);
  });
});

test.each([PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 7])(
  'a body of %i bytes arrives whole, as a text and as bytes, and a HEAD has its length alone',
  async (length) => {
    const text = 'aé'.repeat(length).slice(0, length);
    for (const body of [text, Buffer.from(text)]) {
      await using service = await openTestListener({
        handle: (request, response) => sendResponse(request, response, 200, [], body, bound(10 * PIECE_BYTES)),
      });
      const answered = await fetch(`http://127.0.0.1:${service.port}/`);
      expect(await answered.text()).toBe(text);
      const head = await fetch(`http://127.0.0.1:${service.port}/`, { method: 'HEAD' });
      expect([head.headers.get('content-length'), await head.text()]).toEqual([`${Buffer.byteLength(text)}`, '']);
    }
  },
);
