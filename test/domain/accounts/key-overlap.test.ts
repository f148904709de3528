import { expect, test } from 'vitest';
import { auditOf } from '../../support/service/daemon.ts';
import { call, tenant, type Answer, type Muster, type Tenant } from '../../support/service/muster.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { onEachBackend, type Backend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';

/* The end of a former secret, sooner than the grace of its rotation. */

const pathOf = ({ accountId, keyId }: Tenant): string => `/accounts/${accountId}/api-keys/${keyId}`;
async function rotated(muster: Muster, own: Tenant) {
  const { body } = await asOperator(muster, `${pathOf(own)}/rotation`, { method: 'POST', body: {} });
  return { apiKey: String(body['apiKey']), until: String(body['formerExpiresAt']) };
}
const ended = (muster: Muster, own: Tenant, until: string): Promise<Answer> =>
  asOperator(muster, `${pathOf(own)}/former-secret?formerExpiresAt=${until}`, { method: 'DELETE' });
const uses = (muster: Muster, ...tokens: readonly string[]): Promise<number[]> =>
  Promise.all(tokens.map(async (token) => (await call(`${muster.api}/v1/apps`, { token })).status));

async function scene(backend: Backend) {
  const stack = new AsyncDisposableStack();
  const place = { ...backend.place(), clock: new FakeClock() };
  let store: FaultyStore | undefined;
  const one = stack.use(await backend.fresh({ ...place, wrapStore: (real) => (store = faultyStore(real)) }));
  const other = backend.name === 'etcd' ? stack.use(await backend.fresh(place)) : one;
  const fill = (fullness: number): void => {
    if (store) store.full = fullness;
  };
  return { one, other, own: await tenant(one), fill, stack, clock: place.clock };
}

onEachBackend('the end of an overlap', (backend) => {
  test('is held to by every replica after the answer, and the present secret works on', async () => {
    const { one, other, own, stack } = await scene(backend);
    await using _ = stack;
    const { apiKey, until } = await rotated(one, own);
    const both = async () => [await uses(one, own.apiKey, apiKey), await uses(other, own.apiKey, apiKey)].flat();
    expect(await both()).toEqual([200, 200, 200, 200]);
    expect((await ended(other, own, until)).status).toBe(204);
    expect(await both()).toEqual([401, 200, 401, 200]);
    expect((await auditOf(one, own.accountId)).filter(({ action }) => action === 'key.changed')).toMatchObject([
      { actor: 'operator', detail: { keyId: own.keyId, formerSecret: 'ended' } },
    ]);
  });

  test('is 404 where no former secret works, and leaves the key as it is', async () => {
    const { one, own, stack, clock } = await scene(backend);
    await using _ = stack;
    const tomorrow = new Date(clock.now() + 86_400_000).toISOString();
    const never = await ended(one, own, tomorrow);
    expect([never.status, never.text]).toEqual([404, expect.stringContaining('no former secret')]);
    expect((await ended(one, { ...own, keyId: 'a'.repeat(12) }, tomorrow)).status).toBe(404);
    expect((await ended(one, own, 'soon')).status).toBe(400);
    const { apiKey, until } = await rotated(one, own);
    clock.advance(86_400_000);
    expect((await ended(one, own, until)).status).toBe(404);
    expect(await uses(one, own.apiKey, apiKey)).toEqual([401, 200]);
  });

  test('ends the secret that is meant, and not that of a rotation since', async () => {
    const { one, other, own, stack, clock } = await scene(backend);
    await using _ = stack;
    const second = await rotated(one, own);
    const ends = [one, other, one, other].map((muster) => ended(muster, own, second.until));
    const statuses = (await Promise.all(ends)).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([204, 404, 404, 404]);
    clock.advance(1);
    const third = await rotated(one, own);
    expect((await ended(other, own, second.until)).status).toBe(404);
    expect(await uses(one, own.apiKey, second.apiKey, third.apiKey)).toEqual([401, 200, 200]);
  });

  test('is taken by a full store', async () => {
    const { one, own, fill, stack } = await scene(backend);
    await using _ = stack;
    const { apiKey, until } = await rotated(one, own);
    fill(0.99);
    expect((await ended(one, own, until)).status).toBe(204);
    expect(await uses(one, own.apiKey, apiKey)).toEqual([401, 200]);
  });
});
