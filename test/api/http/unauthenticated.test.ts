import { afterAll, beforeAll, expect, test } from 'vitest';
import { ownCredential } from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  Muster,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type CreatedApp,
  type Tenant,
} from '../../support/service/muster.ts';

/* Whoever tries secrets is found by the address in the log, which has none of the secrets. */

const CLIENT = '192.0.2.9';
const FORWARDED = { 'x-forwarded-for': `198.51.100.1, ${CLIENT}` };

let direct: Muster;
let behindProxy: Muster;
let owner: Tenant;
let app: CreatedApp;
beforeAll(async () => {
  [direct, behindProxy] = [await Muster.start(), await Muster.start({ env: { MUSTER_TRUSTED_PROXIES: '127.0.0.1' } })];
  owner = await tenant(direct);
  app = await createApp(direct, owner.apiKey);
});
afterAll(async () => {
  await behindProxy[Symbol.asyncDispose]();
  await direct[Symbol.asyncDispose]();
});

interface Attempt {
  readonly url: string;
  readonly method?: string;
  readonly token?: string;
  readonly body?: object;
}
/** Secrets that the service does not know. */
const ATTEMPTS: readonly (readonly [string, string, (muster: Muster) => Attempt & { readonly secret: string }])[] = [
  ['an API key', 'invalid_key', ({ api }) => bearing(`${api}/v1/apps`, owner.apiKey.replace(/.$/, '-'))],
  ['a credential', 'invalid_credential', ({ device }) => bearing(`${device}/device/v1/config`, ownCredential().token)],
  ['an operator token', 'invalid_token', ({ ops }) => bearing(`${ops}/operator/v1/accounts`, ownCredential().token)],
  [
    'an enrollment code',
    'unknown_app',
    ({ device }) => ({
      url: `${device}/device/v1/enroll`,
      method: 'POST',
      body: { appId: 'a'.repeat(20), enrollCode: app.enrollCode },
      secret: app.enrollCode,
    }),
  ],
];
const bearing = (url: string, token: string) => ({ url, token, secret: token });

const linesOf = ({ logged }: Muster, requestId: string): unknown[] =>
  logged.map((line) => JSON.parse(line) as { requestId?: string }).filter((line) => line.requestId === requestId);

test.each(ATTEMPTS)('%s that is refused is one line, with the address of the client', async (_, reason, attemptAt) => {
  for (const [muster, client] of [
    [behindProxy, CLIENT],
    [direct, '127.0.0.1'],
  ] as const) {
    const { url, secret, ...how } = attemptAt(muster);
    const answer = await call(url, { ...how, headers: FORWARDED });
    expect(answer.status).toBe(401);
    const requestId = answer.headers.get('x-request-id') ?? '';
    expect(linesOf(muster, requestId)).toMatchObject([{ level: 'info', reason, client }]);
    expect(muster.logged.join('')).not.toContain(secret);
  }
});

test('a request that is let in is no such line', async () => {
  const before = direct.logged.length;
  const credential = await enroll(direct, app);
  expect((await poll(direct, credential)).status).toBe(200);
  expect((await call(`${direct.api}/v1/apps`, { token: owner.apiKey })).status).toBe(200);
  expect((await call(`${direct.ops}/operator/v1/accounts`, { token: OPERATOR_TOKEN })).status).toBe(200);
  const messages = direct.logged.slice(before).map((line) => (JSON.parse(line) as { msg: string }).msg);
  expect(messages.filter((message) => ['not authenticated', 'not enrolled'].includes(message))).toEqual([]);
});
