import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROUTES } from '../../../src/api/v1/gateway.ts';
import { call, createApp, Muster, OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';

/*
 * Express is the gateway: its router hands over each request, once the check that stands before all routes is passed.
 */

let muster: Muster;
let apiKey: string;
beforeAll(async () => {
  muster = await Muster.start();
  ({ apiKey } = await tenant(muster));
});
afterAll(() => muster[Symbol.asyncDispose]());

/** Express tells it of each function that its router has called. */
interface Traced {
  /** The template of a route; `/` for what stands before all. */
  readonly route: string;
  readonly req: { readonly method: string };
  readonly res: ServerResponse;
}
const CHANNEL = 'tracing:express.router.request:end';

/** The functions that the router calls for a request, in the order in which they return. */
async function handedOver(method: string, url: string, token?: string): Promise<readonly string[]> {
  const told: string[] = [];
  const note = (message: unknown): void => {
    const { route, req, res } = message as Traced;
    told.push(`${req.method} ${route === '/' ? '(before all routes)' : route}${res.headersSent ? ': answered' : ''}`);
  };
  subscribe(CHANNEL, note);
  try {
    await call(url, { method, ...(token !== undefined && { token }) });
  } finally {
    unsubscribe(CHANNEL, note);
  }
  return told;
}

test('the router hands over each operation of /v1', async () => {
  // As many as the specification has: another one is counted here, too.
  expect(ROUTES).toHaveLength(9);
  for (const { method, path } of ROUTES) {
    const { appId } = await createApp(muster, apiKey);
    const calls = await handedOver(method.toUpperCase(), muster.api + path.replace(':appId', appId), apiKey);
    expect(calls.filter((told) => !told.includes('(before'))).toEqual([
      expect.stringMatching(new RegExp(`^${method.toUpperCase()} ${path}(?:: answered)?$`)),
    ]);
  }
});

test('a read that memory answers waits for nothing: its route returns answered, within the check before it', async () => {
  const { appId } = await createApp(muster, apiKey);
  expect(await handedOver('GET', `${muster.api}/v1/apps/${appId}`, apiKey)).toEqual([
    'GET /v1/apps/:appId: answered',
    'GET (before all routes): answered',
  ]);
});

test.each(ROUTES.map(({ method, path }) => [method.toUpperCase(), path] as const))(
  'a stranger who sends %s %s gets to no route',
  async (method, path) => {
    const calls = await handedOver(method, muster.api + path.replace(':appId', 'a'.repeat(20)));
    expect(calls).toEqual([`${method} (before all routes): answered`]);
  },
);

test.each([
  ['the operator API', () => muster.ops, '/operator/v1/accounts', OPERATOR_TOKEN],
  ['a probe', () => muster.ops, '/livez', undefined],
  ['the panel', () => muster.panel, '/panel/v1/sign-in', undefined],
])('%s is handed over by the router, too', async (_what, listener, path, token) => {
  expect(await handedOver('GET', listener() + path, token)).toContainEqual(expect.stringContaining(`GET ${path}`));
});
