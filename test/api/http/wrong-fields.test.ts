import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, createApp, enroll, Muster, OPERATOR_TOKEN, tenant, type Tenant } from '../../support/service/muster.ts';

/* What is wrong with a field is said in whole words of this project, and never with the value that came. */

let muster: Muster;
let owner: Tenant;
beforeAll(async () => {
  muster = await Muster.start();
  owner = await tenant(muster);
});
afterAll(() => muster[Symbol.asyncDispose]());

const ACCOUNTS = '/operator/v1/accounts';
const ENTRY = `ACCOUNT/review-queue/${'a'.repeat(20)}-${'0'.repeat(32)}`;

test.each([
  ['POST', '', { name: '', entitlement: 'standard' }, 'name: must have at least 1 character'],
  ['POST', '', { name: 'x'.repeat(201), entitlement: 'standard' }, 'name: must have at most 200 characters'],
  ['POST', '', { name: 4711, entitlement: 'standard' }, 'name: must be a text'],
  ['POST', '', { entitlement: 'standard' }, 'name: is missing: it must be a text'],
  ['POST', '', { name: 'x', entitlement: 'gold' }, 'entitlement: must be standard or enterprise'],
  ['PATCH', 'ACCOUNT', { disabled: 'yes' }, 'disabled: must be true or false'],
  ['PATCH', 'ACCOUNT', { adoptableBy: 'Nowhere' }, 'adoptableBy: must be a FleetAccount, as namespace/name, or null'],
  ['PATCH', 'ACCOUNT', { adoptableBy: `a/${'b'.repeat(506)}` }, 'adoptableBy: must have at most 507 characters'],
  ['POST', 'ACCOUNT/api-keys', { expiresAt: 'soon' }, 'expiresAt: must be a date-time of RFC 3339'],
  ['PATCH', ENTRY, { status: 'lost' }, 'status: must be open, confirmed or dismissed'],
  ['PATCH', ENTRY, { status: 'open', note: 4711 }, 'note: must be a text'],
])('%s %s %j: %s', async (method, path, body, words) => {
  const url = `${muster.ops}${ACCOUNTS}${path.replace('ACCOUNT', `/${owner.accountId}`)}`;
  const answer = await call(url, { method, token: OPERATOR_TOKEN, body });
  expect([answer.status, answer.body]).toEqual([
    400,
    { error: { code: 'invalid_request', message: expect.stringMatching(new RegExp(`^${words}`)) as string } },
  ]);
});

test.each([
  ['acknowledge', { revision: -1, status: 'applied' }, 'revision: must be at least 0'],
  ['acknowledge', { revision: 1.5, status: 'applied' }, 'revision: must be a whole number'],
  ['detections', { events: {} }, 'events: must be a list'],
  ['detections', { events: Array.from({ length: 2000 }, () => ({})) }, 'events: must have at most [0-9]+ entries'],
])('%s of the device plane %j', async (path, body, words) => {
  const token = await enroll(muster, await createApp(muster, owner.apiKey));
  const url = `${muster.device}/device/v1/${path === 'acknowledge' ? 'config/ack' : path}`;
  const answer = await call(url, { method: 'POST', token, body });
  expect(answer.body).toEqual({
    error: { code: 'invalid_request', message: expect.stringMatching(new RegExp(`^${words}$`)) as string },
  });
});
