import { expect, test } from 'vitest';
import { DEADLINES } from '../../src/domain/limits.ts';
import { KEYS } from '../../src/domain/records.ts';
import type { Store } from '../../src/store/port.ts';
import { auditsOf, entriesOf, halfWritten } from '../support/accounts.ts';
import { onEachBackend, type Backend } from '../support/backends.ts';
import {
  call,
  createApp,
  enroll,
  OPERATOR_TOKEN,
  tenant,
  type Answer,
  type Muster,
  type MusterOptions,
  type Tenant,
} from '../support/muster.ts';
import { unluckyStore, type CommitFate, type UnluckyStore } from '../support/unlucky-store.ts';
import { until } from '../support/until.ts';

interface Unlucky extends Tenant {
  readonly muster: Muster;
  readonly unlucky: UnluckyStore;
}

/** A Muster whose store brings trouble, with an account. */
async function withTrouble(backend: Backend, options: MusterOptions = {}): Promise<Unlucky & AsyncDisposable> {
  let unlucky: UnluckyStore | undefined;
  const wrapStore = (store: Store): Store => (unlucky = unluckyStore(store));
  const muster = await backend.fresh({ ...options, wrapStore });
  if (!unlucky) throw new Error('the store was not wrapped');
  const account = await tenant(muster);
  return { ...account, muster, unlucky, [Symbol.asyncDispose]: () => muster[Symbol.asyncDispose]() };
}

const create = ({ muster, apiKey }: Unlucky): Promise<Answer> =>
  call(`${muster.api}/v1/apps`, { method: 'POST', token: apiKey, body: { name: 'app' } });
const revoke = ({ muster, apiKey }: Unlucky, appId: string): Promise<Answer> =>
  call(`${muster.api}/v1/apps/${appId}/revoke`, { method: 'POST', token: apiKey });
const purge = ({ muster, apiKey }: Unlucky): Promise<Answer> =>
  call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: apiKey });
const configure = ({ muster, apiKey }: Unlucky, endpoint: string): Promise<Answer> =>
  call(`${muster.api}/v1/otel-config`, { method: 'PUT', token: apiKey, body: { enabled: true, endpoint } });

async function actions({ unlucky, accountId }: Unlucky): Promise<string[]> {
  return (await auditsOf(unlucky, accountId)).map((entry) => entry.action).filter((action) => action !== 'key.created');
}

const unavailable = { status: 502, body: { error: { code: 'upstream_unavailable' } } };

