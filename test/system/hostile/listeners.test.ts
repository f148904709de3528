import { afterAll, describe, test } from 'vitest';
import { leaveStage, withstands } from './stage.ts';

/* One client must not stop the others: probes with a valid key, a daemon's and a kubelet's are answered throughout. */

afterAll(leaveStage);

/** Variables of the service, by which three of its listeners serve so many requests at once. */
const atOnce = (most: string): Record<string, string> =>
  Object.fromEntries(['API', 'DEVICE', 'OPS'].map((name) => [`MUSTER_${name}_CONCURRENCY`, most]));

describe('answers that nobody reads', () => {
  test.for([
    ['api', '/'],
    ['device', '/'],
    ['ops', '/'],
    ['ops', '/metrics'],
    ['ops', '/livez'],
  ] as const)('on the %s listener, of GET %s', async ([listener, path], context) => {
    await withstands('unread-answers', context, {
      env: atOnce('100'),
      args: { listener, paths: [path], connections: 1 },
    });
  });
});

test('requests behind held polls', async (context) => {
  await withstands('behind-held-polls', context, { env: atOnce('500'), args: { connections: 4, pipelined: 300 } });
});

test('enrollments whose bodies do not come', async (context) => {
  await withstands('slow-enrollments', context, { env: atOnce('500'), args: { connections: 600 } });
});

describe('requests with a credential whose bodies do not come', () => {
  // Fewer than a device and an account may send in a minute, and more than there are slots.
  test.for([
    ['device', '/device/v1/config/ack'],
    ['api', '/v1/apps'],
  ] as const)('on the %s listener', async ([listener, path], context) => {
    await withstands('slow-bodies', context, { env: atOnce('50'), args: { listener, paths: [path], connections: 55 } });
  });
});

test('connections that do nothing', async (context) => {
  await withstands('idle-connections', context, { args: { listener: 'ops', connections: 1100 } });
});

test('scrapes without end, on 100 connections', async (context) => {
  await withstands('scrapes', context, { args: { connections: 100 } });
});
