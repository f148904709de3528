import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { auditOf, metric } from '../../support/service/daemon.ts';
import { call, createApp, tenant, type Answer, type Call, type Muster } from '../../support/service/muster.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { onEachBackend, type Backend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* Another secret for an API key that stays: the one before works on for a while, and one former secret at most. */

const HOUR_MS = 3_600_000;
const iso = (at: number): string => new Date(at).toISOString();
const codeOf = ({ status, body }: Answer): unknown => [status, (body['error'] as { code?: string } | undefined)?.code];

interface OfKey {
  readonly accountId: string;
  readonly keyId: string;
}
const pathOf = ({ accountId, keyId }: OfKey): string => `/accounts/${accountId}/api-keys/${keyId}`;
const rotate = (muster: Muster, key: OfKey, body?: object, request: Call = {}): Promise<Answer> =>
  asOperator(muster, `${pathOf(key)}/rotation`, { ...request, method: 'POST', ...(body && { body }) });
/** Rotates the key, and gives its new secret. */
async function rotated(muster: Muster, key: OfKey, graceSeconds: number): Promise<string> {
  const { status, body, text } = await rotate(muster, key, { graceSeconds });
  expect([status, text]).toEqual([201, expect.any(String)]);
  return String(body['apiKey']);
}
const endAt = (muster: Muster, key: OfKey, expiresAt: unknown): Promise<Answer> =>
  asOperator(muster, pathOf(key), { method: 'PATCH', body: { expiresAt } });
async function listed(muster: Muster, { accountId, keyId }: OfKey): Promise<Record<string, unknown> | undefined> {
  const { body } = await asOperator(muster, `/accounts/${accountId}/api-keys`);
  return (body['apiKeys'] as Record<string, unknown>[]).find((key) => key['keyId'] === keyId);
}
const use = async ({ api }: Muster, token: string): Promise<number> => (await call(`${api}/v1/apps`, { token })).status;
const uses = (muster: Muster, ...tokens: readonly string[]): Promise<number[]> =>
  Promise.all(tokens.map((token) => use(muster, token)));

/** Two replicas of one store, or one where the store is embedded, and a key with an expiry in two hours. */
async function scene(backend: Backend) {
  const [clock, place] = [new FakeClock(), backend.place()];
  const stack = new AsyncDisposableStack();
  let store: Store | undefined;
  const one = stack.use(await backend.fresh({ ...place, clock, wrapStore: (real) => (store = real) }));
  const other = backend.name === 'etcd' ? stack.use(await backend.fresh({ ...place, clock })) : one;
  const { accountId } = await tenant(one);
  const expiresAt = iso(clock.now() + 2 * HOUR_MS);
  const made = await asOperator(one, `/accounts/${accountId}/api-keys`, { method: 'POST', body: { expiresAt } });
  const key = { accountId, keyId: String(made.body['keyId']) };
  const record = async (): Promise<Record<string, unknown>> => {
    const entry = await store?.get(KEYS.apiKey(accountId, key.keyId));
    return JSON.parse(entry?.value ?? '{}') as Record<string, unknown>;
  };
  return { clock, one, other, key, expiresAt, secret: String(made.body['apiKey']), record, stack };
}

