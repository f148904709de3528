import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { BODY_LIMITS, parseJsonObject, readBody } from '../../../src/api/http/request-body.ts';
import { sendResponse } from '../../../src/api/http/response.ts';
import { connectRaw, exchange, header } from '../../support/http/raw-http.ts';
import { hold, openTestListener, type TestListener } from '../../support/http/test-listener.ts';
import { until } from '../../support/time/until.ts';

const MAX = BODY_LIMITS.bytesMax;
const BROKE_OFF = 'unreadable: The body broke off.';
const TOO_SLOW = 'unreadable: The body did not come in time.';
const CORRUPT = 'unreadable: The body does not decompress.';
const NOT_UTF8 = 'unreadable: The body is not UTF-8.';
const BAD_ENCODING = 'unreadable: The Content-Encoding is not supported.';

/** Answers what came of the body: its kind, and its text where it is short, or how long it is. */
async function report(request: IncomingMessage, response: ServerResponse, principal?: string): Promise<void> {
  const body = await readBody(request, response, principal);
  let text: string = body.kind;
  if (body.kind === 'unreadable') text = `unreadable: ${body.why}`;
  if (body.kind === 'bytes')
    text = body.bytes.length > 100 ? `${body.bytes.length} bytes` : `"${body.bytes.toString()}"`;
  sendResponse(request, response, body.kind === 'too_large' ? 413 : 200, [], text);
}

function openReporter(): Promise<TestListener> {
  return openTestListener({ handle: (request, response) => void report(request, response, 'someone') });
}

