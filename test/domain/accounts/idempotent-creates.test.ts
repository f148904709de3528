import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { exchange } from '../../support/http/raw-http.ts';
import { putAll } from '../../support/records/backups.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { auditsOf } from '../../support/service/accounts.ts';
import { call, Muster, OPERATOR_TOKEN, tenant, type Answer } from '../../support/service/muster.ts';
import { asCaller, asOperator, codeOf, DAY_MS, times } from '../../support/service/v1.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyForRequests, type FaultyStore } from '../../support/store/faulty-store.ts';
import { recordingStore } from '../../support/store/recording-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const replayed = ({ headers }: Answer): boolean => headers.get('idempotency-replayed') === 'true';
const told = ({ status, text }: Answer): string => `${status} ${text}`;
const INVALID_REQUEST = { status: 400, body: { error: { code: 'invalid_request' } } };
const OTHER_CONTENT = {
  status: 400,
  body: {
    error: { code: 'invalid_request', message: expect.stringMatching(/Idempotency-Key.*another content/) as string },
  },
};

const ALICE_TOKEN = 'another-operator-token-0123456789abcdef';

interface Operated {
  readonly post: (path: string, key: string, body?: object | string) => Promise<Answer>;
  readonly createAccount: (key: string, name: string, entitlement?: string) => Promise<Answer>;
  readonly createKey: (accountId: string, key: string, body?: object) => Promise<Answer>;
  readonly accountsNamed: (name: string) => Promise<readonly string[]>;
  readonly keysOf: (accountId: string) => Promise<readonly string[]>;
}

function operated(muster: Muster): Operated {
  const ask = asOperator(muster);
  const post: Operated['post'] = (path, key, body) =>
    ask(`POST ${path}`, { headers: { 'idempotency-key': key }, ...(body !== undefined && { body }) });
  return {
    post,
    createAccount: (key, name, entitlement = 'standard') => post('/accounts', key, { name, entitlement }),
    createKey: (accountId, key, body) => post(`/accounts/${accountId}/api-keys`, key, body),
    async accountsNamed(wanted) {
      const { body } = await ask('GET /accounts?limit=1000');
      const all = body['accounts'] as { accountId: string; name: string }[];
      return all.filter(({ name }) => name === wanted).map(({ accountId }) => accountId);
    },
    async keysOf(accountId) {
      const { body } = await ask(`GET /accounts/${accountId}/api-keys`);
      return (body['apiKeys'] as { keyId: string }[]).map(({ keyId }) => keyId);
    },
  };
}