onEachBackend('the rotation of an API key', (backend) => {
  test('keeps its id, and the secret before works until the grace ends, on every replica', async () => {
    const { clock, one, other, key, expiresAt, secret, stack } = await scene(backend);
    await using _ = stack;
    const answer = await rotate(one, key, { graceSeconds: 3600 });
    const formerExpiresAt = iso(clock.now() + HOUR_MS);
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        keyId: key.keyId,
        name: '',
        apiKey: expect.stringMatching(`^mst_live_${key.keyId}_`) as string,
        createdAt: expect.any(String) as string,
        expiresAt,
        access: 'full',
        allowedCidrs: [],
        formerExpiresAt,
      },
    ]);
    const next = String(answer.body['apiKey']);
    expect(await listed(other, key)).toMatchObject({ expiresAt, formerExpiresAt });
    clock.advance(HOUR_MS - 1);
    expect([await uses(one, secret, next), await uses(other, secret, next)]).toEqual([
      [200, 200],
      [200, 200],
    ]);
    clock.advance(1);
    expect([await uses(one, secret, next), await uses(other, secret, next)]).toEqual([
      [401, 200],
      [401, 200],
    ]);
    expect(await listed(one, key)).toMatchObject({ formerExpiresAt: null });
    expect(
      await metric(one, 'muster_authentication_failures_total{credential="api_key",reason="expired"}'),
    ).toBeGreaterThan(0);
    const entries = await auditOf(one, key.accountId);
    expect(entries.filter(({ action }) => action === 'key.rotated')).toMatchObject([
      { actor: 'operator', detail: { keyId: key.keyId, graceSeconds: 3600 } },
    ]);
    // Both end with the key, also while a former secret has time left.
    const last = await rotated(one, key, 604_800);
    expect(await listed(one, key)).toMatchObject({ expiresAt, formerExpiresAt: expiresAt });
    clock.advance(HOUR_MS - 1);
    expect(await uses(one, next, last)).toEqual([200, 200]);
    clock.advance(1);
    expect([await uses(one, next, last), await uses(other, next, last)]).toEqual([
      [401, 401],
      [401, 401],
    ]);
    expect(codeOf(await rotate(one, key))).toEqual([409, 'conflict']);
  });

  test('leaves one former secret at most: a second one ends the first, and a grace of 0 ends it with the answer', async () => {
    const { one, other, key, secret, stack } = await scene(backend);
    await using _ = stack;
    const second = await rotated(one, key, 3600);
    const third = await rotated(other, key, 3600);
    expect(await uses(one, secret, second, third)).toEqual([401, 200, 200]);
    const fourth = await rotated(one, key, 0);
    expect(await uses(other, secret, second, third, fourth)).toEqual([401, 401, 401, 200]);
    expect(await listed(one, key)).toMatchObject({ formerExpiresAt: null });
  });

  test('is undone by no replica: a revocation ends both secrets with the answer', async () => {
    const { one, other, key, secret, stack } = await scene(backend);
    await using _ = stack;
    const next = await rotated(one, key, 3600);
    expect([await uses(one, secret, next), await uses(other, secret, next)].flat()).toEqual([200, 200, 200, 200]);
    expect((await asOperator(one, pathOf(key), { method: 'DELETE' })).status).toBe(204);
    expect([await uses(one, secret, next), await uses(other, secret, next)].flat()).toEqual([401, 401, 401, 401]);
    expect(codeOf(await rotate(one, key))).toEqual([404, 'not_found']);
  });

  test('of many at once leaves the last secret and the one before it', async () => {
    const { one, other, key, secret, stack } = await scene(backend);
    await using _ = stack;
    const answers = await Promise.all(
      [one, other, one, other, one, other].map((muster) => rotate(muster, key, { graceSeconds: 3600 })),
    );
    const made = answers.filter(({ status }) => status === 201).map(({ body }) => String(body['apiKey']));
    // A store that is slow may refuse some, and never both lose and keep one.
    expect(made.length).toBeGreaterThan(1);
    const statuses = await uses(one, secret, ...made);
    expect(statuses.filter((status) => status === 200)).toHaveLength(2);
    expect(await uses(other, secret, ...made)).toEqual(statuses);
  });

  test('asked for twice with one Idempotency-Key happens once, and is answered alike', async () => {
    const { one, other, key, secret, stack } = await scene(backend);
    await using _ = stack;
    const headers = { 'idempotency-key': 'a rotation' };
    const [first, again] = [
      await rotate(one, key, { graceSeconds: 60 }, { headers }),
      await rotate(other, key, { graceSeconds: 60 }, { headers }),
    ];
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([201, first.text, 'true']);
    expect(await uses(one, secret, String(first.body['apiKey']))).toEqual([200, 200]);
    expect(codeOf(await rotate(one, key, { graceSeconds: 61 }, { headers }))).toEqual([400, 'invalid_request']);
    expect(codeOf(await rotate(one, key, {}, { headers: { 'idempotency-key': '' } }))).toEqual([
      400,
      'invalid_request',
    ]);
    const { body } = await rotate(one, key, { graceSeconds: 60 });
    expect(await uses(one, secret, String(body['apiKey']))).toEqual([401, 200]);
  });

  test('gives a day without a grace, and refuses one that is too long, and keys that are not there', async () => {
    const { clock, one, stack } = await scene(backend);
    await using _ = stack;
    const [own, foreign] = [await tenant(one), await tenant(one)];
    const { status, body } = await rotate(one, own);
    expect([status, body['formerExpiresAt'], body['expiresAt']]).toEqual([201, iso(clock.now() + 24 * HOUR_MS), null]);
    for (const graceSeconds of [-1, 604_801, 0.5, '60', null]) {
      expect(codeOf(await rotate(one, own, { graceSeconds }))).toEqual([400, 'invalid_request']);
    }
    expect(codeOf(await rotate(one, own, { graceSeconds: 604_800, more: 1 }))).toEqual([400, 'invalid_request']);
    expect((await rotate(one, own, { graceSeconds: 604_800 })).status).toBe(201);
    expect(codeOf(await rotate(one, { ...foreign, keyId: own.keyId }))).toEqual([404, 'not_found']);
    expect(await use(one, foreign.apiKey)).toBe(200);
  });

  test('stores what a program that knows no former secret reads as the new one alone', async () => {
    const { one, key, record, stack } = await scene(backend);
    await using _ = stack;
    const own = await tenant(one);
    const before = await record();
    await rotated(one, key, 60);
    const after = await record();
    expect([after['hash'], Object.keys(after).toSorted()]).toEqual([
      '',
      ['createdAt', 'createdBy', 'expiring', 'former', 'hash', 'name'],
    ]);
    const hashOf = (stored: unknown): unknown => (stored as { hash: string }).hash;
    expect(hashOf(after['former'])).toBe(hashOf(before['expiring']));
    expect(hashOf(after['expiring'])).not.toBe(hashOf(before['expiring']));
    await rotated(one, key, 0);
    expect(await record()).not.toHaveProperty('former');
    expect(await rotated(one, own, 60)).not.toBe(own.apiKey);
  });

  test('that comes before the commit of a request ends that request where it ends its secret', async () => {
    const race = new BeforeCommit(KEYS.account.under());
    await using muster = await backend.fresh({ wrapStore: race.wrapStore });
    for (const [graceSeconds, status] of [
      [0, 401],
      [60, 201],
    ] as const) {
      const own = await tenant(muster);
      let next = '';
      race.next = async () => (next = await rotated(muster, own, graceSeconds));
      const answer = await call(`${muster.api}/v1/apps`, { method: 'POST', token: own.apiKey, body: { name: 'late' } });
      expect([answer.status, race.isDone]).toEqual([status, true]);
      const { body } = await call(`${muster.api}/v1/apps`, { token: next });
      expect(body['apps']).toHaveLength(status === 201 ? 1 : 0);
    }
  });
});