function withLength(body: string | Buffer, headers = ''): Buffer {
  const head = `POST / HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

function chunked(chunks: readonly (string | Buffer)[], headers = ''): Buffer {
  const parts = chunks.flatMap((chunk) => [`${Buffer.byteLength(chunk).toString(16)}\r\n`, chunk, '\r\n']);
  const head = `POST / HTTP/1.1\r\nHost: a\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`;
  return Buffer.concat([head, ...parts, '0\r\n\r\n'].map((part) => Buffer.from(part)));
}

const encoded = (encoding: string, body: Buffer): Buffer => withLength(body, `Content-Encoding: ${encoding}\r\n`);

describe('readBody', () => {
  test.each<[string, Buffer | string, string]>([
    ['no body', 'POST / HTTP/1.1\r\nHost: a\r\n\r\n', 'empty'],
    ['Content-Length: 0', withLength(''), 'empty'],
    ['Content-Length: 00', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 00\r\n\r\n', 'empty'],
    ['chunked, and no chunk', chunked([]), 'empty'],
    ['no body in an unknown encoding', withLength('', 'Content-Encoding: lzma\r\n'), 'empty'],
    ['a body', withLength('{"a":1}'), '"{"a":1}"'],
    ['a body of a GET', withLength('a').toString().replace('POST', 'GET'), '"a"'],
    ['chunks', chunked(['{"a"', ':', '1}']), '"{"a":1}"'],
    [
      'chunks with extensions',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;a=b\r\nx\r\n0\r\n\r\n',
      '"x"',
    ],
    [
      'chunks with a trailer',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n',
      '"x"',
    ],
    ['an umlaut split over two chunks', chunked([Buffer.from([0xc3]), Buffer.from([0xa4])]), '"ä"'],
    ['a byte order mark', withLength('\ufeff{}'), '"{}"'],
    ['two byte order marks', withLength('\ufeff\ufeff{}'), '"\ufeff{}"'],
    ['a byte order mark and nothing else', withLength('\ufeff'), '""'],
    ['a lone continuation byte', withLength(Buffer.from([0x22, 0x80, 0x22])), NOT_UTF8],
    ['an overlong slash', withLength(Buffer.from([0xc0, 0xaf])), NOT_UTF8],
    ['a surrogate in UTF-8', withLength(Buffer.from([0xed, 0xa0, 0x80])), NOT_UTF8],
    ['half of a character', withLength(Buffer.from([0xf0, 0x9f, 0x98])), NOT_UTF8],
    ['UTF-16', withLength(Buffer.from('\ufeff{}', 'utf16le')), NOT_UTF8],
    ['U+10FFFF, the last character', withLength('\u{10ffff}'), '"\u{10ffff}"'],
  ])('%s', async (_what, bytes, result) => {
    await using service = await openReporter();
    expect((await exchange(service.port, bytes)).body).toBe(result);
  });

  test.each<[string, Buffer, string]>([
    ['65,536 bytes', withLength('x'.repeat(MAX)), '65536 bytes'],
    ['65,537 bytes', withLength('x'.repeat(MAX + 1)), 'too_large'],
    ['65,536 bytes in chunks', chunked(['x', 'x'.repeat(MAX - 1)]), '65536 bytes'],
    ['65,537 bytes in chunks', chunked(['x', 'x'.repeat(MAX)]), 'too_large'],
    ['65,537 bytes in one chunk', chunked(['x'.repeat(MAX + 1)]), 'too_large'],
    ['65,536 bytes from gzip', encoded('gzip', gzipSync('x'.repeat(MAX))), '65536 bytes'],
    ['65,537 bytes from gzip', encoded('gzip', gzipSync('x'.repeat(MAX + 1))), 'too_large'],
    ['65,536 bytes from deflate', encoded('deflate', deflateSync('x'.repeat(MAX))), '65536 bytes'],
    ['65,537 bytes from deflate', encoded('deflate', deflateSync('x'.repeat(MAX + 1))), 'too_large'],
    ['65,536 bytes from raw deflate', encoded('deflate', deflateRawSync('x'.repeat(MAX))), '65536 bytes'],
    ['65,537 bytes from raw deflate', encoded('deflate', deflateRawSync('x'.repeat(MAX + 1))), 'too_large'],
    [
      '65,537 bytes from gzip in chunks',
      chunked([gzipSync('x'.repeat(MAX + 1))], 'Content-Encoding: gzip\r\n'),
      'too_large',
    ],
    ['a gzip bomb of 50 MB', encoded('gzip', gzipSync(Buffer.alloc(50_000_000))), 'too_large'],
    ['too long before it is inflated', encoded('gzip', Buffer.alloc(MAX + 1)), 'too_large'],
    ['too long in an unknown encoding', encoded('lzma', Buffer.alloc(MAX + 1)), 'too_large'],
  ])('the limit: %s', async (_what, bytes, result) => {
    await using service = await openReporter();
    expect((await exchange(service.port, bytes)).body).toBe(result);
  });

  test.each<[string, Buffer, string]>([
    ['gzip', encoded('gzip', gzipSync('{}')), '"{}"'],
    ['x-gzip', encoded('x-gzip', gzipSync('{}')), '"{}"'],
    ['GZIP', encoded('GZIP', gzipSync('{}')), '"{}"'],
    ['deflate', encoded('deflate', deflateSync('{}')), '"{}"'],
    ['deflate without the zlib frame', encoded('deflate', deflateRawSync('{}')), '"{}"'],
    ['identity', encoded('identity', Buffer.from('{}')), '"{}"'],
    ['none named', encoded('', Buffer.from('{}')), '"{}"'],
    ['gzip of nothing', encoded('gzip', gzipSync('')), 'empty'],
    ['gzip of two members', encoded('gzip', Buffer.concat([gzipSync('{'), gzipSync('}')])), '"{}"'],
    ['gzip of what is not UTF-8', encoded('gzip', gzipSync(Buffer.from([0xff]))), NOT_UTF8],
    ['gzip that is not gzip', encoded('gzip', Buffer.from('{}')), CORRUPT],
    ['gzip cut short', encoded('gzip', gzipSync('{}').subarray(0, -1)), CORRUPT],
    ['gzip with a wrong checksum', encoded('gzip', gzipSync('{}').fill(0, 14, 18)), CORRUPT],
    ['gzip and zeros behind', encoded('gzip', Buffer.concat([gzipSync('{}'), Buffer.alloc(1)])), CORRUPT],
    ['gzip and text behind', encoded('gzip', Buffer.concat([gzipSync('{}'), Buffer.from('x')])), CORRUPT],
    ['deflate cut short', encoded('deflate', deflateSync('{}').subarray(0, -1)), CORRUPT],
    ['deflate and text behind', encoded('deflate', Buffer.concat([deflateSync('{}'), Buffer.from('x')])), CORRUPT],
    [
      'raw deflate and text behind',
      encoded('deflate', Buffer.concat([deflateRawSync('{}'), Buffer.from('x')])),
      CORRUPT,
    ],
    ['an unknown encoding', encoded('zstd', zstdCompressSync('{}')), BAD_ENCODING],
    ['br, whose decoder takes 16 MiB for a few bytes', encoded('br', brotliCompressSync('{}')), BAD_ENCODING],
    ['BR', encoded('BR', brotliCompressSync('{}')), BAD_ENCODING],
    ['two encodings', encoded('gzip, gzip', gzipSync(gzipSync('{}'))), BAD_ENCODING],
    ['two encodings in two headers', encoded('gzip\r\nContent-Encoding: br', gzipSync('{}')), BAD_ENCODING],
    ['a name that every object has', encoded('constructor', Buffer.from('{}')), BAD_ENCODING],
    [
      'a compressed transfer',
      Buffer.from('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'),
      'unreadable: The Transfer-Encoding is not supported.',
    ],
  ])('encodings: %s', async (_what, bytes, result) => {
    await using service = await openReporter();
    expect((await exchange(service.port, bytes)).body).toBe(result);
  });

  test.each<[string, Buffer, string]>([
    ['gzip', encoded('gzip', gzipSync('{}')), BAD_ENCODING],
    ['no gzip under the name of it', encoded('gzip', Buffer.from('{}')), BAD_ENCODING],
    ['identity', encoded('identity', Buffer.from('{}')), '"{}"'],
  ])('H7: nothing is inflated before authentication: %s', async (_what, bytes, result) => {
    await using service = await openTestListener({
      handle: (request, response) => void report(request, response, undefined),
    });
    expect((await exchange(service.port, bytes)).body).toBe(result);
  });

  test.each([
    ['with a length', withLength('{"a":1}')],
    ['chunked', chunked(['{"a"', ':', '1}'])],
    ['gzip', encoded('gzip', gzipSync('{"a":1}'))],
  ])('a request that comes byte by byte, %s', async (_what, bytes) => {
    await using service = await openReporter();
    await using connection = await connectRaw(service.port);
    for (const byte of bytes) await connection.send(Buffer.from([byte]));
    expect((await connection.answer()).body).toBe('"{"a":1}"');
  });

  test.each([
    ['with a length', withLength('early')],
    ['chunked', chunked(['ear', 'ly'])],
    ['beyond the limit, chunked', chunked(['x'.repeat(MAX), 'x'])],
  ])('a body that was already there when somebody asked for it, %s', async (_what, bytes) => {
    await using service = await openTestListener({ handle: hold });
    await using connection = await connectRaw(service.port);
    await connection.send(Buffer.concat([bytes, Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')]));
    const first = await service.request(0);
    await until(() => first.request.complete);
    await report(first.request, first.response);
    expect((await connection.answer()).body).toBe(bytes.length > MAX ? 'too_large' : '"early"');
    const second = await service.request(1);
    await report(second.request, second.response);
    expect((await connection.answer()).body).toBe('empty');
  });

  test('the 413 of a declared length comes before any of the body', async () => {
    await using service = await openReporter();
    const refused = await exchange(service.port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000000\r\n\r\n');
    expect([refused.status, header(refused, 'connection')]).toEqual([413, 'close']);
  });

  test('the 413 of a body that never ends comes while it is sent', async () => {
    await using service = await openReporter();
    await using connection = await connectRaw(service.port);
    await connection.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (let sent = 0; sent < 5; sent += 1) await connection.send(`4000\r\n${'x'.repeat(16_384)}\r\n`);
    expect((await connection.answer()).status).toBe(413);
    connection.halfClose();
    expect(await connection.rest()).toBe('');
  });

  test.each([
    ['a chunk size that is none', 'zz\r\n', BROKE_OFF],
    ['a negative chunk size', '-1\r\n', BROKE_OFF],
    ['a chunk size beyond 64 bits', '11111111111111111\r\n', BROKE_OFF],
    ['a chunk that is longer than its size', '1\r\nab\r\n0\r\n\r\n', BROKE_OFF],
    ['a chunk size that ends in a lone LF', '1\na\r\n0\r\n\r\n', BROKE_OFF],
    ['endless chunk extensions', `1;${'a'.repeat(20_000)}\r\na\r\n0\r\n\r\n`, BROKE_OFF],
    ['trailers above 16 KiB', `0\r\na: ${'b'.repeat(20_000)}\r\n\r\n`, BROKE_OFF],
  ])('%s', async (_what, body, result) => {
    await using service = await openReporter();
    await using connection = await connectRaw(service.port);
    await connection.send(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${body}`);
    const only = await connection.answer();
    expect([only.body, header(only, 'connection')]).toEqual([result, 'close']);
    connection.halfClose();
    expect(await connection.rest()).toBe('');
  });

  test('a body that broke before somebody asked for it', async () => {
    await using service = await openTestListener({ handle: hold });
    await using connection = await connectRaw(service.port);
    await connection.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n');
    const { request, response } = await service.request(0);
    await report(request, response);
    expect((await connection.answer()).body).toBe(BROKE_OFF);
  });

  test('bytes beyond the limit wait in the socket until the response', async () => {
    await using service = await openTestListener({ handle: hold });
    await using connection = await connectRaw(service.port);
    await connection.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    const { request, response } = await service.request(0);
    const body = readBody(request, response, 'someone');
    await connection.send(`20000\r\n${'x'.repeat(131_072)}\r\n`);
    expect(await body).toEqual({ kind: 'too_large' });
    expect([request.isPaused(), request.listenerCount('data')]).toEqual([true, 0]);
  });

  test.each([
    ['with a length', 'Content-Length: 9\r\n\r\nabc'],
    ['chunked', 'Transfer-Encoding: chunked\r\n\r\n9\r\nabc'],
  ])('a body that breaks off, %s, is told to the client that still reads', async (_what, bytes) => {
    await using service = await openReporter();
    await using connection = await connectRaw(service.port);
    await connection.send(`POST / HTTP/1.1\r\nHost: a\r\n${bytes}`);
    connection.halfClose();
    expect((await connection.answer()).body).toBe(BROKE_OFF);
    expect(await connection.rest()).toBe('');
  });

  test.each([
    ['while it is read', false],
    ['before it is read', true],
  ])('a client that vanishes in its body, %s', async (_what, before) => {
    await using service = await openTestListener({ handle: hold });
    await using connection = await connectRaw(service.port);
    await connection.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc');
    const { request, response } = await service.request(0);
    const closed = once(response, 'close');
    const early = before ? undefined : readBody(request, response, 'someone');
    connection.reset();
    await closed;
    expect(await (early ?? readBody(request, response, 'someone'))).toEqual({
      kind: 'unreadable',
      why: 'The body broke off.',
    });
  });

  test('a body that stalls for 10 s, or takes 30 s, is given up; one that only drips is not', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    await using service = await openReporter();
    const open = async (number: number, head: string): Promise<Drip> => {
      const connection = await connectRaw(service.port);
      await connection.send(`POST / HTTP/1.1\r\nHost: a\r\n${head}\r\n\r\n`);
      return new Drip(connection, (await service.request(number)).request);
    };
    await using patient = await open(0, 'Content-Length: 4');
    await using endless = await open(1, 'Transfer-Encoding: chunked');
    await using stalled = await open(2, 'Content-Length: 4');
    await using silent = await open(3, 'Content-Length: 4');
    await stalled.send('a', 'a');

    for (let seconds = 0; seconds < 27; seconds += 9) {
      vi.advanceTimersByTime(9_000);
      await patient.send('a', 'a');
      await endless.send('1\r\na\r\n', 'a');
    }
    expect((await stalled.connection.answer()).body).toBe(TOO_SLOW);
    expect((await silent.connection.answer()).body).toBe(TOO_SLOW);
    vi.advanceTimersByTime(2_999);
    await patient.send('a', 'a');
    expect((await patient.connection.answer()).body).toBe('"aaaa"');
    await endless.send('1\r\na\r\n', 'a');
    vi.advanceTimersByTime(1);
    expect((await endless.connection.answer()).body).toBe(TOO_SLOW);
  });

  test('nothing is left on the clock when a body was read', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    await using service = await openReporter();
    await exchange(service.port, chunked(['a', 'b']));
    await exchange(service.port, withLength('x'.repeat(MAX)));
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('100 Continue (H7)', () => {
  const head = (expectation: string, length: number, version = '1.1'): string =>
    `POST / HTTP/${version}\r\nHost: a\r\nExpect: ${expectation}\r\nContent-Length: ${length}\r\n\r\n`;

  test.each(['100-continue', '100-Continue'])('%s: sent when the body is wanted', async (expectation) => {
    await using service = await openReporter();
    await using connection = await connectRaw(service.port);
    for (const round of [1, 2]) {
      await connection.send(head(expectation, 3));
      expect((await connection.answer()).status, `round ${round}`).toBe(100);
      await connection.send('abc');
      expect((await connection.answer()).body).toBe('"abc"');
    }
  });

  test.each<[string, string, string, string]>([
    ['the body is too large', head('100-continue', MAX + 1), '', 'too_large'],
    ['there is no body', head('100-continue', 0), '', 'empty'],
    ['all of the body is already there', `${head('100-continue', 3)}abc`, '', '"abc"'],
    ['a part of the body is already there', `${head('100-continue', 3)}ab`, 'c', '"abc"'],
    ['another value is expected', head('200-ok', 3), 'abc', '"abc"'],
    ['the client speaks HTTP/1.0', head('100-continue', 3, '1.0'), 'abc', '"abc"'],
  ])('not sent where %s', async (_what, first, then, body) => {
    await using service = await openTestListener({ handle: hold });
    await using connection = await connectRaw(service.port);
    await connection.send(first);
    const { request, response } = await service.request(0);
    // The bytes that came with the head have been parsed by now, as they have after authentication.
    const reported = report(request, response);
    await connection.send(then);
    await reported;
    expect((await connection.answer()).body).toBe(body);
  });
});

describe('parseJsonObject', () => {
  test.each<[string, string, unknown]>([
    ['an object', '{"a":[1,{"b":null}]}', { a: [1, { b: null }] }],
    ['white space around it', ' \r\n\t{} ', {}],
    ['a repeated key: the last wins', '{"a":1,"a":2}', { a: 2 }],
    ['a lone surrogate, escaped', '{"a":"\\ud800"}', { a: '\ud800' }],
    ['deep nesting', `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, expect.anything()],
  ])('%s', (_what, text, value) => {
    const parsed = parseJsonObject(Buffer.from(text));
    expect(parsed.kind === 'object' ? { ...parsed.value } : parsed).toEqual(value);
  });

  test.each([
    ['nothing', '', 'not_json'],
    ['white space', ' \n', 'not_json'],
    ['half an object', '{"a":', 'not_json'],
    ['two objects', '{}{}', 'not_json'],
    ['a comma at the end', '{"a":1,}', 'not_json'],
    ['single quotes', "{'a':1}", 'not_json'],
    ['NaN', '{"a":NaN}', 'not_json'],
    ['a line break in a string', '{"a":"\n"}', 'not_json'],
    ['64 KiB of [', '['.repeat(MAX), 'not_json'],
    ['64 KiB of {"a":', '{"a":'.repeat(13_000), 'not_json'],
    ['deep nesting', `${'['.repeat(MAX / 2)}${']'.repeat(MAX / 2)}`, 'not_object'],
    ['an array', '[]', 'not_object'],
    ['null', 'null', 'not_object'],
    ['a number', '1', 'not_object'],
    ['a string', '"{}"', 'not_object'],
    ['true', 'true', 'not_object'],
  ])('not an object: %s', (_what, text, kind) => {
    expect(parseJsonObject(Buffer.from(text))).toEqual({ kind });
  });

  test('only what was sent can be read, and __proto__ is a key like any other', () => {
    const parsed = parseJsonObject(Buffer.from('{"__proto__":{"enabled":true}}'));
    const value = parsed.kind === 'object' ? parsed.value : {};
    expect([value['enabled'], value['constructor'], value['toString']]).toEqual([undefined, undefined, undefined]);
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>)['enabled']).toBeUndefined();
  });
});

/** A body that comes piece by piece: the next goes out when the one before has been parsed. */
class Drip implements AsyncDisposable {
  readonly connection: Awaited<ReturnType<typeof connectRaw>>;
  readonly #request: IncomingMessage;

  constructor(connection: Drip['connection'], request: IncomingMessage) {
    this.connection = connection;
    this.#request = request;
  }

  async send(bytes: string, parsed: string): Promise<void> {
    const arrival = once(this.#request, 'data');
    await this.connection.send(bytes);
    expect(String((await arrival)[0])).toBe(parsed);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.connection[Symbol.asyncDispose]();
  }
}
