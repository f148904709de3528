import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { AwaitedBodies } from '../../../src/api/http/awaited-bodies.ts';
import { HttpRefusal, type Exchange } from '../../../src/api/http/exchange.ts';
import { OwedBytes } from '../../../src/api/http/pieces/owed-bytes.ts';
import { send } from '../../../src/api/serve/send.ts';
import { serve } from '../../../src/api/serve/serve.ts';
import { Refusal } from '../../../src/domain/refusal.ts';
import { createLog } from '../../../src/log.ts';
import { systemClock } from '../../../src/time/clock.ts';

/* The way from a request to its handler, by itself: what becomes of the errors of its steps. */

interface Served extends AsyncDisposable {
  readonly url: string;
  /** The status and the code of each request that has ended, as the metrics have them. */
  readonly ended: readonly string[];
  readonly logged: readonly string[];
  /** Whether each request was answered when its handler had returned. */
  readonly atOnce: readonly boolean[];
}

/** Serves one path. @param answer answers it @param enter judges each request */
async function serving(answer: (exchange: Exchange) => Promise<void> | void, enter = (): void => undefined) {
  const ended: string[] = [];
  const logged: string[] = [];
  const atOnce: boolean[] = [];
  const handle = serve(
    { name: 'api', enter, serves: [{ method: 'get', path: '/v1/:appId', answer: ({ exchange }) => answer(exchange) }] },
    {
      clock: systemClock,
      deadlines: { requestMs: 60_000 },
      log: createLog('debug', { write: (line: string) => void logged.push(line) }),
      metrics: {
        requestEnded: ({ status, code }) => void ended.push(`${status} ${code}`),
        authenticationFailed: () => undefined,
      },
      clientOf: () => '192.0.2.1',
      cameByTls: () => false,
      jitter: () => 0,
      attempts: { failed: () => undefined },
      awaitedBodies: new AwaitedBodies(1_000_000),
      owedBytes: new OwedBytes({ strangersMax: 1_000_000, knownMax: 1_000_000 }),
    },
  );
  const server = createServer((request, response) => {
    handle(request, response);
    atOnce.push(response.headersSent);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ended,
    logged,
    atOnce,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  } satisfies Served;
}

test.each([
  ['a refusal', new Refusal('conflict')],
  ['a refusal of HTTP', new HttpRefusal('overloaded')],
  ['a fault', new TypeError('a slip')],
])('%s after the headers breaks the answer off, and is counted once', async (_what, error) => {
  await using service = await serving((exchange) =>
    send(exchange, {
      status: 200,
      open(begin) {
        begin().write('half of it');
        throw error;
      },
    }),
  );
  const answer = await fetch(`${service.url}/v1/a`);
  await expect(answer.text()).rejects.toThrow('terminated');
  expect(service.ended).toEqual(['200 ']);
  const isFault = error instanceof TypeError;
  expect(service.logged.filter((line) => line.includes('unexpected fault'))).toHaveLength(isFault ? 1 : 0);
});

test('before the headers the same refusal is the answer', async () => {
  await using service = await serving((exchange) =>
    send(exchange, {
      status: 200,
      open() {
        throw new HttpRefusal('overloaded');
      },
    }),
  );
  expect((await fetch(`${service.url}/v1/a`)).status).toBe(503);
  expect(service.ended).toEqual(['503 overloaded']);
});

test('a path whose escapes do not decode is 404, and the same error of a handler is a fault of ours', async () => {
  await using service = await serving(() => {
    throw new URIError('a slip');
  });
  expect((await fetch(`${service.url}/v1/%zz`)).status).toBe(404);
  expect(service.logged).toEqual([]);
  expect((await fetch(`${service.url}/v1/a`)).status).toBe(502);
  expect(service.logged.filter((line) => line.includes('unexpected fault'))).toHaveLength(1);
});

test('a request that is refused before all routes is answered at once, and gets to no handler', async () => {
  let handled = 0;
  await using service = await serving(
    () => void (handled += 1),
    () => {
      throw new Refusal('invalid_key');
    },
  );
  expect((await fetch(`${service.url}/v1/a`)).status).toBe(401);
  expect((await fetch(`${service.url}/elsewhere`)).status).toBe(401);
  expect([service.atOnce, handled]).toEqual([[true, true], 0]);
});

test('a handler that fails later is answered, too', async () => {
  await using service = await serving(async () => {
    await Promise.resolve();
    throw new Refusal('conflict');
  });
  expect((await fetch(`${service.url}/v1/a`)).status).toBe(409);
});