onEachBackend('an expiry of an API key that is brought forward', (backend) => {
  test('ends the key and its former secret then, on every replica; it is never put off', async () => {
    const { clock, one, other, key, expiresAt, secret, stack } = await scene(backend);
    await using _ = stack;
    const next = await rotated(one, key, 604_800);
    const sooner = iso(clock.now() + HOUR_MS);
    const { status, body } = await endAt(one, key, sooner);
    expect([status, body]).toMatchObject([200, { keyId: key.keyId, expiresAt: sooner, formerExpiresAt: sooner }]);
    expect((await endAt(one, key, sooner)).status).toBe(200);
    for (const later of [expiresAt, iso(clock.now() + HOUR_MS + 1)]) {
      expect(codeOf(await endAt(one, key, later))).toEqual([409, 'conflict']);
    }
    for (const wrong of [iso(clock.now()), null, 'soon', undefined]) {
      expect(codeOf(await endAt(one, key, wrong))).toEqual([400, 'invalid_request']);
    }
    clock.advance(HOUR_MS - 1);
    expect(await uses(other, secret, next)).toEqual([200, 200]);
    clock.advance(1);
    expect([await uses(one, secret, next), await uses(other, secret, next)].flat()).toEqual([401, 401, 401, 401]);
    expect(codeOf(await endAt(one, key, iso(clock.now() + 1)))).toEqual([409, 'conflict']);
    const changed = (await auditOf(one, key.accountId)).filter(({ action }) => action === 'key.changed');
    expect(changed).toMatchObject([{ detail: { keyId: key.keyId, expiresAt: sooner } }]);
  });

  test('is taken for a key that has none, and for none of another account', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const [own, foreign] = [await tenant(muster), await tenant(muster)];
    await createApp(muster, own.apiKey);
    const sooner = iso(clock.now() + 1000);
    expect(codeOf(await endAt(muster, { ...foreign, keyId: own.keyId }, sooner))).toEqual([404, 'not_found']);
    expect(await endAt(muster, own, sooner)).toMatchObject({
      status: 200,
      body: { expiresAt: sooner, createdBy: 'operator', lastUsedAt: iso(clock.now()) },
    });
    clock.advance(1000);
    expect(await uses(muster, own.apiKey, foreign.apiKey)).toEqual([401, 200]);
  });
});
