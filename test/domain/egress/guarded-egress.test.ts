import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createGuardedEgress, type EgressDeps, type EgressOutcome } from '../../../src/domain/egress/guarded-egress.ts';
import type { Resolve } from '../../../src/domain/egress/names.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { rangesOf } from '../../../src/text/ip-addresses.ts';
import { issuedBy, selfSigned } from '../../support/http/certificates.ts';
import { ConnectProxy } from '../../support/http/connect-proxy.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* Calls to real servers of this machine; the operator has opened 127.0.0.1 alone. */

const place = scratchDirectory('guarded-egress');
const authority = selfSigned(place, 'authority', { names: 'DNS:authority.example' });
const trusted = issuedBy(place, 'authority', 'collector', { names: 'DNS:collector.example,IP:127.0.0.1' });
const stranger = selfSigned(place, 'stranger', { names: 'DNS:collector.example' });
const expired = issuedBy(place, 'authority', 'expired', { names: 'DNS:collector.example', days: '-1' });
const authorities = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...authorities, authority.cert]));
afterAll(() => {
  setDefaultCACertificates(authorities);
  rmSync(place, { recursive: true });
});
afterEach(() => void vi.unstubAllEnvs());

const HEADER = 'Bearer wt7-secret';

interface Seen {
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
}

