import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import type { Endpoint, Endpoints } from '../../../../src/store/etcd/wire/endpoints.ts';
import { quotaLook } from '../../../../src/store/etcd/wire/quota.ts';
import type { Status } from '../../../../src/store/etcd/wire/status.ts';

const CONFIGURED_BYTES = 2_147_483_648;

/** A function that looks at an etcd with this status, and with metrics at the URL. */
function looking(status: Status, url = 'http://127.0.0.1:1', isReady = true) {
  const endpoint = { url, status: async () => status } as unknown as Endpoint;
  const endpoints = {
    isReady,
    repeatedly: async (_: string, call: (one: Endpoint, options: object) => Promise<unknown>) => call(endpoint, {}),
  } as unknown as Endpoints;
  return quotaLook({ endpoints, deadlineMs: 20_000, configuredBytes: CONFIGURED_BYTES });
}

test('an etcd 3.5 whose metrics failed is asked for its quota again at the next look', async () => {
  let failing = true;
  const server = createServer((_request, response) => {
    if (failing) response.writeHead(503).end();
    else response.end('etcd_server_quota_backend_bytes 6e+07\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  await using _ = server;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const look = looking({ inUse: 1_000_000, file: 1_000_000, noSpace: false }, url);
  expect((await look())?.capacityBytes).toBe(CONFIGURED_BYTES);
  failing = false;
  expect((await look())?.capacityBytes).toBe(60_000_000);
});

test.each([
  ['the bytes in use, while few pages are freed', { inUse: 60, file: 69 }, 60],
  ['the file less a tenth of the quota, where more are freed', { inUse: 60, file: 90 }, 80],
  ['the bytes in use, where the file is not told', { inUse: 60 }, 60],
])('%s', async (_, sizes, inUseBytes) => {
  const look = looking({ ...sizes, quota: 100, noSpace: false });
  expect(await look()).toEqual({ inUseBytes, capacityBytes: 100, refusesPuts: false });
});

test('without a connection it asks nothing, and begins no attempt to connect', async () => {
  const sizes = { inUse: 60, quota: 100, noSpace: false };
  expect(await looking(sizes, undefined, false)()).toBeUndefined();
});