onEachBackend("H19: the operator's creates", (backend) => {
  const clock = new FakeClock();
  const written: string[] = [];
  let store: FaultyStore;
  let muster: Muster;
  let made = 0;
  const { post, createAccount, createKey, accountsNamed, keysOf }: Operated = {
    post: (...asked) => operated(muster).post(...asked),
    createAccount: (...asked) => operated(muster).createAccount(...asked),
    createKey: (...asked) => operated(muster).createKey(...asked),
    accountsNamed: (name) => operated(muster).accountsNamed(name),
    keysOf: (accountId) => operated(muster).keysOf(accountId),
  };
  /** A text that no other test of this file has used, for a name or a key. */
  const fresh = (): string => `once ${(made += 1)}`;
  const use = async (apiKey: unknown): Promise<number> =>
    (await asCaller(muster, String(apiKey))('GET /v1/apps')).status;
  const dir = scratchDirectory('muster-tokens');
  beforeAll(async () => {
    const file = join(dir, 'tokens');
    writeFileSync(file, `alice:${ALICE_TOKEN}\n`);
    muster = await backend.fresh({
      clock,
      env: { MUSTER_OPERATOR_TOKEN_FILE: file },
      wrapStore: (real) => (store = faultyForRequests(recordingStore(real, written))),
    });
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true });
  });

  test('the same key is answered with the same bytes, and makes no second account', async () => {
    const name = fresh();
    const first = await createAccount(name, name, 'enterprise');
    expect([first.status, replayed(first)]).toEqual([201, false]);
    const accountId = String(first.body['accountId']);
    await asOperator(muster)(`PATCH /accounts/${accountId}`, { body: { entitlement: 'standard', disabled: true } });
    clock.advance(1000);
    for (let i = 0; i < 3; i += 1) {
      const again = await createAccount(name, name, 'enterprise');
      expect([told(again), replayed(again)]).toEqual([told(first), true]);
    }
    expect(await accountsNamed(name)).toEqual([accountId]);
    const actions = (await auditsOf(store, accountId)).map(({ action }) => action);
    expect(actions.toSorted()).toEqual(['account.changed', 'account.created']);
  });

  test('the same key is answered with the same secret, and makes no second API key', async () => {
    const { accountId, keyId } = await tenant(muster);
    const first = await createKey(accountId, 'k', { name: 'ci' });
    expect([first.status, replayed(first)]).toEqual([201, false]);
    clock.advance(1000);
    for (let i = 0; i < 3; i += 1) {
      const again = await createKey(accountId, 'k', { name: 'ci' });
      expect([told(again), replayed(again)]).toEqual([told(first), true]);
    }
    expect(await use(first.body['apiKey'])).toBe(200);
    expect((await keysOf(accountId)).toSorted()).toEqual([keyId, String(first.body['keyId'])].toSorted());
  });

  test('without a key each create is another one', async () => {
    const name = fresh();
    for (let i = 0; i < 2; i += 1) {
      const created = await asOperator(muster)('POST /accounts', { body: { name, entitlement: 'standard' } });
      expect([created.status, replayed(created)]).toEqual([201, false]);
    }
    expect(await accountsNamed(name)).toHaveLength(2);
  });

  test('the same key with another content is refused in words, and the first stands', async () => {
    const name = fresh();
    const first = await createAccount(name, name);
    expect(await createAccount(name, `${name}!`)).toMatchObject(OTHER_CONTENT);
    expect(await createAccount(name, name, 'enterprise')).toMatchObject(OTHER_CONTENT);
    const spelled = await post('/accounts', name, ` {"entitlement":"standard","name":${JSON.stringify(name)}}`);
    expect(told(spelled), 'the content counts, not the bytes of the body').toBe(told(first));

    const { accountId } = await tenant(muster);
    const expiresAt = new Date(clock.now() + DAY_MS).toISOString();
    const key = await createKey(accountId, 'k', { name: 'a', expiresAt });
    for (const body of [{ name: 'b', expiresAt }, { name: 'a' }, { name: 'a', expiresAt: null }, undefined]) {
      expect(await createKey(accountId, 'k', body)).toMatchObject(OTHER_CONTENT);
    }
    const seconds = expiresAt.replace(/\.\d+Z$/, 'Z');
    expect(told(await createKey(accountId, 'k', { expiresAt: seconds, name: 'a' }))).toBe(told(key));
    const unnamed = await createKey(accountId, 'u');
    expect(told(await createKey(accountId, 'u', { name: '', expiresAt: null }))).toBe(told(unnamed));
  });

  test('all tokens of the operator are one caller', async () => {
    const { accountId } = await tenant(muster);
    const first = await createKey(accountId, 'k');
    const asAlice = await call(`${muster.ops}/operator/v1/accounts/${accountId}/api-keys`, {
      method: 'POST',
      token: ALICE_TOKEN,
      headers: { 'idempotency-key': 'k', 'x-request-id': 'asked-by-alice' },
    });
    expect([told(asAlice), replayed(asAlice)]).toEqual([told(first), true]);
    const [line, ...more] = muster.logged.filter((text) => text.includes('asked-by-alice'));
    expect(more).toEqual([]);
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      msg: 'a create was answered again',
      actor: 'operator:alice',
      scope: `operator-${accountId}`,
    });
  });

  test('another key, another path, another account, and an owner of the same account, is another request', async () => {
    const [one, other] = [await tenant(muster), await tenant(muster)];
    const key = fresh();
    const first = await createKey(one.accountId, key);
    const owners = (): Promise<Answer> =>
      asCaller(muster, one.apiKey)('POST /v1/apps', { headers: { 'idempotency-key': key } });
    const app = await owners();
    const others = [
      await createKey(one.accountId, key.toUpperCase()),
      await createKey(other.accountId, key),
      await createAccount(key, 'a'),
      app,
    ];
    expect(others.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(others.map(replayed)).toEqual([false, false, false, false]);
    // Each has its own first slot: none has pushed another out.
    expect([told(await createKey(one.accountId, key)), told(await owners())]).toEqual([told(first), told(app)]);
  });

  test('one of 20 duplicates at once creates, and the others get the same response', async () => {
    const name = fresh();
    const { accountId, keyId } = await tenant(muster);
    for (const create of [() => createAccount(name, name), () => createKey(accountId, name)]) {
      const answers = await times(20, 20, create);
      expect(new Set(answers.map(told)).size).toBe(1);
      expect(answers[0]?.status).toBe(201);
      expect(answers.filter((answer) => !replayed(answer))).toHaveLength(1);
    }
    expect(await accountsNamed(name)).toHaveLength(1);
    expect((await keysOf(accountId)).filter((one) => one !== keyId)).toHaveLength(1);
  });

  test('20 duplicates at once with two contents: those with the content that came first succeed', async () => {
    const names = [fresh(), fresh()] as const;
    const answers = await times(20, 20, (number) => createAccount(names[0], names[number % 2] ?? ''));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(answers.filter((answer) => codeOf(answer) === 'invalid_request')).toHaveLength(10);
    expect([...(await accountsNamed(names[0])), ...(await accountsNamed(names[1]))]).toHaveLength(1);
  });

  test('60 different creates at once all succeed, and each is kept', async () => {
    const name = fresh();
    const { accountId } = await tenant(muster);
    const create = (number: number): Promise<Answer> =>
      number % 2 === 0 ? createAccount(`${name} ${number}`, name) : createKey(accountId, `${name} ${number}`);
    const created = await times(60, 60, create);
    expect(new Set(created.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(created.map(told)).size).toBe(60);
    expect((await times(60, 60, create)).map(told)).toEqual(created.map(told));
  });

  test('duplicates on every replica at once: one creates', async () => {
    const place = backend.place();
    const start = (): Promise<Muster> => Muster.start({ ...place, clock: new FakeClock() });
    await using one = await start();
    // The embedded store has one process.
    await using another = backend.name === 'etcd' ? await start() : { [Symbol.asyncDispose]: async () => undefined };
    const replicas = [one, ...(another instanceof Muster ? [another] : [])].map(operated);
    const created = await operated(one).createAccount('of both', 'of both');
    const accountId = String(created.body['accountId']);
    for (let round = 0; round < 5; round += 1) {
      const key = `round ${round}`;
      const at = (number: number): Operated => replicas[number % replicas.length] ?? operated(one);
      for (const create of [
        (number: number) => at(number).createAccount(key, key),
        (number: number) => at(number).createKey(accountId, key),
      ]) {
        const answers = await times(12, 12, create);
        expect(new Set(answers.map(told)).size).toBe(1);
        expect(answers.filter(({ status }) => status === 201)).toHaveLength(12);
        expect(answers.filter((answer) => !replayed(answer))).toHaveLength(1);
      }
      expect(await operated(one).accountsNamed(key)).toHaveLength(1);
    }
    expect(await operated(one).keysOf(accountId)).toHaveLength(5);
  });

  test('different creates on every replica at once each have a slot of their own', async () => {
    const place = backend.place();
    let shared: Store | undefined;
    const start = (): Promise<Muster> =>
      Muster.start({ ...place, clock: new FakeClock(), wrapStore: (real) => (shared = real) });
    await using one = await start();
    await using another = backend.name === 'etcd' ? await start() : { [Symbol.asyncDispose]: async () => undefined };
    const replicas = [one, ...(another instanceof Muster ? [another] : [])].map(operated);
    const made = await times(40, 40, (number) =>
      (replicas[number % replicas.length] ?? operated(one)).createAccount(`key ${number}`, `account ${number}`),
    );
    expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201]));
    const ring = await shared?.get(KEYS.idempotencyRing('operator'));
    expect(JSON.parse(ring?.value ?? '{}')).toMatchObject({ next: 40 });
    const page = await shared?.list({ prefix: 'idem/operator/slot/', limit: 100, keysOnly: true });
    expect(page?.entries).toHaveLength(40);
  });

  test('an answer is kept for 24 hours, and not a millisecond longer', async () => {
    const name = fresh();
    const first = await createAccount(name, name);
    const { accountId } = await tenant(muster);
    const key = await createKey(accountId, name);
    clock.advance(DAY_MS - 1);
    expect(told(await createAccount(name, name))).toBe(told(first));
    expect(told(await createKey(accountId, name))).toBe(told(key));
    clock.advance(1);
    const second = await createAccount(name, `${name}, anew`);
    expect([second.status, replayed(second)]).toEqual([201, false]);
    expect(replayed(await createKey(accountId, name))).toBe(false);
    clock.advance(DAY_MS - 1);
    expect(told(await createAccount(name, `${name}, anew`)), 'it has a day of its own').toBe(told(second));
  });

  test('only 201 is kept: a refused create may be sent again, mended', async () => {
    const name = fresh();
    expect(await createAccount(name, '')).toMatchObject(INVALID_REQUEST);
    expect(replayed(await createAccount(name, name))).toBe(false);
    const nobody = await createKey('a'.repeat(16), name);
    expect([nobody.status, codeOf(nobody)]).toEqual([404, 'not_found']);
    const { accountId } = await tenant(muster);
    expect(await createKey(accountId, name, { expiresAt: '2001-01-01T00:00:00Z' })).toMatchObject(INVALID_REQUEST);
    expect(replayed(await createKey(accountId, name))).toBe(false);
  });

  test('a wrong field is refused before the kept answer is given', async () => {
    const name = fresh();
    await createAccount(name, name);
    expect(await createAccount(name, 'x'.repeat(201))).toMatchObject({
      body: { error: { message: expect.stringContaining('name') as string } },
    });
    expect((await post('/accounts', name, 'x'.repeat(65_537))).status).toBe(413);
  });

  test('a replay is given though the key was revoked, has expired, or the account is full or disabled', async () => {
    const { accountId } = await tenant(muster);
    const expiresAt = new Date(clock.now() + 60_000).toISOString();
    const expiring = await createKey(accountId, 'expiring', { expiresAt });
    const lasting = await createKey(accountId, 'lasting');
    clock.advance(60_000);
    await asOperator(muster)(`DELETE /accounts/${accountId}/api-keys/${String(lasting.body['keyId'])}`);
    const record = { name: '', hash: 'h', createdAt: 1 };
    const further = times(LIMITS.apiKeysPerAccountMax, 200, async (n) => KEYS.apiKey(accountId, `seeded${n}`));
    await putAll(store, Object.fromEntries((await further).map((key) => [key, record])));
    await asOperator(muster)(`PATCH /accounts/${accountId}`, { body: { disabled: true } });
    expect(await createKey(accountId, 'another')).toMatchObject(INVALID_REQUEST);
    const again = [await createKey(accountId, 'expiring', { expiresAt }), await createKey(accountId, 'lasting')];
    expect(again.map(told)).toEqual([told(expiring), told(lasting)]);
    await asOperator(muster)(`PATCH /accounts/${accountId}`, { body: { disabled: false } });
    for (const { body } of again) expect(await use(body['apiKey']), 'it is dead').toBe(401);
  });

  test('a create whose answer was lost is made once, however it was lost', async () => {
    const { accountId } = await tenant(muster);
    for (const [create, count] of [
      [(name: string) => createAccount(name, name), async (name: string) => (await accountsNamed(name)).length],
      [(name: string) => createKey(accountId, name), async () => (await keysOf(accountId)).length],
    ] as const) {
      let name = fresh();
      let before = await count(name);
      store.fates.push('answer lost after commit');
      const landed = await create(name);
      expect([landed.status, replayed(landed)], 'the service itself finds it').toEqual([201, false]);
      expect(told(await create(name))).toBe(told(landed));
      expect((await count(name)) - before).toBe(1);

      name = fresh();
      before = await count(name);
      store.fates.push('lost before commit', 'lost before commit');
      expect((await create(name)).status).toBe(502);
      expect((await count(name)) - before).toBe(0);
      expect(replayed(await create(name))).toBe(false);
      expect(replayed(await create(name))).toBe(true);
      expect((await count(name)) - before).toBe(1);
    }
  });

  test('a client that was told 502 after the commit gets what was made', async () => {
    const name = fresh();
    const { accountId } = await tenant(muster);
    for (const create of [() => createAccount(name, name), () => createKey(accountId, name)]) {
      store.fates.push('answer lost after commit');
      // After the lost answer the store is silent altogether.
      store.intercept('commit', 'before', async () => void store.down.add('get'));
      expect((await create()).status).toBe(502);
      store.outage(false);
      const repeated = await create();
      expect([repeated.status, replayed(repeated)]).toEqual([201, true]);
      if (repeated.body['apiKey'] !== undefined) expect(await use(repeated.body['apiKey'])).toBe(200);
    }
    expect(await accountsNamed(name)).toHaveLength(1);
    expect(await keysOf(accountId)).toHaveLength(2);
  });

  test.each<[string, readonly string[]]>([
    ['an empty field', ['Idempotency-Key: ']],
    ['256 characters', [`Idempotency-Key: ${'a'.repeat(256)}`]],
    ['a tab', ['Idempotency-Key: a\tb']],
    ['bytes beyond ASCII', ['Idempotency-Key: \xe9']],
    ['two fields', ['Idempotency-Key: a', 'idempotency-key: a']],
  ])('a malformed key is invalid_request: %s', async (_what, fields) => {
    const { accountId, keyId } = await tenant(muster);
    const name = fresh();
    const body = JSON.stringify({ name, entitlement: 'standard' });
    const send = async (path: string, content: string) => {
      const head = [
        `POST /operator/v1${path} HTTP/1.1`,
        'Host: a',
        `Authorization: Bearer ${OPERATOR_TOKEN}`,
        `Content-Length: ${content.length}`,
        ...fields,
      ];
      return await exchange(muster.service.ops.port, Buffer.from([...head, '', content].join('\r\n'), 'latin1'));
    };
    for (const refused of [await send('/accounts', body), await send(`/accounts/${accountId}/api-keys`, '{}')]) {
      expect(refused).toMatchObject({ status: 400, body: expect.stringContaining('"invalid_request"') as string });
      expect(refused.body).toContain('Idempotency-Key');
    }
    expect([await accountsNamed(name), await keysOf(accountId)]).toEqual([[], [keyId]]);
  });

  test.each(['a', 'a'.repeat(255), '!"#$%&\'()*+,-./:;<=>?@[]^_`{|}~ ~'])('but %j is a key', async (key) => {
    const { accountId } = await tenant(muster);
    expect((await createKey(accountId, key)).status).toBe(201);
    expect(replayed(await createKey(accountId, key))).toBe(true);
  });

  test('on other operations the field means nothing', async () => {
    const { accountId, keyId } = await tenant(muster);
    const headers = { 'idempotency-key': 'é'.repeat(3) };
    const ask = asOperator(muster);
    for (const disabled of [true, false]) {
      const changed = await ask(`PATCH /accounts/${accountId}`, { headers, body: { disabled } });
      expect([changed.status, changed.body['disabled'], replayed(changed)]).toEqual([200, disabled, false]);
    }
    expect((await ask(`DELETE /accounts/${accountId}/api-keys/${keyId}`, { headers })).status).toBe(204);
    expect((await ask(`DELETE /accounts/${accountId}/api-keys/${keyId}`, { headers })).status).toBe(404);
  });

  test('at most 1,000 answers are kept for accounts, and 1,000 for the API keys of each; the oldest goes', async () => {
    const { accountId } = await tenant(muster);
    for (const [scope, create] of [
      ['operator', (name: string) => createAccount(name, name)],
      [`operator-${accountId}`, (name: string) => createKey(accountId, name)],
    ] as const) {
      const [oldest, next, newest] = [fresh(), fresh(), fresh()];
      const ring = KEYS.idempotencyRing(scope);
      const count = async (): Promise<number> =>
        (JSON.parse((await store.get(ring))?.value ?? '{"next":0}') as { next: number }).next;
      const first = await create(oldest);
      const taken = (await count()) - 1;
      // As after so many creates in between.
      await putAll(store, { [ring]: { next: taken + LIMITS.idempotencyKeptPerAccountMax - 1 } });
      await create(next);
      expect(told(await create(oldest)), 'all of 1,000 are there').toBe(told(first));
      await create(newest);
      expect(replayed(await create(next))).toBe(true);
      expect(replayed(await create(oldest)), 'the oldest has gone').toBe(false);
    }
  });

  test('the API key is encrypted at rest, and so is the key of the caller hidden; no log has either', async () => {
    const { accountId } = await tenant(muster);
    const created = await createKey(accountId, 'a-key-of-the-caller', { name: 'named' });
    await createKey(accountId, 'a-key-of-the-caller', { name: 'named' });
    await createKey(accountId, 'a-key-of-the-caller', { name: 'other' });
    const apiKey = String(created.body['apiKey']);
    expect(apiKey).toMatch(/^mst_live_/);
    expect(written.filter((value) => value.includes('mst_live_') || value.includes('a-key-of-the-caller'))).toEqual([]);
    expect(written.filter((value) => value.includes('"named"')).length, 'the rest was seen').toBeGreaterThan(0);
    const { text } = await call(`${muster.ops}/metrics`);
    expect([text, ...muster.logged].filter((line) => line.includes(apiKey.slice(-49)))).toEqual([]);
  });
});
