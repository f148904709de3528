import { beforeAll, describe, expect, test } from 'vitest';
import { buildPages } from '../../../scripts/build-web.ts';
import { whyNoNetwork } from './network.ts';
import { withstands } from './stage.ts';

/*
 * 400 connections ask for something and read nothing of it: what the service holds for them is bounded in bytes, and
 * nobody else is felt. Before it was, they took 705 MB of a listener with TLS.
 */

const CONNECTIONS = 400;
const GROWN_MB_MAX = 100;
/** It is 99 where what clients with a credential have not taken is not bounded, and 48 at most where it is. */
const MORE_THAN_READERS_MB_MAX = 75;
/** With a change for each they are the 600 requests that an account has in a minute, and a user in the panel has 300. */
const LISTS = 290;
/** No bound of connections, requests or rates is in the way: the bytes alone are to be held. */
const ENV = Object.fromEntries(
  ['API', 'DEVICE', 'OPS', 'PANEL'].flatMap((name) => [
    [`MUSTER_${name}_CONNECTIONS_PER_ADDRESS`, '0'],
    [`MUSTER_${name}_CONCURRENCY`, '2000'],
  ]),
) as Record<string, string>;
const missing = whyNoNetwork();
const title = `on a network with small packets and full lists${missing === undefined ? '' : ` [skipped: ${missing}]`}`;

/** An account of full lists, on a network. */
const NETWORK = { env: ENV, fullLists: true, network: true };

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
      const args = { listener, paths: [], connections: CONNECTIONS, tls };
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
    const args = { listener, paths: [path], connections: CONNECTIONS, tls };
    const { grownMb } = await withstands('unread-bodies', context, { env: ENV, args, tls });
    expect(grownMb).toBeLessThan(GROWN_MB_MAX);
  });

  describe.skipIf(missing !== undefined)(title, () => {
    test.for([
      ['api', ['/v1/apps'], false],
      ['api', ['/v1/apps'], true],
      ['ops', ['apps', 'audit'].map((list) => `/operator/v1/accounts/:accountId/${list}?limit=1000`), false],
      ['panel', ['apps', 'audit?limit=200'].map((list) => `/panel/v1/accounts/:accountId/${list}`), false],
    ] as const)('on the %s listener: %s, changed each time: %s', async ([listener, paths, changes], context) => {
      const args = { listener, paths, connections: LISTS, tls, changes };
      const grownMb = async (reads: boolean): Promise<number> =>
        (await withstands('unread-bodies', context, { ...NETWORK, tls, args: { ...args, reads } })).grownMb;
      // The heap grows to the size that it works with, once, whether clients read or not.
      const asUsual = await grownMb(true);
      expect((await grownMb(false)) - asUsual).toBeLessThan(MORE_THAN_READERS_MB_MAX);
    });
  });
});
