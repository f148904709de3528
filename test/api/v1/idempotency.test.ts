import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { exchange } from '../../support/http/raw-http.ts';
import { call, enroll, Muster, poll, tenant, type Answer, type Tenant } from '../../support/service/muster.ts';
import { asCaller, codeOf, DAY_MS, expectRefusal, spend, times, type Ask } from '../../support/service/v1.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { recordingStore } from '../../support/store/recording-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const replayed = ({ headers }: Answer): boolean => headers.get('idempotency-replayed') === 'true';
const appOf = ({ body }: Answer): { appId: string; enrollCode: string } => ({
  appId: String(body['appId']),
  enrollCode: String(body['enrollCode']),
});

onEachBackend('Idempotency-Key (H19)', (backend) => {
  const clock = new FakeClock();
  const written: string[] = [];
  let muster: Muster;
  let account: Tenant;
  let ask: Ask;
  beforeAll(async () => {
    muster = await backend.fresh({ clock, wrapStore: (store) => recordingStore(store, written) });
  });
  beforeEach(async () => {
    account = await tenant(muster);
    ask = asCaller(muster, account.apiKey);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
  });

  const post = async (path: string, key: string, body?: object | string): Promise<Answer> =>
    await ask(`POST ${path}`, { headers: { 'idempotency-key': key }, ...(body !== undefined && { body }) });
  const create = async (key: string, name?: string): Promise<Answer> =>
    await post('/v1/apps', key, name === undefined ? undefined : { name });
  const appCount = async (): Promise<number> => ((await ask('GET /v1/apps')).body['apps'] as unknown[]).length;

  test('the same key is answered with the same bytes, and makes no second app', async () => {
    const first = await create('one', 'näme');
    expect(first.status).toBe(201);
    expect(replayed(first)).toBe(false);
    for (let i = 0; i < 3; i += 1) {
      const again = await create('one', 'näme');
      expect({ status: again.status, text: again.text }).toEqual({ status: 201, text: first.text });
      expect(replayed(again)).toBe(true);
    }
    expect(await appCount()).toBe(1);
    await enroll(muster, appOf(first));
  });

  test('another key, another path or another account is another request', async () => {
    const first = await create('k', 'a');
    const others = [
      await create('K', 'a'),
      await create('k ', 'a'),
      await create('k k', 'a'),
      await post(`/v1/apps/${appOf(first).appId}/enroll-code`, 'k'),
      await asCaller(muster, (await tenant(muster)).apiKey)('POST /v1/apps', { headers: { 'idempotency-key': 'k' } }),
      await ask('POST /v1/apps', { body: { name: 'a' } }),
    ];
    expect(others.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201, 201]);
    expect(others.map(replayed), 'white space around a field is none of it').toEqual([
      false,
      true,
      false,
      false,
      false,
      false,
    ]);
  });

  test('the same key with another name is invalid_name, and the first stands', async () => {
    const first = await create('k', 'a');
    for (const name of ['b', '', 'A', 'a ']) expectRefusal(await create('k', name), 'invalid_name');
    expectRefusal(await create('k'), 'invalid_name');
    expect((await create('k', 'a')).text).toBe(first.text);
    expect(await appCount()).toBe(1);
  });

  test('the name counts, not the bytes of the body', async () => {
    const first = await post('/v1/apps', 'k', '{"name":"a"}');
    expect((await post('/v1/apps', 'k', ' {"x":1,"name":"\\u0061"}')).text).toBe(first.text);
    const unnamed = await post('/v1/apps', 'u');
    expect((await post('/v1/apps', 'u', '{"name":""}')).text).toBe(unnamed.text);
  });

  test('only 201 is kept: a refused create may be sent again, mended', async () => {
    expectRefusal(await post('/v1/apps', 'k', { name: 7 }), 'invalid_name');
    expect(replayed(await create('k', 'mended'))).toBe(false);
    expectRefusal(await post(`/v1/apps/${'a'.repeat(20)}/enroll-code`, 'k'), 'not_found');
  });

  test('a wrong field is refused before the recorded answer is given', async () => {
    await create('k', 'a');
    expectRefusal(await post('/v1/apps', 'k', { name: 7 }), 'invalid_name');
    expectRefusal(await post('/v1/apps', 'k', 'x'.repeat(65_537)), 'payload_too_large');
  });

  test('one of 20 duplicates at once creates, and the others get the same response', async () => {
    // With others in front, the duplicates wait for the same commit, and meet in it.
    const others = times(5, 5, () => ask('POST /v1/apps'));
    const answers = await times(20, 20, () => create('at once', 'a'));
    expect((await others).map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
    expect(answers.filter((answer) => !replayed(answer))).toHaveLength(1);
    expect(await appCount()).toBe(6);
  });

  test('20 duplicates at once with two names: those with the name that came first succeed', async () => {
    const answers = await times(20, 20, (number) => create('two names', number % 2 === 0 ? 'a' : 'b'));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(answers.filter((answer) => codeOf(answer) === 'invalid_name')).toHaveLength(10);
    expect(await appCount()).toBe(1);
  });

  test('one of 20 duplicates of enroll-code at once issues', async () => {
    const { appId } = appOf(await ask('POST /v1/apps'));
    const answers = await times(20, 20, () => post(`/v1/apps/${appId}/enroll-code`, 'k'));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers.filter((answer) => !replayed(answer))).toHaveLength(1);
  });

  test('an answer is kept for 24 hours, and not a millisecond longer', async () => {
    const first = await create('k', 'a');
    clock.advance(DAY_MS - 1);
    expect((await create('k', 'a')).text).toBe(first.text);
    clock.advance(1);
    const second = await create('k', 'b');
    expect(second.status).toBe(201);
    expect(replayed(second)).toBe(false);
    expect(appOf(second).appId).not.toBe(appOf(first).appId);
    clock.advance(DAY_MS - 1);
    expect((await create('k', 'b')).text, 'the new answer has a day of its own').toBe(second.text);
  });

  test('a replay is given though the app is revoked or deleted; its code is dead then', async () => {
    const created = await create('k', 'a');
    const { appId, enrollCode } = appOf(created);
    const issued = await post(`/v1/apps/${appId}/enroll-code`, 'k');
    for (const target of [`POST /v1/apps/${appId}/revoke`, `DELETE /v1/apps/${appId}`]) {
      await ask(target);
      expect((await create('k', 'a')).text).toBe(created.text);
      expect((await post(`/v1/apps/${appId}/enroll-code`, 'k')).text).toBe(issued.text);
      expectRefusal(await create('k', 'b'), 'invalid_name');
      for (const code of [enrollCode, String(issued.body['enrollCode'])]) {
        await expect(enroll(muster, { appId, enrollCode: code })).rejects.toThrow('invalid_code');
      }
    }
    expectRefusal(await post(`/v1/apps/${appId}/enroll-code`, 'other'), 'not_found');
    expect(await appCount()).toBe(0);
  });

  test('a replay of enroll-code changes nothing for the daemon that used the code', async () => {
    const { appId } = appOf(await ask('POST /v1/apps'));
    const issued = await post(`/v1/apps/${appId}/enroll-code`, 'k');
    const credential = await enroll(muster, { appId, enrollCode: String(issued.body['enrollCode']) });
    expect((await post(`/v1/apps/${appId}/enroll-code`, 'k')).text).toBe(issued.text);
    expect((await poll(muster, credential)).status).toBe(200);
  });

  test('a replay is charged, and refused with 429 like any request', async () => {
    await create('k', 'a');
    expect((await create('k', 'a')).headers.get('ratelimit')).toContain('r=598');
    await spend(muster, account.apiKey, 598);
    expectRefusal(await create('k', 'a'), 'rate_limited');
    clock.advance(60_000);
    expect(replayed(await create('k', 'a'))).toBe(true);
  });

  test.each<[string, readonly string[]]>([
    ['an empty field', ['Idempotency-Key: ']],
    ['256 characters', [`Idempotency-Key: ${'a'.repeat(256)}`]],
    ['a tab', ['Idempotency-Key: a\tb']],
    ['bytes beyond ASCII', ['Idempotency-Key: \xe9']],
    ['two fields', ['Idempotency-Key: a', 'idempotency-key: a']],
  ])('a malformed key is invalid_name on create, and ignored on enroll-code: %s', async (_what, fields) => {
    const { appId } = appOf(await ask('POST /v1/apps'));
    const send = async (path: string) => {
      const head = [
        `POST ${path} HTTP/1.1`,
        'Host: a',
        `Authorization: Bearer ${account.apiKey}`,
        ...fields,
        '',
        '',
      ].join('\r\n');
      return await exchange(muster.service.api.port, Buffer.from(head, 'latin1'));
    };
    const refused = await send('/v1/apps');
    expect(refused).toMatchObject({ status: 400, body: expect.stringContaining('"invalid_name"') as string });
    expect(refused.body).toContain('Idempotency-Key');
    const codes = [await send(`/v1/apps/${appId}/enroll-code`), await send(`/v1/apps/${appId}/enroll-code`)];
    expect(codes.map(({ status }) => status)).toEqual([201, 201]);
    expect(codes[0]?.body).not.toBe(codes[1]?.body);
    expect(await appCount()).toBe(1);
  });

  test.each(['a', 'a'.repeat(255), '!"#$%&\'()*+,-./:;<=>?@[]^_`{|}~ ~'])('but %j is a key', async (key) => {
    expect((await create(key)).status).toBe(201);
    expect(replayed(await create(key))).toBe(true);
  });

  test('on other operations the field means nothing', async () => {
    const headers = { 'idempotency-key': 'k' };
    const { appId } = appOf(await create('k'));
    expect((await ask(`POST /v1/apps/${appId}/revoke`, { headers })).body).toEqual({ appId, status: 'revoked' });
    const body = { enabled: false };
    expect(replayed(await ask('PUT /v1/otel-config', { headers, body }))).toBe(false);
    expect((await ask(`DELETE /v1/apps/${appId}`, { headers })).status).toBe(204);
    expectRefusal(await ask(`DELETE /v1/apps/${appId}`, { headers }), 'not_found');
  });

  test('the code is encrypted at rest, and so is the key of the caller hidden', async () => {
    const { enrollCode } = appOf(await create('a-key-of-the-caller', 'named'));
    expect(enrollCode).toMatch(/^mst_code_/);
    expect(written.filter((value) => value.includes('mst_code_') || value.includes('a-key-of-the-caller'))).toEqual([]);
    expect(written.filter((value) => value.includes('"named"')).length, 'the rest was seen').toBeGreaterThan(0);
    const { text } = await call(`${muster.ops}/metrics`);
    expect([text, ...muster.logged].filter((line) => line.includes(enrollCode))).toEqual([]);
  });
});

