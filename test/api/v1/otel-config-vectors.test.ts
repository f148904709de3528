import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readDocument } from '../../support/openapi/documents.ts';
import { Schemas } from '../../support/openapi/schemas.ts';
import { Muster, tenant, type Answer } from '../../support/service/muster.ts';
import { asCaller, expectRefusal, type Ask, type V1Code } from '../../support/service/v1.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import authHeaders from '../../vectors/auth-header.json' with { type: 'json' };
import endpoints from '../../vectors/endpoint.json' with { type: 'json' };
import puts from '../../vectors/otel-put.json' with { type: 'json' };

const OLD = { enabled: true, endpoint: 'https://old.example.com', evidenceLevel: 'redacted' };

describe('the schema of the document', () => {
  const schemas = new Schemas(readDocument('v1'), 'open');
  const fits = (body: object): boolean =>
    schemas.faultOf('/components/schemas/StoreOtelConfigRequest', body) === undefined;

  test.each(endpoints.filter(({ accept }) => accept))('takes endpoint $id: $why', ({ endpoint }) => {
    expect(fits({ enabled: true, endpoint })).toBe(true);
  });

  test.each(authHeaders)('takes authHeader $id as the rule does: $why', ({ value, result }) => {
    expect(fits({ ...OLD, authHeader: value })).toBe(result !== 'reject');
  });

  test.each(puts.filter(({ code }) => code === null))('takes body $id: $why', ({ body }) => {
    expect(fits(body)).toBe(true);
  });

  test.each([
    'https://c.example.com/?',
    'https://c.example.com/#',
    'c.example.com',
    'https://',
    'https://a b',
    'ftp://a',
  ])('refuses the endpoint %j', (endpoint) => {
    expect(fits({ enabled: true, endpoint })).toBe(false);
  });
});

describe('the vectors, through PUT /v1/otel-config', () => {
  const clock = new FakeClock();
  let muster: Muster;
  let ask: Ask;
  beforeAll(async () => {
    muster = await Muster.start({ clock });
    ask = asCaller(muster, (await tenant(muster)).apiKey);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
  });

  /** In a rate window of its own: the configuration that is there before, with a header. */
  async function configured(): Promise<object> {
    clock.advance(60_000);
    return (await ask('PUT /v1/otel-config', { body: { ...OLD, authHeader: 'Bearer old' } })).body;
  }

  async function expectRefusedWhole(refused: Answer, code: V1Code, before: object): Promise<void> {
    expectRefusal(refused, code);
    expect((await ask('GET /v1/otel-config')).body, 'nothing is stored').toEqual(before);
  }

  test.each(endpoints)('endpoint $id: $why', async ({ endpoint, accept }) => {
    const before = await configured();
    const answer = await ask('PUT /v1/otel-config', { body: { enabled: true, endpoint } });
    if (!accept) return expectRefusedWhole(answer, 'invalid_endpoint', before);
    const after = { enabled: true, endpoint, authHeaderSet: true, evidenceLevel: 'hashes' };
    expect(answer, 'O6: as sent').toMatchObject({ status: 200, body: after });
    expect((await ask('GET /v1/otel-config')).body).toEqual(after);
  });

  test.each(authHeaders)('authHeader $id: $why', async ({ value, result }) => {
    const before = await configured();
    const answer = await ask('PUT /v1/otel-config', { body: { ...OLD, authHeader: value } });
    if (result === 'reject') return expectRefusedWhole(answer, 'invalid_auth_header', before);
    expect(answer).toMatchObject({ status: 200, body: { authHeaderSet: result === 'set' } });
  });

  test.each(puts)('body $id: $why', async ({ body, status, code }) => {
    const before = await configured();
    const answer = await ask('PUT /v1/otel-config', { body });
    if (code !== null) return expectRefusedWhole(answer, code as V1Code, before);
    expect(answer.status).toBe(status);
  });
});
