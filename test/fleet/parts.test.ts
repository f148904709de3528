import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { Devices } from '../../fleet/devices.ts';
import { accountsFor } from '../../fleet/enrolling.ts';
import { figuresOf } from '../../fleet/figures.ts';
import { fleetOptions } from '../../fleet/options.ts';
import { pollAll, Polls } from '../../fleet/polling.ts';
import { reportLines } from '../../fleet/report.ts';
import { Wheel } from '../../fleet/wheel.ts';
import { isCredential, tokenHash } from '../../src/domain/credentials/tokens.ts';
import { until } from '../support/time/until.ts';

test('the wheel hands each device over once, not before it is due, and within a turn after it', () => {
  const times = fc.array(fc.integer({ min: 0, max: 5000 }), { minLength: 1, maxLength: 40 });
  const steps = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 30, maxLength: 60 });
  fc.assert(
    fc.property(times, steps, fc.integer({ min: 10, max: 8000 }), (dueAt, pauses, horizonMs) => {
      const wheel = new Wheel(dueAt.length, horizonMs);
      for (const [device, due] of dueAt.entries()) wheel.put(device, due);
      const handedOver = new Map<number, number>();
      let [now, before] = [0, 0];
      for (const pause of pauses) {
        [before, now] = [now, now + pause];
        wheel.turn(now, (device) => {
          expect(handedOver.has(device)).toBe(false);
          expect(dueAt[device]).toBeLessThanOrEqual(now);
          // Where the horizon holds it, it comes in the first turn that can have it.
          if (horizonMs > 5000) expect(dueAt[device]).toBeGreaterThanOrEqual(before - 1);
          handedOver.set(device, now);
        });
      }
      const overdue = dueAt.flatMap((due, device) =>
        due <= now - horizonMs && !handedOver.has(device) ? [device] : [],
      );
      expect(overdue).toEqual([]);
    }),
  );
});

test('a device that is put again comes again', () => {
  const wheel = new Wheel(2, 1000);
  const seen: (readonly [device: number, at: number])[] = [];
  wheel.put(0, 100);
  wheel.put(1, 150);
  for (let now = 1; now <= 700; now += 1) {
    wheel.turn(now, (device) => {
      seen.push([device, now]);
      wheel.put(device, now + 200);
    });
  }
  expect(seen.filter(([device]) => device === 0).map(([, at]) => at)).toEqual([100, 300, 500, 700]);
  expect(seen.filter(([device]) => device === 1).map(([, at]) => at)).toEqual([150, 350, 550]);
});

test('the report names the requests to etcd by method, without those before the polls', () => {
  const figures = { residentBytes: 0, heapBytes: 0, storeRequests: 0, sharedReads: 0, heartbeatRecords: 0 };
  const requests = (...counts: [method: string, count: number][]) => ({ ...figures, etcdRequests: new Map(counts) });
  const polls = new Polls();
  polls.seconds = 1800;
  const lines = (before: typeof figures & { etcdRequests: Map<string, number> }, after: typeof before): string[] =>
    reportLines({
      enrolled: { enrolled: 10, failed: 0, accounts: 1, seconds: 1 },
      polls,
      figures: [requests(), before, after],
    }).filter((line) => line.startsWith('etcd'));
  expect(
    lines(requests(['Range', 7], ['LeaseGrant', 1]), requests(['Range', 17], ['LeaseGrant', 1], ['Txn', 20])),
  ).toEqual(['etcd      6.0 requests per device-hour: Range 2.0, Txn 4.0']);
  expect(lines(requests(['Range', 7]), requests(['Range', 7]))).toEqual(['etcd      0.0 requests per device-hour']);
  expect(lines(requests(), requests())).toEqual([]);
});

test('the figures are sums over all series, and over the members of etcd', async () => {
  const texts: Record<string, string> = {
    '/metrics': `process_resident_memory_bytes 7e6
nodejs_heap_size_used_bytes 5e6
muster_store_operation_duration_seconds_count{operation="get"} 3
muster_store_operation_duration_seconds_count{operation="commit"} 4
muster_store_operation_duration_seconds_count{operation="head",result="ok"} 5
muster_heartbeat_flushes_total{result="ok"} 2
`,
    '/one/metrics': `grpc_server_handled_total{grpc_code="OK",grpc_method="Range",grpc_service="etcdserverpb.KV"} 5
grpc_server_handled_total{grpc_code="OK",grpc_method="Txn",grpc_service="etcdserverpb.KV"} 0
`,
    '/other/metrics': `grpc_server_handled_total{grpc_code="OK",grpc_method="Range",grpc_service="etcdserverpb.KV"} 1
grpc_server_handled_total{grpc_code="Canceled",grpc_method="Range",grpc_service="etcdserverpb.KV"} 1
`,
  };
  const server = createHttpServer(({ url = '' }, response) => response.end(texts[url])).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const ops = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const urls = { api: '', device: '', ops };
  const target = { urls, etcdUrls: [`${ops}/one`, `${ops}/other`] };
  expect(await figuresOf(target)).toEqual({
    residentBytes: 7e6,
    heapBytes: 5e6,
    storeRequests: 12,
    sharedReads: 5,
    heartbeatRecords: 2,
    etcdRequests: new Map([['Range', 7]]),
  });
  server.closeAllConnections();
  await once(server.close(), 'close');
});

