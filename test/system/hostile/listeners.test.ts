import { describe, test } from 'vitest';
import { withstands } from './stage.ts';

/* One client must not stop the others: probes with a valid key, a daemon's and a kubelet's are answered throughout. */
describe('answers that nobody reads', () => {
  test.for([
    ['api', '/'],
    ['device', '/'],
    ['ops', '/'],
    ['ops', '/metrics'],
    ['ops', '/livez'],
  ] as const)('on the %s listener, of GET %s', async ([listener, path], context) => {
    const env = { [`MUSTER_${listener.toUpperCase()}_CONCURRENCY`]: '100' };
    await withstands('unread-answers', context, { env, args: { listener, paths: [path], connections: 1 } });
  });
});

test('requests behind held polls', async (context) => {
  const env = { MUSTER_DEVICE_CONCURRENCY: '500' };
  await withstands('behind-held-polls', context, { env, args: { connections: 4, pipelined: 300 } });
});

test('enrollments whose bodies do not come', async (context) => {
  const env = { MUSTER_DEVICE_CONCURRENCY: '500' };
  await withstands('slow-enrollments', context, { env, args: { connections: 600 } });
});

describe('requests with a credential whose bodies do not come', () => {
  // Fewer than a device and an account may send in a minute, and more than there are slots.
  test.for([
    ['device', '/device/v1/config/ack'],
    ['api', '/v1/apps'],
  ] as const)('on the %s listener', async ([listener, path], context) => {
    const env = { [`MUSTER_${listener.toUpperCase()}_CONCURRENCY`]: '50' };
    await withstands('slow-bodies', context, { env, args: { listener, paths: [path], connections: 55 } });
  });
});

test('connections that do nothing', async (context) => {
  await withstands('idle-connections', context, { args: { listener: 'ops', connections: 1100 } });
});

test('scrapes without end, on 100 connections', async (context) => {
  await withstands('scrapes', context, { args: { connections: 100 } });
});
