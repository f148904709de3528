import { expect, test } from 'vitest';
import { auditOf } from '../../support/service/daemon.ts';
import { call, tenant, type Answer, type Muster, type Tenant } from '../../support/service/muster.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { onEachBackend, type Backend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';

/* The end of a former secret, sooner than the grace of its rotation. */

const pathOf = ({ accountId, keyId }: Tenant): string => `/accounts/${accountId}/api-keys/${keyId}`;
async function rotated(muster: Muster, own: Tenant): Promise<string> {
  const { body } = await asOperator(muster, `${pathOf(own)}/rotation`, { method: 'POST', body: {} });
  return String(body['apiKey']);
}
const ended = (muster: Muster, own: Tenant): Promise<Answer> =>
  asOperator(muster, `${pathOf(own)}/former-secret`, { method: 'DELETE' });
const uses = (muster: Muster, ...tokens: readonly string[]): Promise<number[]> =>
  Promise.all(tokens.map(async (token) => (await call(`${muster.api}/v1/apps`, { token })).status));

async function scene(backend: Backend) {
  const stack = new AsyncDisposableStack();
  const place = backend.place();
  let store: FaultyStore | undefined;
  const one = stack.use(await backend.fresh({ ...place, wrapStore: (real) => (store = faultyStore(real)) }));
  const other = backend.name === 'etcd' ? stack.use(await backend.fresh(place)) : one;
  const fill = (fullness: number): void => {
    if (store) store.full = fullness;
  };
  return { one, other, own: await tenant(one), fill, stack };
}

onEachBackend('the end of an overlap', (backend) => {
  test('is held to by every replica after the answer, and the present secret works on', async () => {
    const { one, other, own, stack } = await scene(backend);
    await using _ = stack;
    const next = await rotated(one, own);
    expect([await uses(one, own.apiKey, next), await uses(other, own.apiKey, next)].flat()).toEqual([
      200, 200, 200, 200,
    ]);
    expect((await ended(other, own)).status).toBe(204);
    expect([await uses(one, own.apiKey, next), await uses(other, own.apiKey, next)].flat()).toEqual([
      401, 200, 401, 200,
    ]);
    expect((await auditOf(one, own.accountId)).filter(({ action }) => action === 'key.changed')).toMatchObject([
      { actor: 'operator', detail: { keyId: own.keyId, formerSecret: 'ended' } },
    ]);
  });

  test('is 404 where no former secret works, and leaves the key as it is', async () => {
    const { one, own, stack } = await scene(backend);
    await using _ = stack;
    const never = await ended(one, own);
    expect([never.status, never.text]).toEqual([404, expect.stringContaining('no former secret')]);
    expect((await ended(one, { ...own, keyId: 'a'.repeat(12) })).status).toBe(404);
    const next = await rotated(one, own);
    expect([(await ended(one, own)).status, (await ended(one, own)).status]).toEqual([204, 404]);
    expect(await uses(one, own.apiKey, next)).toEqual([401, 200]);
  });

  test('of many at once is answered once, and a rotation beside it leaves one former secret at most', async () => {
    const { one, other, own, stack } = await scene(backend);
    await using _ = stack;
    const second = await rotated(one, own);
    const answers = await Promise.all([one, other, one, other].map((muster) => ended(muster, own)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 404, 404, 404]);
    const [third] = await Promise.all([rotated(one, own), ended(other, own)]);
    const statuses = await uses(one, own.apiKey, second, third);
    expect([statuses[0], statuses[2]]).toEqual([401, 200]);
  });

  test('is taken by a full store', async () => {
    const { one, own, fill, stack } = await scene(backend);
    await using _ = stack;
    const next = await rotated(one, own);
    fill(0.99);
    expect((await ended(one, own)).status).toBe(204);
    expect(await uses(one, own.apiKey, next)).toEqual([401, 200]);
  });
});