test('a device has one credential, which no other has, and a tag once it has received it', () => {
  const devices = new Devices(1000);
  const credentials = new Set(Array.from({ length: 1000 }, (_, device) => devices.credential(device)));
  expect(credentials.size).toBe(1000);
  expect([...credentials].every((token) => isCredential(token))).toBe(true);
  expect(Buffer.from(devices.credentialHash(7), 'hex').toString('base64url')).toBe(tokenHash(devices.credential(7)));
  expect([devices.tag(3), devices.intervalSeconds(3)]).toEqual(['', 0]);
  devices.received(3, '"1-a"');
  devices.received(4, '"1-b"');
  devices.received(5, '"1-a"');
  devices.enrolled(3, 61);
  expect([3, 4, 5, 6].map((device) => devices.tag(device))).toEqual(['"1-a"', '"1-b"', '"1-a"', '']);
  expect(devices.intervalSeconds(3)).toBe(61);
});

test.each([
  [1, 1],
  [100, 1],
  [101, 2],
  [12_000, 120],
  [100_000, 120],
  [120_001, 121],
  [1_000_000, 1000],
])('%i devices are spread over %i accounts', (devices, accounts) => {
  expect(accountsFor(devices)).toBe(accounts);
});

test.each([
  [['--devices', '0'], /whole number of daemons from 1/],
  [['--interval', '60'], /It is a duration with its unit, such as .*, from 1s to 1h/],
  [['--store', 'redis'], /sqlite, etcd/],
  [['--api', 'http://127.0.0.1:1'], /go together/],
  [['--api', 'https://example.com', '--device', 'x', '--ops', 'x'], /http:\/\/HOST:PORT/],
])('npm run fleet -- %j is wrong usage', (args, says) => {
  // Commander says it there as well.
  using stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  expect(() => fleetOptions(args)).toThrow(says);
  expect(stderr).toHaveBeenCalled();
});

test('a poll whose connection breaks has no answer; what is not acknowledged comes again; a 401 cuts it off', async () => {
  const tags: (string | undefined)[] = [];
  const acknowledged: unknown[] = [];
  const server = createHttpServer((request, response) => {
    if (request.method === 'POST') {
      void json(request).then((body) => response.writeHead(acknowledged.push(body) === 1 ? 502 : 204).end());
      return;
    }
    tags.push(request.headers['if-none-match']);
    if (tags.length === 1) request.socket.destroy();
    else response.writeHead(tags.length <= 3 ? 200 : 401, { etag: '"7-x"' }).end('{"revision":7}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const urls = { api: '', device: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ops: '' };
  const devices = new Devices(2);
  devices.enrolled(0, 1);
  const [polls, ending] = [new Polls(), new AbortController()];
  const polling = pollAll({ urls, devices, connections: 1, seconds: undefined, signal: ending.signal, polls });
  await until(() => polls.cutOff > 0);
  ending.abort();
  await polling;
  expect([...polls.answers]).toEqual([
    ['no answer', 1],
    ['200', 2],
    ['401', 1],
  ]);
  expect(tags).toEqual([undefined, undefined, undefined, '"7-x"']);
  expect(acknowledged).toEqual(Array.from({ length: 2 }, () => ({ revision: 7, status: 'applied' })));
  expect(polls.acknowledged).toBe(1);
  await once(server.close(), 'close');
});

test.each<[string, readonly Buffer[], number]>([
  ['a character in two pieces is read as one', [Buffer.from([0xc3]), Buffer.from([0xa9])], 1],
  ['half a character is no UTF-8, and not acknowledged', [Buffer.from([0xc3])], 0],
])('of a configuration %s', async (_, character, acknowledged) => {
  const paths: (string | undefined)[] = [];
  const server = createHttpServer((request, response) => {
    paths.push(request.url);
    if (request.method === 'POST') return response.writeHead(204).end();
    response.writeHead(200, { etag: '"7-x"' }).write('{"revision":7,"name":"');
    const [first, ...rest] = character;
    // A turn apart they are two writes, and two pieces at the other end.
    response.write(first, () => response.end(Buffer.concat([...rest, Buffer.from('"}')])));
    return response;
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const urls = { api: '', device: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ops: '' };
  const devices = new Devices(1);
  devices.enrolled(0, 1);
  const [polls, ending] = [new Polls(), new AbortController()];
  const polling = pollAll({ urls, devices, connections: 2, seconds: undefined, signal: ending.signal, polls });
  // The second poll comes after an acknowledgement of the first.
  await until(() => polls.count > 1);
  ending.abort();
  await polling;
  expect(devices.tag(0)).toBe(acknowledged === 1 ? '"7-x"' : '');
  expect(paths.includes('/device/v1/config/ack')).toBe(acknowledged === 1);
  server.closeAllConnections();
  await once(server.close(), 'close');
});
