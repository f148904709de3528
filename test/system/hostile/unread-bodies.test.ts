import { beforeAll, describe, expect, test } from 'vitest';
import { buildPages } from '../../../scripts/build-web.ts';
import { withstands } from './stage.ts';

/*
 * 400 connections ask for something and read nothing of it: what the service holds for them is bounded in bytes, and
 * nobody else is felt. Before it was, they took 705 MB of a listener with TLS.
 */

const CONNECTIONS = 400;
const GROWN_MB_MAX = 100;
/** No bound of connections, requests or rates is in the way: the bytes alone are to be held. */
const ENV = Object.fromEntries(
  ['API', 'DEVICE', 'OPS', 'PANEL'].flatMap((name) => [
    [`MUSTER_${name}_CONNECTIONS_PER_ADDRESS`, '0'],
    [`MUSTER_${name}_CONCURRENCY`, '2000'],
  ]),
) as Record<string, string>;

beforeAll(async () => {
  await buildPages();
});

describe.for([
  ['HTTP', false],
  ['HTTPS', true],
] as const)('%s', ([, tls]) => {
  test.for(['api', 'device', 'ops', 'panel'] as const)(
    'every operation that reads and every file of the %s listener',
    async (listener, context) => {
      const args = { listener, path: '', connections: CONNECTIONS, tls };
      const { grownMb } = await withstands('unread-bodies', context, { env: ENV, args, tls });
      expect(grownMb).toBeLessThan(GROWN_MB_MAX);
    },
  );

  test.for([
    ['ops', '/docs/swagger-ui.js'],
    ['ops', '/metrics'],
    ['panel', '/docs/swagger-ui.js'],
    ['panel', '/openapi/operator.json'],
  ] as const)('on the %s listener, of %s alone', async ([listener, path], context) => {
    const args = { listener, path, connections: CONNECTIONS, tls };
    const { grownMb } = await withstands('unread-bodies', context, { env: ENV, args, tls });
    expect(grownMb).toBeLessThan(GROWN_MB_MAX);
  });
});