class Collector implements AsyncDisposable {
  readonly seen: Seen[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(
    answer: (response: ServerResponse, request: IncomingMessage) => void,
    tls?: { readonly cert: string; readonly key: string },
  ): Promise<Collector> {
    const listener: RequestListener = (request, response) => {
      collector.seen.push({ path: request.url, headers: request.headers });
      request.resume().once('end', () => answer(response, request));
    };
    const server = tls ? createTlsServer(tls, listener) : createServer(listener);
    const collector = new Collector(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return collector;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async open(): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#server.getConnections((_error, count) => resolve(count));
    return await promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

const ok = (response: ServerResponse): void => void response.end('{}');

const PLACE: Omit<EgressDeps, 'clock'> = {
  proxy: undefined,
  allow: rangesOf('127.0.0.1'),
  ownAddresses: () => [],
  ownPorts: () => [],
  storeUrls: [],
  resolve: async () => ['127.0.0.1'],
};

function egress(deps: Partial<EgressDeps> = {}) {
  const clock = new FakeClock();
  const guarded = createGuardedEgress({ ...PLACE, clock, ...deps });
  return {
    clock,
    post: (url: string): Promise<EgressOutcome> =>
      guarded.post({
        url: new URL(url),
        headers: { Authorization: HEADER, 'Content-Type': 'application/x-protobuf' },
        body: '',
        withdrawn: new AbortController().signal,
        maySend: async () => true,
      }),
  };
}

const NOT_ALLOWED = { kind: 'not-allowed' };
const answered = (status: number) => ({ kind: 'answered', status });
const unreached = (why: string) => ({ kind: 'unreached', why });

test('a call has the header, no body, and the name in Host; its connection ends with it', async () => {
  await using collector = await Collector.start(ok);
  const { port } = collector;
  expect(await egress().post(`http://collector.example:${port}/v1/traces`)).toEqual(answered(200));
  expect(collector.seen).toMatchObject([
    {
      path: '/v1/traces',
      headers: {
        host: `collector.example:${port}`,
        authorization: HEADER,
        'content-length': '0',
        'content-type': 'application/x-protobuf',
      },
    },
  ]);
  await until(async () => (await collector.open()) === 0);
});

describe('the address is judged, and the connection is made to it', () => {
  test('a name that has another address the next time is looked up once', async () => {
    await using collector = await Collector.start(ok);
    const answers = [['127.0.0.1'], ['169.254.169.254'], ['169.254.169.254']];
    let asked = 0;
    const resolve: Resolve = async () => answers[asked++] ?? [];
    const rebound = egress({ resolve });
    expect(await rebound.post(`http://collector.example:${collector.port}/`)).toEqual(answered(200));
    expect(asked).toBe(1);
    // The next call judges what the name has then.
    expect(await rebound.post(`http://collector.example:${collector.port}/`)).toEqual(NOT_ALLOWED);
    expect(collector.seen).toHaveLength(1);
  });

  test.each([
    [['127.0.0.1', '10.0.0.1'], 'one of two is inside'],
    [['10.0.0.1', '127.0.0.1'], 'the first of two is'],
    [['127.0.0.1', '::1'], 'one is of the other family'],
    [['fe80::1%eth0'], 'a zone'],
    [[], 'a name without an address'],
  ])('%j is not reached: %s', async (addresses) => {
    await using collector = await Collector.start(ok);
    const call = egress({ resolve: async () => addresses }).post(`http://collector.example:${collector.port}/`);
    expect(await call).toEqual(NOT_ALLOWED);
    expect(collector.seen).toEqual([]);
  });

  test.each([
    ['127.0.0.1', 'dotted'],
    ['2130706433', 'one number'],
    ['0x7f000001', 'one number, hexadecimal'],
    ['017700000001', 'one number, octal'],
    ['0x7f.0.0.1', 'a part of it hexadecimal'],
    ['0177.0.0.01', 'octal parts'],
    ['127.1', 'short'],
    ['１２７.0.0.1', 'digits of full width'],
    ['127.0.0.1.', 'with a dot at its end'],
    ['[::1]', 'IPv6'],
    ['[::ffff:127.0.0.1]', 'mapped'],
    ['[::ffff:7f00:1]', 'mapped, in groups'],
    ['[::]', 'unspecified'],
    ['0', 'unspecified, as a number'],
    ['[64:ff9b::7f00:1]', 'by NAT64'],
    ['[2002:7f00:1::]', 'by 6to4'],
    ['localhost', 'a name of this machine'],
    ['a.LOCALHOST', 'a name below it'],
  ])('this machine as %s is refused where it is not open (%s)', async (host) => {
    await using collector = await Collector.start(ok);
    const closed = egress({ allow: [], resolve: async () => ['127.0.0.1'] });
    expect(await closed.post(`http://${host}:${collector.port}/`)).toEqual(NOT_ALLOWED);
    expect(collector.seen).toEqual([]);
  });

  test('a mapped address that is open is reached', async () => {
    await using collector = await Collector.start(ok);
    expect(await egress().post(`http://[::ffff:127.0.0.1]:${collector.port}/`)).toEqual(answered(200));
  });

  test('the listeners of this process and the members of etcd are refused, also by their names', async () => {
    await using collector = await Collector.start(ok);
    const { port } = collector;
    const url = `http://collector.example:${port}/`;
    expect(await egress({ ownPorts: () => [port] }).post(url)).toEqual(NOT_ALLOWED);
    expect(await egress({ storeUrls: [`http://etcd.example:${port}`] }).post(url)).toEqual(NOT_ALLOWED);
    expect(collector.seen).toEqual([]);
    expect(await egress({ storeUrls: ['http://etcd.example:2379'] }).post(url)).toEqual(answered(200));
  });

  test('an etcd whose name cannot be looked up is guarded as it was known; one that is gone is not', async () => {
    await using collector = await Collector.start(ok);
    const { port } = collector;
    const url = `http://collector.example:${port}/`;
    let etcd: () => readonly string[] = () => ['127.0.0.1'];
    const failing = (code: string) => (): never => {
      throw Object.assign(new Error(code), { code });
    };
    const resolve: Resolve = async (name) => (name === 'etcd.example' ? etcd() : ['127.0.0.1']);
    const known = egress({ resolve, storeUrls: [`http://etcd.example:${port}`] });
    expect(await known.post(url)).toEqual(NOT_ALLOWED);
    known.clock.advance(60_000);
    etcd = failing('ENOTFOUND');
    expect(await known.post(url)).toEqual(NOT_ALLOWED);
    const unknown = egress({ resolve, storeUrls: [`http://etcd.example:${port}`] });
    expect(await unknown.post(url)).toEqual(answered(200));
    etcd = failing('EAI_AGAIN');
    const silent = egress({ resolve, storeUrls: [`http://etcd.example:${port}`] });
    expect(await silent.post(url)).toEqual(unreached('name-not-found'));
    expect(collector.seen).toHaveLength(1);
  });
});

describe('the answer', () => {
  test.each([301, 302, 303, 307, 308])('%i to metadata is an answer, and is not followed', async (status) => {
    await using collector = await Collector.start((response) => {
      response.writeHead(status, { location: `http://127.0.0.1:${collector.port}/latest/meta-data` }).end();
    });
    expect(await egress().post(`http://collector.example:${collector.port}/`)).toEqual(answered(status));
    expect(collector.seen.map(({ path }) => path)).toEqual(['/']);
  });

  test.each([200, 202, 204, 401, 403, 404, 429, 500, 503])('of %i is told by its number', async (status) => {
    await using collector = await Collector.start((response) => void response.writeHead(status).end());
    expect(await egress().post(`http://collector.example:${collector.port}/`)).toEqual(answered(status));
  });

  test('that does not end is read so far, and its connection is closed', async () => {
    let sent = 0;
    await using collector = await Collector.start((response) => {
      const piece = Buffer.alloc(16_384);
      const go = (): void => {
        while (!response.destroyed && response.write(piece)) sent += piece.length;
      };
      response.on('drain', go);
      go();
    });
    expect(await egress().post(`http://collector.example:${collector.port}/`)).toEqual(answered(200));
    await until(async () => (await collector.open()) === 0);
    expect(sent).toBeGreaterThan(LIMITS.egressAnswerBytesMax);
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ['no head', () => undefined],
    ['half a head', (response) => void response.socket?.write('HTTP/1.1 200 OK\r\nx-a: ')],
    ['a head and no end', (response) => void response.writeHead(200).write('{')],
    ['one interim answer after the other', (response) => response.writeProcessing()],
  ])('that has %s is given up at the end of the time', async (_what, answer) => {
    await using collector = await Collector.start(answer);
    const late = egress();
    const call = late.post(`http://collector.example:${collector.port}/`);
    await until(() => collector.seen.length === 1);
    late.clock.advance(LIMITS.egressCallMs - 1);
    late.clock.advance(1);
    expect(await call).toEqual(unreached('no-answer'));
    await until(async () => (await collector.open()) === 0);
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ['closes without a word', (response) => void response.socket?.destroy()],
    ['is none of HTTP', (response) => void response.socket?.end('SSH-2.0-OpenSSH_9.6\r\n')],
    ['has a head without end', (response) => void response.socket?.end(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(100_000)}`)],
    ['has a status that there is not', (response) => void response.socket?.end('HTTP/1.1 999 OK\r\n\r\n')],
    ['breaks off', (response) => void response.writeHead(200, { 'content-length': '9' }).socket?.end()],
    [
      'changes the protocol',
      (response) =>
        void response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    ],
  ])('that %s is a broken connection', async (_what, answer) => {
    await using collector = await Collector.start(answer);
    expect(await egress().post(`http://collector.example:${collector.port}/`)).toEqual(unreached('connection-broken'));
  });

  test('that nobody gives, as nothing listens there, is told so', async () => {
    const gone = await Collector.start(ok);
    const { port } = gone;
    await gone[Symbol.asyncDispose]();
    expect(await egress().post(`http://collector.example:${port}/`)).toEqual(unreached('connection-refused'));
  });
});

const wordsOf = (outcome: EgressOutcome): string => (outcome.kind === 'tls-fault' ? outcome.says : outcome.kind);

describe('TLS', () => {
  const OVER = (port: number): string => `https://collector.example:${port}/`;

  test('is made with the name, whose certificate it must be', async () => {
    await using collector = await Collector.start(ok, trusted);
    expect(await egress().post(OVER(collector.port))).toEqual(answered(200));
    const other = await egress().post(`https://other.example:${collector.port}/`);
    expect(wordsOf(other)).toContain('other.example');
    expect(collector.seen).toHaveLength(1);
  });

  test.each([
    ['of nobody we know', stranger, /self-signed certificate/],
    ['that has expired', expired, /has expired/],
  ])(
    'with a certificate %s is a fault in its words, also where the environment would look away',
    async (_, pair, says) => {
      await using collector = await Collector.start(ok, pair);
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
      expect(wordsOf(await egress().post(OVER(collector.port)))).toMatch(says);
      expect(collector.seen).toEqual([]);
    },
  );

  test('with a server that speaks HTTP is a fault of TLS', async () => {
    await using collector = await Collector.start(ok);
    expect(await egress().post(OVER(collector.port))).toMatchObject({ kind: 'tls-fault' });
    expect(collector.seen).toEqual([]);
  });

  test('that never comes about is given up', async () => {
    let connected = 0;
    const silent = createTcpServer((socket) => {
      connected += 1;
      socket.on('error', () => undefined).resume();
    });
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const late = egress();
    const call = late.post(OVER((silent.address() as AddressInfo).port));
    await until(() => connected === 1);
    late.clock.advance(LIMITS.egressCallMs);
    expect(await call).toEqual(unreached('no-answer'));
    silent.close();
    await once(silent, 'close');
  });
});

describe('names', () => {
  test.each(['ENOTFOUND', 'EAI_AGAIN'])('a lookup that fails with %s is told', async (code) => {
    const resolve: Resolve = async () => {
      throw Object.assign(new Error(code), { code });
    };
    expect(await egress({ resolve }).post('https://collector.example/')).toEqual(unreached('name-not-found'));
  });

  test('a slow one holds up the others, which are told to come back, and makes no thread wait for them', async () => {
    const asked: string[] = [];
    const { promise, resolve: answer } = Promise.withResolvers<readonly string[]>();
    const slow = egress({
      resolve: async (name) => {
        asked.push(name);
        return await promise;
      },
    });
    const calls = ['first.example', 'second.example'].map((name) => slow.post(`https://${name}/`));
    await until(() => asked.length === 1);
    slow.clock.advance(LIMITS.egressCallMs);
    const [first, second] = await Promise.allSettled(calls);
    expect(first).toMatchObject({ value: unreached('no-answer') });
    expect(second).toMatchObject({ reason: { name: 'Busy', reason: 'queue_full' } });
    answer(['10.0.0.1']);
    expect(await slow.post('https://third.example/')).toEqual(NOT_ALLOWED);
    expect(asked).toEqual(['first.example', 'third.example']);
  });

  test('calls above the bound are refused, and not queued', async () => {
    await using collector = await Collector.start(() => undefined);
    const full = egress();
    const url = `http://collector.example:${collector.port}/`;
    const calls = Array.from({ length: LIMITS.egressCallsMax }, () => full.post(url));
    await expect(full.post(url)).rejects.toMatchObject({ name: 'Busy', reason: 'queue_full' });
    await until(() => collector.seen.length === LIMITS.egressCallsMax);
    full.clock.advance(LIMITS.egressCallMs);
    expect(await Promise.all(calls)).toEqual(calls.map(() => unreached('no-answer')));
  });
});

describe('with a proxy', () => {
  test('it gets the name, which is not looked up here; what is inside by its spelling is refused', async () => {
    await using collector = await Collector.start(ok, trusted);
    await using proxy = await ConnectProxy.start();
    const resolve: Resolve = async (name) => {
      if (name !== 'etcd.example') throw new Error('no name of an owner is looked up');
      return ['10.0.0.9'];
    };
    const proxied = egress({ proxy: proxy.url, resolve, storeUrls: ['http://etcd.example:2379'] });
    expect(await proxied.post(`https://127.0.0.1:${collector.port}/`)).toEqual(answered(200));
    for (const host of ['10.0.0.1', '[::1]', 'localhost', 'a.localhost.', 'etcd.example', 'ETCD.example.']) {
      expect([host, await proxied.post(`https://${host}/`)]).toEqual([host, NOT_ALLOWED]);
    }
    expect(proxy.seen).toMatchObject([{ method: 'CONNECT', target: `127.0.0.1:${collector.port}` }]);
    proxy.instead = 403;
    expect(await proxied.post('https://outside.example/')).toEqual(unreached('connection-broken'));
    expect(proxy.seen.at(-1)).toMatchObject({ method: 'CONNECT', target: 'outside.example:443' });
  });

  test('variables that other programs obey do not count', async () => {
    await using collector = await Collector.start(ok);
    await using proxy = await ConnectProxy.start();
    vi.stubEnv('http_proxy', proxy.url);
    expect(await egress().post(`http://collector.example:${collector.port}/`)).toEqual(answered(200));
    expect(proxy.seen).toEqual([]);
  });
});