onEachBackend('a mutation', (backend) => {
  test.each<[CommitFate[], string]>([
    [['answer lost after commit'], 'the answer is lost: the marker tells that it happened'],
    [['lost before commit'], 'the commit is lost: it is sent once more'],
    [['lost before commit', 'conflict'], 'the second one meets somebody else, so it is planned anew'],
  ])('%j happens once (%s)', async (fates) => {
    await using it = await withTrouble(backend);
    const app = await createApp(it.muster, it.apiKey);
    for (const mutation of [() => create(it), () => revoke(it, app.appId), () => configure(it, 'https://a.example')]) {
      it.unlucky.fates.push(...fates);
      expect((await mutation()).status).toBeLessThan(300);
      expect(it.unlucky.fates).toEqual([]);
    }
    expect(await actions(it)).toEqual(['account.created', 'app.created', 'app.created', 'app.revoked', 'otel.stored']);
    expect(await halfWritten(it.unlucky, it.accountId)).toEqual([]);
  });

  test('a commit whose answer was lost is not sent again where its marker is found', async () => {
    await using it = await withTrouble(backend);
    const sent = it.unlucky.calls.commit;
    it.unlucky.fates.push('answer lost after commit');
    expect((await create(it)).status).toBe(201);
    expect(it.unlucky.calls.commit).toBe(sent + 1);
  });

  test('a lost commit that lands after all, before its repetition, is the one that counts', async () => {
    await using it = await withTrouble(backend);
    it.unlucky.fates.push('lost before commit');
    it.unlucky.intercept('commit', 'before', () => Promise.resolve());
    it.unlucky.intercept('commit', 'before', async () => {
      const late = it.unlucky.changes.at(-1);
      if (late) await it.unlucky.commit(late);
    });
    expect((await create(it)).status).toBe(201);
    expect(await actions(it)).toEqual(['account.created', 'app.created']);
    expect(await halfWritten(it.unlucky, it.accountId)).toEqual([]);
  });

  test('what is unknown twice is 502, with all of it or nothing', async () => {
    await using it = await withTrouble(backend);
    it.unlucky.fates.push('lost before commit', 'lost before commit');
    const refused = await create(it);
    expect(refused).toMatchObject(unavailable);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await actions(it)).toEqual(['account.created']);

    it.unlucky.fates.push('answer lost after commit');
    it.unlucky.down.add('get');
    expect(await create(it)).toMatchObject(unavailable);
    it.unlucky.down.delete('get');
    expect(await actions(it)).toEqual(['account.created', 'app.created']);
    expect(await halfWritten(it.unlucky, it.accountId)).toEqual([]);
  });

  test('an enrollment whose answer is lost within the service burns nothing', async () => {
    await using it = await withTrouble(backend);
    const app = await createApp(it.muster, it.apiKey);
    it.unlucky.fates.push('answer lost after commit');
    const credential = await enroll(it.muster, app);
    expect((await call(`${it.muster.device}/device/v1/config`, { token: credential })).status).toBe(200);
    expect((await actions(it)).filter((action) => action === 'app.enrolled')).toHaveLength(1);
  });

  test.each([
    ['create', (it: Unlucky) => create(it)],
    ['revoke', (it: Unlucky, appId: string) => revoke(it, appId)],
    ['configure', (it: Unlucky) => configure(it, 'https://b.example')],
    ['purge', (it: Unlucky) => purge(it)],
  ])('a key that is revoked between authentication and commit does not %s', async (_, mutation) => {
    await using it = await withTrouble(backend);
    const app = await createApp(it.muster, it.apiKey);
    await configure(it, 'https://a.example');
    const before = await entriesOf(it.unlucky, KEYS.accounts);
    it.unlucky.intercept('commit', 'before', async () => {
      const path = `/operator/v1/accounts/${it.accountId}/api-keys/${it.keyId}`;
      const gone = await call(it.muster.ops + path, { method: 'DELETE', token: OPERATOR_TOKEN });
      expect(gone.status).toBe(204);
    });
    const refused = await mutation(it, app.appId);
    expect(refused).toMatchObject({ status: 401, body: { error: { code: 'invalid_key' } } });
    const after = await entriesOf(it.unlucky, KEYS.accounts);
    const key = KEYS.apiKey(it.accountId, it.keyId);
    expect(after).toEqual(before.filter((entry) => entry.key !== key));
  });

  test('an account that is disabled between authentication and commit changes nothing', async () => {
    await using it = await withTrouble(backend);
    it.unlucky.intercept('commit', 'before', () =>
      call(`${it.muster.ops}/operator/v1/accounts/${it.accountId}`, {
        method: 'PATCH',
        token: OPERATOR_TOKEN,
        body: { disabled: true },
      }),
    );
    expect(await create(it)).toMatchObject({ status: 401, body: { error: { code: 'account_disabled' } } });
    expect(await entriesOf(it.unlucky, KEYS.apps(it.accountId))).toEqual([]);
  });

  test('conflicts end with success, and a storm of them with a clean refusal', async () => {
    await using it = await withTrouble(backend);
    const app = await createApp(it.muster, it.apiKey);
    const conflicts = (count: number): void => void it.unlucky.fates.push(...Array<CommitFate>(count).fill('conflict'));
    conflicts(5);
    expect((await create(it)).status).toBe(201);
    conflicts(5);
    expect((await revoke(it, app.appId)).status).toBe(200);
    conflicts(100);
    expect(await create(it)).toMatchObject(unavailable);
    expect(it.unlucky.fates.length).toBeGreaterThan(0);
    it.unlucky.fates.length = 0;
    expect(await actions(it)).toEqual(['account.created', 'app.created', 'app.created', 'app.revoked']);
    expect(await halfWritten(it.unlucky, it.accountId)).toEqual([]);
  });

  test.each([
    ['create', (it: Unlucky) => create(it)],
    ['configure', (it: Unlucky) => configure(it, 'https://b.example')],
  ])('a commit that hangs is answered by the deadline: %s', async (_, mutation) => {
    await using it = await withTrouble(backend, { deadlines: DEADLINES });
    const release = it.unlucky.stall('commit');
    expect(await mutation(it)).toMatchObject(unavailable);
    release();
    await until(async () => (await actions(it)).length === 2);
    expect(await halfWritten(it.unlucky, it.accountId)).toEqual([]);
  });

  test('requests that were answered by the deadline while they queued are not carried out behind it', async () => {
    await using it = await withTrouble(backend, { deadlines: DEADLINES });
    const release = it.unlucky.stall('commit');
    const first = create(it);
    await until(
      () => it.unlucky.calls.commit === it.unlucky.changes.length && it.unlucky.changes.at(-1)?.expect.length === 5,
    );
    const queued = [create(it), create(it)];
    for (const answer of await Promise.all([first, ...queued])) expect(answer).toMatchObject(unavailable);
    release();
    await until(async () => (await create(it)).status === 201);
    expect((await actions(it)).filter((action) => action === 'app.created')).toHaveLength(2);
  });

  test('a commit whose answer was lost is not sent again once the request has been answered', async () => {
    await using it = await withTrouble(backend, { deadlines: DEADLINES });
    it.unlucky.fates.push('lost before commit');
    const release = it.unlucky.stall('get');
    expect(await create(it)).toMatchObject(unavailable);
    release();
    // It waits for its turn behind the first.
    expect((await create(it)).status).toBe(201);
    expect(await entriesOf(it.unlucky, KEYS.apps(it.accountId))).toHaveLength(1);
  });

  test('a nearly full store refuses what grows it, and takes what frees and revokes', async () => {
    await using it = await withTrouble(backend);
    const [kept, gone] = [await createApp(it.muster, it.apiKey), await createApp(it.muster, it.apiKey)];
    await enroll(it.muster, kept);
    await configure(it, 'https://a.example');
    it.unlucky.full = 0.8;
    expect(await create(it)).toMatchObject(unavailable);
    const code = await call(`${it.muster.api}/v1/apps/${kept.appId}/enroll-code`, { method: 'POST', token: it.apiKey });
    expect(code).toMatchObject(unavailable);
    expect((await revoke(it, kept.appId)).status).toBe(200);
    const deleted = await call(`${it.muster.api}/v1/apps/${gone.appId}`, { method: 'DELETE', token: it.apiKey });
    expect(deleted.status).toBe(204);
    expect((await purge(it)).status).toBe(200);
    it.unlucky.full = 0.79;
    expect((await create(it)).status).toBe(201);
    expect(await halfWritten(it.unlucky, it.accountId)).toEqual([]);
  });

  test('64 creates at once on one account are a few commits', async () => {
    await using it = await withTrouble(backend);
    const before = it.unlucky.calls.commit;
    const release = it.unlucky.stall('commit');
    const answers = Array.from({ length: 64 }, () => create(it));
    // All are past the rate window: what is left of them is the body, which has come.
    await until(async () => {
      const metrics = (await call(`${it.muster.ops}/metrics`)).text;
      return metrics.includes('muster_rate_decisions_total{decision="admitted"} 64');
    });
    release();
    expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([201]));
    expect(it.unlucky.calls.commit - before).toBeLessThanOrEqual(8);
    expect(await entriesOf(it.unlucky, KEYS.apps(it.accountId))).toHaveLength(64);
    expect(await halfWritten(it.unlucky, it.accountId)).toEqual([]);
  });
});
