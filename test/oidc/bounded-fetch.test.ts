import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { boundedFetch } from '../../src/oidc/bounded-fetch.ts';
import { createEgress } from '../../src/outgoing/egress.ts';

async function serving(listener: RequestListener): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const DIRECT = createEgress(undefined);
const LOCAL = new URL('http://localhost:9000');
const PUBLIC = new URL('https://id.example.com');

test('an answer of a mebibyte is taken, and none that is larger', async () => {
  await using server = await serving((request, response) => {
    response.end(Buffer.alloc(Number(request.url?.slice(1)), 'x'));
  });
  const ask = boundedFetch(LOCAL, DIRECT);
  expect((await (await ask(`${server.url}/1048576`)).text()).length).toBe(1_048_576);
  await expect(ask(`${server.url}/1048577`)).rejects.toThrow('too large');
});

test('a redirect is not followed, and the method, the headers and the body arrive', async () => {
  await using server = await serving((request, response) => {
    if (request.url === '/away')
      return void response.writeHead(302, { location: 'http://elsewhere.example.com' }).end();
    request.pipe(response.writeHead(201, { 'x-method': request.method, 'x-told': request.headers['x-tell'] }));
  });
  const ask = boundedFetch(LOCAL, DIRECT);
  expect((await ask(`${server.url}/away`)).status).toBe(302);
  const answer = await ask(server.url, { method: 'POST', headers: { 'x-tell': 'me' }, body: 'a=b' });
  expect([answer.status, await answer.text(), answer.headers.get('x-method'), answer.headers.get('x-told')]).toEqual([
    201,
    'a=b',
    'POST',
    'me',
  ]);
});

test.each([
  ['http://id.example.com/keys', PUBLIC, 'plain HTTP over a network'],
  ['http://127.0.0.1:1/keys', PUBLIC, 'this machine, named by a provider that is elsewhere'],
  ['http://id.example.com/keys', LOCAL, 'elsewhere by plain HTTP, named by a provider on this machine'],
  ['file:///etc/passwd', LOCAL, 'a file'],
])('%s is not asked: %s (%s)', async (address, issuer) => {
  await expect(boundedFetch(issuer, DIRECT)(address)).rejects.toThrow('not https');
});

test('an answer that breaks off is a fault of its own', async () => {
  await using server = await serving((_request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('x');
    response.destroy();
  });
  await expect(boundedFetch(LOCAL, DIRECT)(server.url)).rejects.toThrow(TypeError);
});
