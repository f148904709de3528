import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createEgress } from '../../src/outgoing/egress.ts';
import { selfSigned } from '../support/http/certificates.ts';
import { ConnectProxy } from '../support/http/connect-proxy.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { until } from '../support/time/until.ts';

/* Calls of the service to the outside, through a real proxy. */

const place = scratchDirectory('egress');
const { cert, key } = selfSigned(place, 'outside');
const authorities = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...authorities, cert]));
afterAll(() => {
  setDefaultCACertificates(authorities);
  rmSync(place, { recursive: true });
});
afterEach(() => void vi.unstubAllEnvs());

interface Outside extends AsyncDisposable {
  readonly url: URL;
}

async function outside(scheme: 'http' | 'https'): Promise<Outside> {
  const listener: RequestListener = (request, response) => {
    if (request.url === '/away') return void response.writeHead(302, { location: 'http://elsewhere.example' }).end();
    request.pipe(response.writeHead(201, { 'x-method': request.method, 'x-told': request.headers['x-tell'] ?? '' }));
  };
  const server: Server = scheme === 'http' ? createServer(listener) : createTlsServer({ cert, key }, listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: new URL(`${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const said = (server: Outside): RequestInit => ({
  method: 'POST',
  headers: { 'x-tell': server.url.port },
  body: 'a=b',
});

describe.each(['http', 'https'] as const)('an address of %s', (scheme) => {
  test('is asked through the proxy, and by its credentials, which no answer and no address has', async () => {
    await using server = await outside(scheme);
    await using proxy = await ConnectProxy.start();
    const egress = createEgress(proxy.url.replace('//', '//us%40er:pass@'));
    const answer = await egress(server.url, said(server));
    expect([answer.status, await answer.text(), answer.headers.get('x-method'), answer.headers.get('x-told')]).toEqual([
      201,
      'a=b',
      'POST',
      server.url.port,
    ]);
    expect(proxy.seen).toEqual([
      {
        method: scheme === 'http' ? 'POST' : 'CONNECT',
        target: scheme === 'http' ? server.url.href : server.url.host,
        credentials: `Basic ${Buffer.from('us@er:pass').toString('base64')}`,
      },
    ]);
    expect((await egress(new URL('/away', server.url))).status).toBe(302);
  });

  test.each(['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'all_proxy', 'grpc_proxy'])(
    'is asked directly without one, whatever %s says',
    async (variable) => {
      await using server = await outside(scheme);
      await using proxy = await ConnectProxy.start();
      vi.stubEnv(variable, proxy.url);
      expect((await createEgress(undefined)(server.url, said(server))).status).toBe(201);
      expect(proxy.seen).toEqual([]);
    },
  );

  test('is asked through the proxy also where no_proxy has its host', async () => {
    await using server = await outside(scheme);
    await using proxy = await ConnectProxy.start();
    vi.stubEnv('no_proxy', '*');
    expect((await createEgress(proxy.url)(server.url, said(server))).status).toBe(201);
    expect(proxy.seen).toHaveLength(1);
  });
});

test.each([
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'],
  ['a status that there is not', 'HTTP/1.1 999 OK\r\ncontent-length: 0\r\n\r\n'],
  ['a status below all', 'HTTP/1.1 42 OK\r\ncontent-length: 0\r\n\r\n'],
  ['words that are none', 'HTTP/1.1 200 O\x01K\r\ncontent-length: 0\r\n\r\n'],
  ['a field with a control character', 'HTTP/1.1 200 OK\r\nx: a\x01b\r\ncontent-length: 0\r\n\r\n'],
  ['a field without a name', 'HTTP/1.1 200 OK\r\n: a\r\ncontent-length: 0\r\n\r\n'],
])('an answer of %s is a failed call: no call that never ends, and no end of the process', async (_what, answer) => {
  const server = createServer().on('request', ({ socket }) => void socket.end(answer));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(createEgress(undefined)(new URL(`http://127.0.0.1:${port}`))).rejects.toThrow('fetch failed');
  server.close();
  await once(server, 'close');
});

describe('a proxy in trouble is a failed call, and nothing is asked past it', () => {
  const trouble = async (
    proxy: string,
    signal?: AbortSignal,
  ): Promise<{ name: string; message: string; cause: unknown }> => {
    const call = createEgress(proxy)(new URL('https://outside.example/'), signal && { signal });
    return (await call.then(
      () => undefined,
      (error: unknown) => error,
    )) as Error & { cause: unknown };
  };

  test('that refuses the tunnel', async () => {
    await using proxy = await ConnectProxy.start();
    proxy.instead = 403;
    const { message, cause } = await trouble(proxy.url.replace('//', '//user:secret-pass@'));
    expect([message, cause]).toEqual(['fetch failed', expect.objectContaining({ code: 'ERR_PROXY_TUNNEL' })]);
    expect(`${(cause as Error).message} ${JSON.stringify(cause)}`).not.toContain('secret-pass');
    await until(() => proxy.open === 0);
  });

  test('that does not listen', async () => {
    await using gone = await ConnectProxy.start();
    const { url } = gone;
    await gone[Symbol.asyncDispose]();
    expect(await trouble(url)).toMatchObject({ message: 'fetch failed', cause: { code: 'ECONNREFUSED' } });
  });

  test('that is silent: the call ends with its signal', async () => {
    await using proxy = await ConnectProxy.start();
    proxy.instead = 'silence';
    const ending = new AbortController();
    const call = trouble(proxy.url, ending.signal);
    await until(() => proxy.seen.length === 1);
    ending.abort(new DOMException('the time is up', 'TimeoutError'));
    expect(await call).toMatchObject({ name: 'TimeoutError' });
  });
});