test('at most 1,000 answers are kept for an account, and the oldest goes', async () => {
  const clock = new FakeClock();
  await using muster = await Muster.start({ clock });
  const ask = asCaller(muster, (await tenant(muster)).apiKey);
  const other = asCaller(muster, (await tenant(muster)).apiKey);
  const appIds = (await times(20, 20, () => ask('POST /v1/apps'))).map((created) => appOf(created).appId);
  const issue = async (number: number): Promise<Answer> => {
    if (number % 400 === 399) clock.advance(60_000);
    const headers = { 'idempotency-key': `key ${number}` };
    return await ask(`POST /v1/apps/${appIds[number % appIds.length]}/enroll-code`, { headers });
  };
  const kept = await other('POST /v1/apps', { headers: { 'idempotency-key': 'key 0' } });
  // The first ones one after the other: these are the oldest.
  const issued = [...(await times(3, 1, issue)), ...(await times(997, 20, (number) => issue(number + 3)))];
  expect((await issue(0)).text, 'all of 1,000 are there').toBe(issued[0]?.text);
  expect((await issue(999)).text).toBe(issued[999]?.text);
  await issue(1000);
  expect(replayed(await issue(0)), 'the oldest has gone; this one is kept anew, and the next oldest goes').toBe(false);
  clock.advance(60_000);
  expect((await issue(2)).text).toBe(issued[2]?.text);
  expect(replayed(await issue(1))).toBe(false);
  const again = await other('POST /v1/apps', { headers: { 'idempotency-key': 'key 0' } });
  expect(again.text, 'another account keeps its own').toBe(kept.text);
});
