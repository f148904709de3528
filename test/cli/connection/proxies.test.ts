import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { connectedTo, musterCommand, musterHere, ownedBy } from '../../support/service/muster-command.ts';
import { ConnectProxy } from '../../support/http/connect-proxy.ts';
import { Muster, OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';

/* The command line goes by the proxies of its environment; the service's name exists for the proxy alone. */

const API = 'http://api.fleet.example:8080';
const OPS = 'http://ops.fleet.example:8082';
const placeOf = (url: string): { host: string; port: number } => ({
  host: '127.0.0.1',
  port: Number(new URL(url).port),
});

async function behindProxy(): Promise<
  AsyncDisposable & { muster: Muster; proxy: ConnectProxy; env: Record<string, string> }
> {
  const opened = new AsyncDisposableStack();
  const muster = opened.use(await Muster.start());
  const proxy = opened.use(await ConnectProxy.start());
  proxy.places.set('api.fleet.example', placeOf(muster.api));
  proxy.places.set('ops.fleet.example', placeOf(muster.ops));
  const { apiKey } = await tenant(muster);
  const env = {
    MUSTER_CLIENT_URL: API,
    MUSTER_CLIENT_OPS_URL: OPS,
    MUSTER_CLIENT_API_KEY: apiKey,
    MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN,
  };
  return { muster, proxy, env, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

describe('a service elsewhere', () => {
  test.each(['http_proxy', 'HTTP_PROXY'])(
    'is asked through the proxy of %s, by every kind of command',
    async (variable) => {
      await using it = await behindProxy();
      const env = { ...it.env, [variable]: it.proxy.url };
      expect(await musterHere(['apps', 'create', '--name', 'one'], env)).toMatchObject({ code: 0 });
      expect(await musterHere(['accounts', 'list'], env)).toMatchObject({ code: 0 });
      expect(await musterHere(['status'], env)).toMatchObject({ code: 0 });
      expect(it.proxy.targets).toEqual(
        expect.arrayContaining([
          `POST ${API}/v1/apps`,
          `GET ${OPS}/operator/v1/accounts?limit=1000`,
          `GET ${OPS}/readyz`,
        ]),
      );
    },
  );

  test('is asked through it by the command as a process, too, and a proxy with a password gets it', async () => {
    await using it = await behindProxy();
    const http_proxy = it.proxy.url.replace('//', '//me:secret-pass@');
    expect(await musterCommand(['apps', 'list'], { ...it.env, http_proxy })).toMatchObject({ code: 0 });
    expect(it.proxy.seen[0]?.credentials).toBe(`Basic ${btoa('me:secret-pass')}`);
  });

  test.each([
    ['without a scheme, as curl takes it', (url: string) => url.replace('http://', '')],
    ['with the name of small letters first', (url: string) => url],
  ])('is asked through a proxy %s', async (_how, spelled) => {
    await using it = await behindProxy();
    const env = { ...it.env, http_proxy: spelled(it.proxy.url), HTTP_PROXY: 'http://127.0.0.1:1' };
    expect(await musterHere(['apps', 'list'], env)).toMatchObject({ code: 0 });
    expect(it.proxy.seen.length).toBeGreaterThan(0);
  });

  test('is not asked through it where no_proxy has its host', async () => {
    await using it = await behindProxy();
    const env = { ...it.env, http_proxy: it.proxy.url, no_proxy: 'fleet.example' };
    const { code, stderr } = await musterHere(['apps', 'list'], env);
    expect([code === 0, it.proxy.seen]).toEqual([false, []]);
    expect(stderr).not.toContain('http_proxy');
  });

  test('an https address is a tunnel by https_proxy, and that of http is another', async () => {
    await using it = await behindProxy();
    it.proxy.instead = 403;
    const env = {
      ...it.env,
      MUSTER_CLIENT_URL: 'https://api.fleet.example:8443',
      https_proxy: it.proxy.url,
      http_proxy: 'http://127.0.0.1:1',
    };
    const { code, stderr } = await musterHere(['apps', 'list'], env);
    expect(it.proxy.targets).toEqual(['CONNECT api.fleet.example:8443']);
    expect(stderr).toContain('the proxy makes no tunnel to it; the way there is the proxy of https_proxy');
    expect(code).not.toBe(0);
  });

  test('a proxy that does not listen is named by its variable, and its password is not told', async () => {
    await using it = await behindProxy();
    const { code, stderr } = await musterHere(['apps', 'list'], {
      ...it.env,
      http_proxy: 'http://me:secret-pass@127.0.0.1:1',
    });
    expect(stderr).toContain(
      `The service at ${API} cannot be reached (nothing listens there; the way there is the proxy of http_proxy`,
    );
    expect(stderr).not.toContain('secret-pass');
    expect(code).not.toBe(0);
  });

  test.each(['socks5://127.0.0.1:1080', 'ftp://proxy.example', 'http://', 'http://proxy.example:99999'])(
    'the proxy %s is refused by its variable',
    async (value) => {
      await using it = await behindProxy();
      expect(await musterHere(['apps', 'list'], { ...it.env, HTTP_PROXY: value })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('HTTP_PROXY: must be http://HOST:PORT or https://HOST:PORT') as string,
      });
    },
  );
});

describe('a service of this machine', () => {
  test('is asked directly, whatever the environment says', async () => {
    await using it = await behindProxy();
    const proxies = { http_proxy: it.proxy.url, https_proxy: it.proxy.url, HTTP_PROXY: it.proxy.url };
    expect(await musterHere(['accounts', 'list'], { ...connectedTo(it.muster), ...proxies })).toMatchObject({
      code: 0,
    });
    const { apiKey } = await tenant(it.muster);
    expect(await musterCommand(['apps', 'list'], { ...ownedBy(it.muster, apiKey), ...proxies })).toMatchObject({
      code: 0,
    });
    const named = { ...ownedBy(it.muster, apiKey), MUSTER_CLIENT_URL: it.muster.api.replace('127.0.0.1', 'localhost') };
    expect(await musterHere(['apps', 'list'], { ...named, ...proxies })).toMatchObject({ code: 0 });
    expect(it.proxy.seen).toEqual([]);
  });
});

test('a redirect is not followed through a proxy either', async () => {
  await using proxy = await ConnectProxy.start();
  const asked: (string | undefined)[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    asked.push(request.url);
    response.writeHead(302, { location: 'http://elsewhere.example/' }).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  proxy.places.set('ops.fleet.example', { host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  const env = { MUSTER_CLIENT_OPS_URL: OPS, MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN, http_proxy: proxy.url };
  expect(await musterHere(['accounts', 'list'], env)).toMatchObject({
    stderr: expect.stringContaining('The address redirects elsewhere') as string,
  });
  await musterHere(['status'], env);
  expect(proxy.targets.filter((target) => target.includes('elsewhere'))).toEqual([]);
  expect(asked.length).toBeGreaterThan(1);
  server.close();
  server.closeAllConnections();
});
