import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPages } from '../../../scripts/build-web.ts';
import { whyNoNetwork } from './network.ts';
import { leaveStage, withstands, withstandsInNetwork } from './stage.ts';

/*
 * 400 connections ask for something and read nothing of it: what the service holds for them is bounded in bytes, and
 * nobody else is felt. Before it was, they took 705 MB of a listener with TLS.
 */

const CONNECTIONS = 400;
const GROWN_MB_MAX = 100;
/** A user of the panel has 300 requests in a minute. */
const LISTS = 290;
/** No two of these lists are the same, and nothing bounds how often an operator asks. */
const DIFFERENT = ['apps', 'audit'].flatMap((list) =>
  Array.from({ length: 300 }, (_, less) => `/operator/v1/accounts/:accountId/${list}?limit=${1000 - less}`),
);
/** No bound of connections, requests or rates is in the way: the bytes alone are to be held. */
const ENV = Object.fromEntries(
  ['API', 'DEVICE', 'OPS', 'PANEL'].flatMap((name) => [
    [`MUSTER_${name}_CONNECTIONS_PER_ADDRESS`, '0'],
    [`MUSTER_${name}_CONCURRENCY`, '2000'],
  ]),
) as Record<string, string>;
const missing = whyNoNetwork();
const title = `on a network with small packets and full lists${missing === undefined ? '' : ` [skipped: ${missing}]`}`;

const ALONE = [
  ['ops', '/docs/swagger-ui.js'],
  ['ops', '/metrics'],
  ['panel', '/docs/swagger-ui.js'],
  ['panel', '/openapi/operator.json'],
] as const;
const FULL_LISTS = [
  ['api', LISTS, ['/v1/apps']],
  ['ops', DIFFERENT.length, DIFFERENT],
  ['panel', LISTS, ['apps', 'audit?limit=200'].map((list) => `/panel/v1/accounts/:accountId/${list}`)],
] as const;

beforeAll(async () => {
  await buildPages();
});
afterAll(leaveStage);

describe.for([
  ['HTTP', false],
  ['HTTPS', true],
] as const)('%s', ([, tls]) => {
  test.for(['api', 'device', 'ops', 'panel'] as const)(
    'every operation that reads and every file of the %s listener',
    async (listener, context) => {
      const args = { listener, paths: [], connections: CONNECTIONS, tls };
      const { grownMb } = await withstands('unread-bodies', context, { env: ENV, args, tls });
      expect(grownMb).toBeLessThan(GROWN_MB_MAX);
    },
  );

  // The pieces of a body are the same ones: under TLS each of them is held twice.
  test.for(tls ? ALONE : [])('on the %s listener, of %s alone', async ([listener, path], context) => {
    const args = { listener, paths: [path], connections: CONNECTIONS, tls };
    const { grownMb } = await withstands('unread-bodies', context, { env: ENV, args, tls });
    expect(grownMb).toBeLessThan(GROWN_MB_MAX);
  });

  describe.skipIf(missing !== undefined)(title, () => {
    test.for(tls ? FULL_LISTS : FULL_LISTS.slice(0, 1))(
      'on the %s listener: %i lists',
      async ([listener, connections, paths], context) => {
        const args = { listener, paths, connections, tls };
        const setUp = { env: ENV, fullLists: true, tls };
        // The heap grows to the size that it works with, once, whether clients read or not.
        const attacks = [true, false].map((reads) => ({ ...args, reads }));
        const [, grownMb] = await withstandsInNetwork('unread-bodies', context, setUp, attacks);
        expect(grownMb).toBeLessThan(GROWN_MB_MAX);
      },
    );
  });
});
