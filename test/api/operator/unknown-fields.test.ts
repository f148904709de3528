import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, Muster, OPERATOR_TOKEN, tenant, type Answer } from '../../support/service/muster.ts';

let muster: Muster;
let account: string;
beforeAll(async () => {
  muster = await Muster.start();
  account = `/${(await tenant(muster)).accountId}`;
});
afterAll(() => muster[Symbol.asyncDispose]());

const send = (method: string, path: string, body: object): Promise<Answer> =>
  call(`${muster.ops}/operator/v1/accounts${path}`, { method, token: OPERATOR_TOKEN, body });

describe('a field that an operation of the operator does not have is refused by its name', () => {
  test.each([
    ['POST', '', { name: 'x', entitlement: 'standard' }],
    ['PATCH', 'ACCOUNT', { name: 'x' }],
    ['POST', 'ACCOUNT/api-keys', { name: 'x' }],
    ['PATCH', `ACCOUNT/review-queue/${'a'.repeat(20)}-${'0'.repeat(32)}`, { status: 'dismissed' }],
  ])('%s %s', async (method, path, body) => {
    const { status, body: answer } = await send(method, path.replace('ACCOUNT', account), { ...body, disabeld: true });
    expect([status, answer]).toEqual([
      400,
      { error: { code: 'invalid_request', message: '"disabeld": there is no such field.' } },
    ]);
  });

  test.each([
    ['/operator/v1/accounts?limit=1&limit=2', 400],
    ['/operator/v1/accounts?limit=1&other=1&other=2', 200],
    ['/operator/v1/backup?count=x&count=true', 400],
    ['/operator/v1/usage?month=2026-01&month=2026-02', 400],
    ['/operator/v1/usage?month=2026-01', 200],
  ])('GET %s is %i: a parameter that is there twice is no choice of the service', async (path, status) => {
    expect((await call(muster.ops + path, { token: OPERATOR_TOKEN })).status).toBe(status);
  });

  test('nothing of the request is done, and without the field it is', async () => {
    expect((await send('PATCH', account, { name: 'new', nmae: 'x' })).status).toBe(400);
    expect((await call(`${muster.ops}/operator/v1/accounts${account}`, { token: OPERATOR_TOKEN })).body['name']).toBe(
      'tenant',
    );
    expect((await send('PATCH', account, { name: 'new' })).body['name']).toBe('new');
  });

  test('the name comes back escaped and cut', async () => {
    const { body } = await send('PATCH', account, { [`\u001b[31m${'x'.repeat(500)}`]: 1 });
    const { message } = body['error'] as { message: string };
    expect(message).toMatch(/^"\\u001b\[31mx+": there is no such field\.$/);
    expect(message.length).toBeLessThan(150);
  });

  test('a wrong field of the operation is told before it', async () => {
    const { body } = await send('PATCH', account, { name: 7, nmae: 'x' });
    expect((body['error'] as { message: string }).message).toMatch(/^name: /);
  });
});
