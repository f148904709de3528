import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Store } from '../../../src/store/port.ts';
import {
  call,
  createApp,
  enroll,
  poll,
  tenant,
  type Answer,
  type Muster,
  type Tenant,
} from '../../support/service/muster.ts';
import { asCaller, asOperator, expectRefusal, type Ask, type V1Code } from '../../support/service/v1.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { recordingStore } from '../../support/store/recording-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const NEVER_STORED = { enabled: false, endpoint: '', authHeaderSet: false, evidenceLevel: 'hashes' };
const STORED = { enabled: true, endpoint: 'https://otel.example.com', evidenceLevel: 'redacted' };

onEachBackend('the OTel configuration', (backend) => {
  const clock = new FakeClock();
  const written: string[] = [];
  let muster: Muster;
  let account: Tenant;
  let ask: Ask;
  beforeAll(async () => {
    muster = await backend.fresh({ clock, wrapStore: (store: Store) => recordingStore(store, written) });
  });
  beforeEach(async () => {
    account = await tenant(muster);
    ask = asCaller(muster, account.apiKey);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
  });

  const read = async (): Promise<unknown> => (await ask('GET /v1/otel-config')).body;
  const store = async (body: object): Promise<Answer> => await ask('PUT /v1/otel-config', { body });
  async function stored(body: object): Promise<unknown> {
    const answer = await store(body);
    expect(answer.status).toBe(200);
    expect(await read(), 'what a PUT answers is what a GET reads').toEqual(answer.body);
    return answer.body;
  }
  async function entitle(entitlement: 'standard' | 'enterprise'): Promise<void> {
    await asOperator(muster)(`PATCH /accounts/${account.accountId}`, { body: { entitlement } });
  }
  /** The configuration that a cloud device gets. */
  async function deviceOf(): Promise<() => Promise<unknown>> {
    const credential = await enroll(muster, await createApp(muster, account.apiKey));
    return async () => (await poll(muster, credential)).body['otel'];
  }

  test('O1: what was never stored', async () => {
    expect(await ask('GET /v1/otel-config')).toMatchObject({ status: 200, text: JSON.stringify(NEVER_STORED) });
  });

  test('4.8: a PUT answers and a GET reads the whole configuration, without the header', async () => {
    expect(await stored({ ...STORED, authHeader: 'Bearer abc' })).toEqual({ ...STORED, authHeaderSet: true });
  });

  test('H5: GET, edit, PUT keeps the header and changes what was edited', async () => {
    await stored({ ...STORED, authHeader: 'Bearer kept' });
    const told = await deviceOf();
    const edited = { ...((await read()) as object), endpoint: 'http://collector.local:4318/v1' };
    expect(await stored(edited)).toEqual({ ...edited, authHeaderSet: true });
    expect(await told()).toMatchObject({ endpoint: edited.endpoint, headers: { Authorization: 'Bearer kept' } });
  });

  test('the header is kept, replaced, removed; a device is told at once', async () => {
    const told = await deviceOf();
    await stored({ ...STORED, authHeader: 'Bearer one' });
    expect(await told()).toMatchObject({ headers: { Authorization: 'Bearer one' } });
    await stored({ ...STORED, evidenceLevel: 'full' });
    expect(await told()).toMatchObject({ evidenceLevel: 'full', headers: { Authorization: 'Bearer one' } });
    await stored({ ...STORED, authHeader: 'X-Api-Key: two' });
    expect(await told()).toMatchObject({ headers: { 'X-Api-Key': 'two' } });
    expect(await stored({ ...STORED, authHeader: '' })).toMatchObject({ authHeaderSet: false });
    expect(await told()).toMatchObject({ headers: {} });
    expect(await stored({ ...STORED, authHeader: '' }), 'removing what is not there').toMatchObject({
      authHeaderSet: false,
    });
  });

  test('O8: an evidenceLevel that is left out is hashes again', async () => {
    await stored({ ...STORED, evidenceLevel: 'full' });
    const { evidenceLevel: _left, ...rest } = STORED;
    expect(await stored(rest)).toMatchObject({ evidenceLevel: 'hashes' });
  });

  test('O2: a configuration that is off may have an endpoint, and then a good one', async () => {
    expect(await stored({ enabled: false })).toEqual(NEVER_STORED);
    expect(await stored({ enabled: false, endpoint: '' })).toEqual(NEVER_STORED);
    expect(await stored({ enabled: false, endpoint: 'https://c.example.com' })).toMatchObject({
      endpoint: 'https://c.example.com',
    });
    expectRefusal(await store({ enabled: false, endpoint: 'http://c.example.com' }), 'invalid_endpoint');
    expect(await stored({ enabled: false })).toEqual(NEVER_STORED);
  });

  test('H5: unknown fields and the read-only one are ignored', async () => {
    const body = '{"__proto__":{"enabled":true},"enabled":false,"authHeaderSet":true,"x":1,"constructor":7}';
    expect(await ask('PUT /v1/otel-config', { body })).toMatchObject({ status: 200, body: NEVER_STORED });
    expectRefusal(await ask('PUT /v1/otel-config', { body: '{"__proto__":{"enabled":true}}' }), 'invalid_enabled');
  });

  const WRONG: readonly (readonly [field: string, value: unknown, code: V1Code])[] = [
    ['enabled', 'true', 'invalid_enabled'],
    ['endpoint', 'http://example.com', 'invalid_endpoint'],
    ['authHeader', 7, 'invalid_auth_header'],
    ['evidenceLevel', 'none', 'invalid_evidence_level'],
  ];
  const PAIRS = WRONG.flatMap((first, i) => WRONG.slice(i + 1).map((second) => [first, second] as const));

  test.each(PAIRS)('O3: of two wrong fields the first in the table is told: %j, %j', async (first, second) => {
    await stored({ ...STORED, authHeader: 'Bearer old' });
    const before = await read();
    for (const [one, other] of [
      [first, second],
      [second, first],
    ] as const) {
      const body = Object.fromEntries([
        [other[0], other[1]],
        [one[0], one[1]],
      ]);
      expectRefusal(await store({ ...STORED, ...body }), first[2]);
    }
    expectRefusal(await store({ ...STORED, [second[0]]: second[1] }), second[2]);
    expect(await read(), 'nothing is stored').toEqual(before);
  });

  test.each<[object, V1Code, string]>([
    [{}, 'invalid_enabled', 'enabled is required'],
    [{ authHeader: 7 }, 'invalid_enabled', 'and comes first'],
    [{ enabled: true }, 'invalid_endpoint', 'an endpoint is required where enabled is true'],
    [{ enabled: true, authHeader: 7 }, 'invalid_endpoint', 'and comes before the header'],
    [{ enabled: true, evidenceLevel: 7 }, 'invalid_endpoint', 'and before the level'],
    [{ enabled: true, endpoint: '', authHeader: 7 }, 'invalid_endpoint', 'so does an empty one'],
    [{ enabled: false, authHeader: 7 }, 'invalid_auth_header', 'but where it is off none is required'],
    [{ enabled: false, endpoint: null }, 'invalid_endpoint', 'null is not left out'],
    [{ enabled: false, authHeader: null }, 'invalid_auth_header', 'nor is it for the header'],
    [{ enabled: false, evidenceLevel: null }, 'invalid_evidence_level', 'nor for the level'],
    [{ enabled: false, evidenceLevel: 'Full' }, 'invalid_evidence_level', 'a level in another case'],
    [{ enabled: false, endpoint: `https://a/${'b'.repeat(2039)}` }, 'invalid_endpoint', '2049 characters'],
    [{ enabled: false, authHeader: 'a'.repeat(8193) }, 'invalid_auth_header', '8193 characters'],
  ])('4.8: %.80j → %s (%s)', async (body, code) => {
    expectRefusal(await store(body), code);
    expect(await read()).toEqual(NEVER_STORED);
  });

  test('4.8: but 2048 and 8192 characters pass', async () => {
    const endpoint = `https://a/${'b'.repeat(2038)}`;
    expect(await stored({ enabled: true, endpoint, authHeader: 'a'.repeat(8192) })).toMatchObject({ endpoint });
  });

  test('where the last field is wrong the old header stays, and the device is told nothing new', async () => {
    await stored({ ...STORED, authHeader: 'Bearer old' });
    const told = await deviceOf();
    const before = await told();
    const body = { enabled: true, endpoint: 'https://new.example.com', authHeader: 'Bearer new', evidenceLevel: 'x' };
    expectRefusal(await store(body), 'invalid_evidence_level');
    expect(await told()).toEqual(before);
  });

  test('4.9: DELETE leads back to what was never stored, any number of times', async () => {
    await stored({ ...STORED, authHeader: 'Bearer purged' });
    const told = await deviceOf();
    for (let i = 0; i < 2; i += 1) {
      expect(await ask('DELETE /v1/otel-config')).toMatchObject({ status: 200, text: '{"deleted":true}' });
      expect(await read()).toEqual(NEVER_STORED);
      expect(await told()).toMatchObject({ enabled: false, endpoint: '', headers: {} });
    }
    expect(await stored(STORED), 'the header does not come back').toMatchObject({ authHeaderSet: false });
  });

  test('4.9, O11: a downgraded account can neither read nor set, but purge; its devices are told nothing', async () => {
    await stored({ ...STORED, authHeader: 'Bearer left' });
    const told = await deviceOf();
    await entitle('standard');
    expectRefusal(await ask('GET /v1/otel-config'), 'enterprise_required');
    expectRefusal(await store(STORED), 'enterprise_required');
    expect(await told()).toMatchObject({ enabled: false, headers: {} });
    await entitle('enterprise');
    expect(await read(), 'the upgrade finds it again').toMatchObject({ authHeaderSet: true });
    await entitle('standard');
    expect(await ask('DELETE /v1/otel-config')).toMatchObject({ status: 200, body: { deleted: true } });
    await entitle('enterprise');
    expect(await read()).toEqual(NEVER_STORED);
  });

  test('accounts have nothing to do with each other’s configuration', async () => {
    await stored({ ...STORED, authHeader: 'Bearer mine' });
    const other = asCaller(muster, (await tenant(muster)).apiKey);
    expect((await other('GET /v1/otel-config')).body).toEqual(NEVER_STORED);
    await other('DELETE /v1/otel-config');
    expect(await read()).toMatchObject({ authHeaderSet: true });
  });

  test('O7, O9: the header is in no answer, log line, metric, audit entry or stored value', async () => {
    const secret = 'Hunter2-of-the-collector';
    const answers = [
      await store({ ...STORED, authHeader: `Bearer ${secret}` }),
      await ask('GET /v1/otel-config'),
      await store({ ...STORED, authHeader: `Bearer ${secret}`, evidenceLevel: secret }),
      await store({ ...STORED, authHeader: `${secret}\r\n` }),
      await store({ ...STORED, authHeader: [secret] }),
      await store({ ...STORED, endpoint: `https://user:${secret}@example.com` }),
      await store({ ...STORED, endpoint: `https://example.com/?${secret}` }),
      await ask('PUT /v1/otel-config', { body: `{"authHeader":"${secret}",` }),
      await store({ ...STORED, authHeader: '' }),
      await ask('DELETE /v1/otel-config'),
      await asOperator(muster)(`GET /accounts/${account.accountId}/audit?limit=1000`),
      await call(`${muster.ops}/metrics`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 400, 400, 400, 400, 400, 200, 200, 200, 200]);
    expect(answers.filter(({ text }) => text.includes(secret))).toEqual([]);
    expect(muster.logged.filter((line) => line.includes(secret))).toEqual([]);
    expect(written.filter((value) => value.includes(secret))).toEqual([]);
    expect(written.filter((value) => value.includes(STORED.endpoint)).length, 'the rest was seen').toBeGreaterThan(0);
  });
});
