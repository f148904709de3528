import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { operation } from '../../../src/api/contract/operation.ts';
import { AwaitedBodies } from '../../../src/api/http/awaited-bodies.ts';
import { HttpRefusal } from '../../../src/api/http/errors.ts';
import type { Exchange } from '../../../src/api/http/exchange.ts';
import { OwedBytes } from '../../../src/api/http/pieces/owed-bytes.ts';
import { send } from '../../../src/api/serve/send.ts';
import { operationEndpoint } from '../../../src/api/serve/operation-endpoint.ts';
import { handlerOf } from '../../../src/api/serve/route.ts';
import { createRequestListener, type Endpoint } from '../../../src/api/serve/request-listener.ts';
import { Refusal } from '../../../src/domain/refusal.ts';
import { createLog } from '../../../src/log.ts';
import { systemClock } from '../../../src/time/clock.ts';

/* The way from a request to its handler, by itself: what becomes of the errors of its steps. */

interface Serving extends AsyncDisposable {
  readonly url: string;
  /** The status and the code of each request that has ended, as the metrics have them. */
  readonly ended: readonly string[];
  readonly logged: readonly string[];
  /** Whether each request was answered when its handler had returned. */
  readonly atOnce: readonly boolean[];
}

/** Serves one path. @param answer answers it @param beforeRouting judges each request */
const serving = (answer: (exchange: Exchange) => Promise<void> | void, beforeRouting?: () => void): Promise<Serving> =>
  servingAll(
    [{ method: 'get', path: '/v1/:appId', answer: ({ exchange }) => answer(exchange) }],
    60_000,
    beforeRouting,
  );

async function servingAll(
  endpoints: readonly Endpoint<void>[],
  requestMs: number,
  beforeRouting = (): void => undefined,
): Promise<Serving> {
  const ended: string[] = [];
  const logged: string[] = [];
  const atOnce: boolean[] = [];
  const handle = createRequestListener(
    { name: 'api', beforeRouting, endpoints },
    {
      clock: systemClock,
      deadlines: { requestMs },
      log: createLog('debug', { write: (line: string) => void logged.push(line) }),
      metrics: {
        requestEnded: ({ status, code }) => void ended.push(`${status} ${code}`),
        authenticationFailed: () => undefined,
        roleRefused: () => undefined,
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
  };
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

test('a request for the headers alone begins no stream and no open answer', async () => {
  const begun: string[] = [];
  await using streamed = await serving((exchange) =>
    send(exchange, {
      status: 200,
      async stream() {
        begun.push('stream');
        return { pieces: async function* pieces() {}, [Symbol.asyncDispose]: async () => undefined };
      },
    }),
  );
  await using open = await serving((exchange) =>
    send(exchange, {
      status: 200,
      open(begin) {
        begun.push('open');
        begin().end();
      },
    }),
  );
  for (const { url } of [streamed, open]) {
    expect((await fetch(`${url}/v1/a`, { method: 'HEAD' })).status).toBe(200);
  }
  expect(begun).toEqual([]);
  for (const { url } of [streamed, open]) await (await fetch(`${url}/v1/a`)).text();
  expect(begun).toEqual(['stream', 'open']);
});

test('an operation with a deadline of its own has that one', async () => {
  const released = Promise.withResolvers<undefined>();
  const described = {
    method: 'get',
    summary: '',
    description: '',
    answers: [{ status: 204, description: '' }],
  } as const;
  const handler = async () => {
    await released.promise;
    return { status: 204 } as const;
  };
  const checks = { authorize: () => () => ({}), services: {} };
  const handle = handlerOf<object, object>();
  const usual = handle(operation({ ...described, id: 'usual', path: '/v1/usual' }))(handler);
  const long = handle(operation({ ...described, id: 'long', path: '/v1/long' }), { deadlineMs: 60_000 })(handler);
  await using service = await servingAll([operationEndpoint(usual, checks), operationEndpoint(long, checks)], 0);
  const waiting = fetch(`${service.url}/v1/long`);
  expect((await fetch(`${service.url}/v1/usual`)).status).toBe(502);
  released.resolve(undefined);
  expect((await waiting).status).toBe(204);
});
