import { readFileSync } from 'node:fs';
import { get, request as send, type IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PUBLIC_PATHS, PublicFile } from '../../../../src/api/operator/public-files.ts';
import { call, Muster } from '../../../support/service/muster.ts';

/* The files of the reference page, as the ops listener sends them. test/system/browser has the page in a browser. */

const OWN = join(import.meta.dirname, '../../../../src/api/openapi/page');
const { resolve } = createRequire(import.meta.url);

const FILES: readonly (readonly [path: string, type: string, file: string])[] = [
  ['/docs', 'text/html; charset=utf-8', join(OWN, 'page.html')],
  ['/docs/page.js', 'text/javascript; charset=utf-8', join(OWN, 'page.js')],
  ['/docs/page.css', 'text/css; charset=utf-8', join(OWN, 'page.css')],
  ['/docs/swagger-ui.js', 'text/javascript; charset=utf-8', resolve('swagger-ui-dist/swagger-ui-bundle.js')],
  ['/docs/swagger-ui.css', 'text/css; charset=utf-8', resolve('swagger-ui-dist/swagger-ui.css')],
  ['/docs/favicon.svg', 'image/svg+xml', join(OWN, 'favicon.svg')],
];

describe('the reference page', () => {
  let muster: Muster;
  beforeAll(async () => {
    muster = await Muster.start();
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  /** The bytes as they came, which `fetch` would decompress. */
  async function bytesOf(path: string, acceptEncoding?: string): Promise<[IncomingHttpHeaders, Buffer]> {
    const headers = acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding };
    const { promise, resolve, reject } = Promise.withResolvers<[IncomingHttpHeaders, Buffer]>();
    get(muster.ops + path, { headers, agent: false }, (response) => {
      buffer(response).then((body) => resolve([response.headers, body]), reject);
    }).on('error', reject);
    return await promise;
  }

  test('has all paths of /docs in this test', () => {
    expect(FILES.map(([path]) => path)).toEqual(PUBLIC_PATHS.filter((path) => path.startsWith('/docs')));
  });

  test.each(FILES)('%s is for anybody, under a strict policy, and the same in gzip', async (path, type, file) => {
    const content = readFileSync(file);
    const [headers, body] = await bytesOf(path);
    expect(headers).toMatchObject({
      'content-type': type,
      'content-length': String(content.length),
      'cache-control': 'no-store, no-transform',
      'x-request-id': expect.stringMatching(/^[A-Za-z0-9._-]{1,128}$/) as string,
      vary: 'Accept-Encoding',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers).not.toHaveProperty('content-encoding');
    expect(headers).not.toHaveProperty('set-cookie');
    expect(body.equals(content)).toBe(true);

    const [ofPacked, packed] = await bytesOf(path, 'br, gzip');
    expect([ofPacked['content-encoding'], ofPacked['content-length']]).toEqual(['gzip', String(packed.length)]);
    expect(gunzipSync(packed).equals(content)).toBe(true);
    const [refusing, plain] = await bytesOf(path, 'gzip;q=0');
    expect([refusing['content-encoding'], plain.equals(content)]).toEqual([undefined, true]);
  });

  test('a document comes in gzip as well', async () => {
    const [headers, packed] = await bytesOf('/openapi/v1.json', 'gzip');
    const [, plain] = await bytesOf('/openapi/v1.json');
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', 'content-type': 'application/json' });
    expect(gunzipSync(packed).equals(plain)).toBe(true);
  });

  test.each(FILES)('%s has its length in an answer to HEAD, too', async (path) => {
    const head = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
      send(muster.ops + path, { method: 'HEAD', agent: false }, ({ headers }) => resolve(headers))
        .on('error', reject)
        .end();
    });
    const [{ 'content-length': length }] = await bytesOf(path);
    expect(head['content-length']).toBe(length);
  });

  test('a query belongs to the page, and other names are 404', async () => {
    expect((await call(`${muster.ops}/docs?api=operator`)).status).toBe(200);
    for (const path of [
      '/docs/',
      '/Docs',
      '/docs/page.html',
      '/docs/files.ts',
      '/docs/..%2fpage.js',
      '/docs/page.js/',
    ]) {
      expect([path, (await call(muster.ops + path)).status]).toEqual([path, 404]);
    }
  });

  test('is on no other listener', async () => {
    expect((await call(`${muster.api}/docs`)).status).toBe(404);
    expect((await call(`${muster.device}/docs`)).status).toBe(404);
  });
});

describe('a public file', () => {
  const bytes = Buffer.from('content');
  const counted = (read: (time: number) => Promise<Buffer>) => {
    const source = { times: 0, file: undefined as unknown as PublicFile };
    source.file = new PublicFile({ type: 'text/plain', read: () => read((source.times += 1)) });
    return source;
  };

  test('is read when it is first asked for, once for all who ask', async () => {
    const source = counted(() => Promise.resolve(bytes));
    expect(source.times).toBe(0);
    const ask = () => source.file.content({ compressed: true });
    const [first, second] = await Promise.all([ask(), ask()]);
    expect(second).toBe(first);
    expect(await ask()).toBe(first);
    expect(gunzipSync(first)).toEqual(bytes);
    expect(source.times).toBe(1);
  });

  test('that could not be read is read again', async () => {
    const source = counted((time) => (time === 1 ? Promise.reject(new Error('EMFILE')) : Promise.resolve(bytes)));
    await expect(source.file.content({ compressed: false })).rejects.toThrow('EMFILE');
    expect(await source.file.content({ compressed: false })).toBe(bytes);
  });
});
