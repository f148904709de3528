import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { OwedBytes } from '../../../src/api/http/pieces/owed-bytes.ts';
import { sendResponse } from '../../../src/api/http/response.ts';
import { PIECE_BYTES } from '../../../src/api/http/pieces/write-pieces.ts';
import { connectRaw } from '../../support/http/raw-http.ts';
import { openTestListener, type TestListener } from '../../support/http/test-listener.ts';
import { until } from '../../support/time/until.ts';

/* What is owed to clients that do not take their answers. */

/** More than the kernels of both sides take for a client that reads nothing. */
const LARGE = Buffer.alloc(20_000_000, 'x');
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

/** A listener whose answers are counted, but for those of `/known`. */
const openCounted = (owed: OwedBytes): Promise<TestListener> =>
  openTestListener({
    handle: (request, response) =>
      sendResponse(request, response, 200, [], LARGE, request.url === '/known' ? undefined : owed),
  });

/** A client that asks and reads nothing. */
async function deaf(service: TestListener, path = '/stranger') {
  const connection = await connectRaw(service.port);
  connection.socket.pause();
  await connection.send(get(path));
  return connection;
}

describe('the bytes that strangers have not taken', () => {
  test('are a piece for each, and none once the connection is closed', async () => {
    const owed = new OwedBytes(10 * PIECE_BYTES);
    await using service = await openCounted(owed);
    const clients = [await deaf(service), await deaf(service), await deaf(service)];
    await service.request(2);
    await until(() => owed.sum === 3 * PIECE_BYTES);
    for (const client of clients) client.socket.destroy();
    await until(() => owed.sum === 0);
  });

  test('above the bound the answer goes that has waited longest, and whoever reads has all of theirs', async () => {
    const owed = new OwedBytes(2 * PIECE_BYTES);
    await using service = await openCounted(owed);
    await using first = await deaf(service);
    const { response } = await service.request(0);
    await until(() => owed.sum === PIECE_BYTES);
    await using second = await deaf(service);
    const kept = (await service.request(1)).response;
    await until(() => owed.sum === 2 * PIECE_BYTES);
    const closed = once(response, 'close');
    const whole = await fetch(`http://127.0.0.1:${service.port}/stranger`);
    expect((await whole.arrayBuffer()).byteLength).toBe(LARGE.length);
    await closed;
    expect([kept.destroyed, second.socket.destroyed, first.socket.readyState]).toEqual([false, false, 'open']);
    // What the reader was given last is owed until its answer is closed.
    await until(() => owed.sum === PIECE_BYTES);
  });

  test('those of clients with a credential are not among them', async () => {
    const owed = new OwedBytes(PIECE_BYTES);
    await using service = await openCounted(owed);
    await using known = await deaf(service, '/known');
    const { response } = await service.request(0);
    await using stranger = await deaf(service);
    await service.request(1);
    await until(() => owed.sum === PIECE_BYTES);
    expect([response.destroyed, known.socket.destroyed, stranger.socket.destroyed]).toEqual([false, false, false]);
  });
});

test.each([PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 7])(
  'a body of %i bytes arrives whole, as a text and as bytes, and a HEAD has its length alone',
  async (length) => {
    const text = 'aé'.repeat(length).slice(0, length);
    for (const body of [text, Buffer.from(text)]) {
      await using service = await openTestListener({
        handle: (request, response) => sendResponse(request, response, 200, [], body, new OwedBytes(10 * PIECE_BYTES)),
      });
      const answered = await fetch(`http://127.0.0.1:${service.port}/`);
      expect(await answered.text()).toBe(text);
      const head = await fetch(`http://127.0.0.1:${service.port}/`, { method: 'HEAD' });
      expect([head.headers.get('content-length'), await head.text()]).toEqual([`${Buffer.byteLength(text)}`, '']);
    }
  },
);
