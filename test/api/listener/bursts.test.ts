import type { Rejection } from '../../../src/api/listener/metrics.ts';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sendResponse } from '../../../src/api/http/response.ts';
import { connectRaw, exchange } from '../../support/http/raw-http.ts';
import { hold, openTestListener, OVERLOADED } from '../../support/http/test-listener.ts';
import { countedTurns } from '../../support/time/event-loop-turns.ts';
import { until } from '../../support/time/until.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

test('requests that come all at once are handed over in pieces, one a turn here, in their order', async () => {
  const turns = countedTurns();
  const handedOver: { readonly target: string; readonly turn: number }[] = [];
  await using service = await openTestListener({
    perTurnMax: 1,
    handle(request, response) {
      handedOver.push({ target: request.url ?? '', turn: turns.count() });
      sendResponse(request, response, 200, [], 'done');
    },
  });
  await using connection = await connectRaw(service.port);
  const targets = Array.from({ length: 20 }, (_, number) => `/${number}`);
  await connection.send(targets.map((target) => `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  for (const _ of targets) expect((await connection.answer()).status).toBe(200);
  turns.end();
  expect(handedOver.map(({ target }) => target)).toEqual(targets);
  // The first of a turn may be handed over before the turn is counted: of any three in a row no more than two share
  // one.
  expect(new Set(handedOver.map(({ turn }) => turn)).size).toBeGreaterThanOrEqual(targets.length / 2);
});

test('a request whose client left while it waited is not handed over, and its slot is free again', async () => {
  await using service = await openTestListener({
    perTurnMax: 1,
    handle(request) {
      // All the others wait: their client leaves now.
      if (request.url === '/first') request.socket.destroy();
    },
  });
  await using connection = await connectRaw(service.port);
  await connection.send('GET /first HTTP/1.1\r\nHost: a\r\n\r\n' + GET.repeat(10));
  await connection.rest();
  await until(() => service.listener.inFlight === 0);
  for (let turn = 0; turn < 12; turn += 1) await setImmediate();
  expect(service.handled.map(({ request }) => request.url)).toEqual(['/first']);
});

test('a parked request takes no slot: as many again may work', async () => {
  let parked = 0;
  await using service = await openTestListener({ concurrencyMax: 1, handle: hold, parked: () => parked });
  await using first = await connectRaw(service.port);
  await first.send(GET);
  await service.request(0);
  expect((await exchange(service.port, GET)).status).toBe(503);
  parked = 1;
  await using second = await connectRaw(service.port);
  await second.send(GET);
  await service.request(1);
  expect((await exchange(service.port, GET)).status).toBe(503);
});

test('a request of another pool is served where all others are rejected, and has a bound of its own', async () => {
  await using service = await openTestListener({
    concurrencyMax: 1,
    handle: hold,
    poolOf: ({ url }) => (url === '/livez' ? 'probes' : 'ordinary'),
  });
  await using other = await connectRaw(service.port);
  await other.send(GET);
  await service.request(0);
  expect((await exchange(service.port, GET)).body).toBe(OVERLOADED);
  await using probe = await connectRaw(service.port);
  await probe.send('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
  const { request, response } = await service.request(1);
  expect(request.url).toBe('/livez');
  expect((await exchange(service.port, 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n')).body).toBe(OVERLOADED);
  sendResponse(request, response, 200, [], 'alive');
  expect((await probe.answer()).body).toBe('alive');
});

test('refusals are written in pieces, too: a flood of them leaves the event loop its turns', async () => {
  const rejected: Rejection[] = [];
  await using service = await openTestListener({
    concurrencyMax: 1,
    handle: hold,
    onRejected: (reason) => rejected.push(reason),
  });
  await using busy = await connectRaw(service.port);
  await busy.send(GET);
  await service.request(0);
  await using flood = await connectRaw(service.port);
  const turns = countedTurns();
  const before = turns.count();
  await flood.send(GET.repeat(640));
  for (let number = 0; number < 640; number += 1) expect((await flood.answer()).status).toBe(503);
  turns.end();
  expect(turns.count() - before).toBeGreaterThanOrEqual(640 / 64);
  expect(rejected).toEqual(Array.from({ length: 640 }, () => 'request_bound'));
});

test('those who are sent away are told times that are spread', async () => {
  let draw = 0;
  await using service = await openTestListener({
    concurrencyMax: 1,
    handle: hold,
    random: () => ((draw += 1) % 10) / 10,
  });
  await using busy = await connectRaw(service.port);
  await busy.send(GET);
  await service.request(0);
  const told = new Set<string | undefined>();
  for (let number = 0; number < 10; number += 1) {
    told.add((await exchange(service.port, GET)).headers.get('retry-after')?.[0]);
  }
  expect(told).toEqual(new Set(['1', '2', '3', '4', '5']));
});
