import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ROUTES } from '../../../src/api/v1/gateway.ts';
import { connectRaw, header } from '../../support/http/raw-http.ts';
import { createApp, Muster, tenant, type Answer, type Tenant } from '../../support/service/muster.ts';
import { asCaller, asOperator, expectRefusal, spend, type Ask, type V1Code } from '../../support/service/v1.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const TOO_LARGE = 'x'.repeat(65_537);
const WELL_FORMED_PUT = { enabled: false };

// Only with 1000 apps is there a limit for the fields to come before: app-limit.test.ts has that step.
describe('H1: the order of the checks, each step shown by a request that is wrong for the next one too', () => {
  const clock = new FakeClock();
  let muster: Muster;
  let account: Tenant;
  let ask: Ask;
  beforeAll(async () => {
    muster = await Muster.start({ clock });
  });
  beforeEach(async () => {
    account = await tenant(muster, 'standard');
    ask = asCaller(muster, account.apiKey);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
  });

  const operator: Ask = (target, options) => asOperator(muster)(target, options);
  const change = async (patch: object): Promise<Answer> =>
    await operator(`PATCH /accounts/${account.accountId}`, { body: patch });

  test('invalid_key before account_disabled', async () => {
    await change({ disabled: true });
    expectRefusal(await ask('GET /v1/apps'), 'account_disabled');
    await operator(`DELETE /accounts/${account.accountId}/api-keys/${account.keyId}`);
    expectRefusal(await ask('GET /v1/apps'), 'invalid_key');
  });

  test('account_disabled before rate_limited', async () => {
    await spend(muster, account.apiKey, 600);
    expectRefusal(await ask('GET /v1/apps'), 'rate_limited');
    await change({ disabled: true });
    expectRefusal(await ask('GET /v1/apps'), 'account_disabled');
  });

  test('rate_limited before not_found', async () => {
    await spend(muster, account.apiKey, 600);
    for (const target of ['GET /v1/unknown', 'PATCH /v1/apps', 'GET /v1/apps/x', `GET /v1/apps/${'a'.repeat(20)}`]) {
      expectRefusal(await ask(target), 'rate_limited');
    }
    clock.advance(60_000);
    expectRefusal(await ask('GET /v1/unknown'), 'not_found');
  });

  test('the route before enterprise_required', async () => {
    expectRefusal(await ask('PATCH /v1/otel-config', { body: TOO_LARGE }), 'not_found');
    expectRefusal(await ask('PUT /v1/otel-config', { body: WELL_FORMED_PUT }), 'enterprise_required');
  });

  test('the route and the appId before the body', async () => {
    expectRefusal(await ask('POST /v1/unknown', { body: TOO_LARGE }), 'not_found');
    for (const { method, path } of ROUTES.filter((route) => route.method !== 'get' && route.path.includes(':appId'))) {
      const target = `${method.toUpperCase()} ${path.replace(':appId', 'x')}`;
      expectRefusal(await ask(target, { body: TOO_LARGE }), 'not_found');
    }
  });

  test('enterprise_required before payload_too_large and before the fields', async () => {
    expectRefusal(await ask('PUT /v1/otel-config', { body: TOO_LARGE }), 'enterprise_required');
    expectRefusal(await ask('PUT /v1/otel-config', { body: '{' }), 'enterprise_required');
    expectRefusal(await ask('GET /v1/otel-config'), 'enterprise_required');
    await change({ entitlement: 'enterprise' });
    expectRefusal(await ask('PUT /v1/otel-config', { body: TOO_LARGE }), 'payload_too_large');
  });

  test('payload_too_large before the syntax of JSON', async () => {
    expectRefusal(await ask('POST /v1/apps', { body: TOO_LARGE }), 'payload_too_large');
    expectRefusal(await ask('POST /v1/apps', { body: TOO_LARGE.slice(1) }), 'invalid_name');
  });

  test('the syntax of JSON before the fields', async () => {
    await change({ entitlement: 'enterprise' });
    const wrong = '{"enabled":true,"endpoint":7';
    expectRefusal(await ask('PUT /v1/otel-config', { body: wrong }), 'invalid_enabled');
    expectRefusal(await ask('PUT /v1/otel-config', { body: `${wrong}}` }), 'invalid_endpoint');
  });

  test.each<[string, V1Code]>([
    ['PUT /v1/otel-config', 'enterprise_required'],
    ['POST /v1/apps/x/revoke', 'not_found'],
  ])('H7: %s is refused without 100 Continue, and without a byte of its body', async (target, code) => {
    await using connection = await connectRaw(muster.service.api.port);
    const headers = `Authorization: Bearer ${account.apiKey}\r\nExpect: 100-continue\r\nContent-Length: 20\r\n`;
    await connection.send(`${target} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`);
    expect((await connection.answer()).body).toContain(`"${code}"`);
  });

  test('H7: but where the body is wanted it is asked for', async () => {
    await using connection = await connectRaw(muster.service.api.port);
    const headers = `Authorization: Bearer ${account.apiKey}\r\nExpect: 100-continue\r\nContent-Length: 12\r\n`;
    await connection.send(`POST /v1/apps HTTP/1.1\r\nHost: a\r\n${headers}\r\n`);
    expect((await connection.answer()).status).toBe(100);
    await connection.send('{"name":"a"}');
    expect((await connection.answer()).status).toBe(201);
  });

  test('H7: a refused body that is too large closes the connection, one that is small leaves it open', async () => {
    const { appId } = await createApp(muster, account.apiKey);
    const refusal = async (target: string, body: string): Promise<string | undefined> => {
      await using connection = await connectRaw(muster.service.api.port);
      const headers = `Authorization: Bearer ${account.apiKey}\r\nContent-Length: ${body.length}\r\n`;
      await connection.send(`${target} HTTP/1.1\r\nHost: a\r\n${headers}\r\n${body}`);
      return header(await connection.answer(), 'connection');
    };
    expect(await refusal('POST /v1/apps', TOO_LARGE)).toBe('close');
    expect(await refusal('POST /v1/apps', '[]')).toBe('keep-alive');
    expect(await refusal(`POST /v1/apps/${appId}/revoke`, TOO_LARGE)).toBe('keep-alive');
  });
});
