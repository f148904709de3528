import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditOf } from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  Muster,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type Answer,
} from '../../support/service/muster.ts';

/* The operator's consent that a FleetApp adopts an app. */

let muster: Muster;
beforeAll(async () => {
  muster = await Muster.start();
});
afterAll(() => muster[Symbol.asyncDispose]());

const ask = (path: string, method = 'GET', body?: object): Promise<Answer> =>
  call(`${muster.ops}/operator/v1/accounts/${path}`, { method, token: OPERATOR_TOKEN, ...(body && { body }) });

test('is set, read page by page, and withdrawn; the daemon and /v1 notice nothing', async () => {
  const { accountId, apiKey } = await tenant(muster);
  const app = await createApp(muster, apiKey, 'one');
  await createApp(muster, apiKey, 'two');
  const credential = await enroll(muster, app);
  const shown = await call(`${muster.api}/v1/apps/${app.appId}`, { token: apiKey });
  const path = `${accountId}/apps/${app.appId}`;
  const set = await ask(path, 'PATCH', { adoptableBy: 'team/scanner' });
  const view = { appId: app.appId, name: 'one', status: 'active' };
  const adoptableUntil = expect.stringMatching(/^\d{4}-.*Z$/) as string;
  const offered = { ...view, adoptableBy: 'team/scanner', adoptableUntil };
  expect([set.status, set.body]).toEqual([200, offered]);
  const first = await ask(`${accountId}/apps?limit=1`);
  const second = await ask(`${accountId}/apps?limit=1&after=${String(first.body['next'])}`);
  const apps = [first, second].flatMap(({ body }) => body['apps'] as object[]);
  expect(apps).toContainEqual(offered);
  expect([apps.length, second.body['next']]).toEqual([2, undefined]);
  expect((await ask(path, 'PATCH', { adoptableBy: null })).body).toEqual(view);
  expect((await poll(muster, credential)).status).toBe(200);
  expect((await call(`${muster.api}/v1/apps/${app.appId}`, { token: apiKey })).body).toEqual(shown.body);
  const said = (await auditOf(muster, accountId)).filter(({ action }) => action === 'app.changed');
  expect(said).toMatchObject([{ actor: 'operator' }, { actor: 'operator' }]);
});

test.each([
  ['apps/{app}', { adoptableBy: 'no namespace' }, 400, 'invalid_request'],
  ['apps/{app}', { adoptableBy: `a/${'b'.repeat(506)}` }, 400, 'invalid_request'],
  ['apps/{app}', {}, 400, 'invalid_request'],
  ['apps/{app}', { adoptableBy: 'a/b', name: 'x' }, 400, 'invalid_request'],
  ['apps/short', { adoptableBy: 'a/b' }, 404, 'not_found'],
  [`apps/${'z'.repeat(20)}`, { adoptableBy: 'a/b' }, 404, 'not_found'],
  ['apps/{app}', { adoptableBy: `a/${'b'.repeat(505)}` }, 200, undefined],
])('PATCH %s with %o is %d %s', async (path, body, status, code) => {
  const { accountId, apiKey } = await tenant(muster);
  const { appId } = await createApp(muster, apiKey);
  const answer = await ask(`${accountId}/${path.replace('{app}', appId)}`, 'PATCH', body);
  expect(answer.status).toBe(status);
  expect((answer.body['error'] as { code?: string } | undefined)?.code).toBe(code);
});

test('an app of another account is not found, nor those of an account that does not exist', async () => {
  const [one, other] = [await tenant(muster), await tenant(muster)];
  const { appId } = await createApp(muster, one.apiKey);
  expect((await ask(`${other.accountId}/apps/${appId}`, 'PATCH', { adoptableBy: 'a/b' })).status).toBe(404);
  expect((await ask(`${'z'.repeat(16)}/apps`)).status).toBe(404);
});
