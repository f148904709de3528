import { rmSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { changeAccount, metric } from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  OPERATOR_TOKEN,
  tenant,
  type Answer,
  type Muster,
  type Tenant,
} from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { untilPassing } from '../../support/time/until-passing.ts';

const HOUR_MS = 3_600_000;

const keysUrl = ({ ops }: Muster, accountId: string): string => `${ops}/operator/v1/accounts/${accountId}/api-keys`;
const create = (muster: Muster, accountId: string, body: object): Promise<Answer> =>
  call(keysUrl(muster, accountId), { method: 'POST', token: OPERATOR_TOKEN, body });
async function listed(muster: Muster, accountId: string) {
  const { body } = await call(keysUrl(muster, accountId), { token: OPERATOR_TOKEN });
  return body['apiKeys'] as { keyId: string; expiresAt: string | null; lastUsedAt: string | null }[];
}
const use = async ({ api }: Muster, token: unknown): Promise<number> =>
  (await call(`${api}/v1/apps`, { token: String(token) })).status;
const iso = (at: number): string => new Date(at).toISOString();

onEachBackend('an API key that expires (A15)', (backend) => {
  test('is valid until that instant, and then an unknown one, also of an account that is disabled', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const { accountId, apiKey } = await tenant(muster);
    const expiresAt = iso(clock.now() + HOUR_MS);
    const { status, body } = await create(muster, accountId, { name: 'for an hour', expiresAt });
    expect([status, body['expiresAt']]).toEqual([201, expiresAt]);
    clock.advance(HOUR_MS - 1);
    expect(await use(muster, body['apiKey'])).toBe(200);
    clock.advance(1);
    const unknown = await call(`${muster.api}/v1/apps`);
    const expired = await call(`${muster.api}/v1/apps`, { token: String(body['apiKey']) });
    expect([expired.status, expired.text]).toEqual([401, unknown.text]);
    expect(await metric(muster, 'muster_authentication_failures_total{credential="api_key",reason="expired"}')).toBe(1);
    expect(await use(muster, apiKey)).toBe(200);
    expect(new Set((await listed(muster, accountId)).map((key) => key.expiresAt))).toEqual(new Set([null, expiresAt]));
    await changeAccount(muster, accountId, { disabled: true });
    expect((await call(`${muster.api}/v1/apps`, { token: String(body['apiKey']) })).text).toBe(unknown.text);
    expect((await call(`${muster.api}/v1/apps`, { token: apiKey })).body).toMatchObject({
      error: { code: 'account_disabled' },
    });
  });

  test('is refused where its expiry is past, or no instant', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const { accountId } = await tenant(muster);
    for (const expiresAt of [iso(clock.now()), '2027-01-31', 'soon', 5, '2027-02-29T00:00:00Z']) {
      expect(await create(muster, accountId, { expiresAt })).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_request', message: expect.stringMatching(/^expiresAt/) as string } },
      });
    }
    expect((await create(muster, accountId, { expiresAt: iso(clock.now() + 1) })).status).toBe(201);
    const abroad = await create(muster, accountId, { expiresAt: '2027-01-31T00:00:00+01:00' });
    expect(abroad.body).toMatchObject({ expiresAt: '2027-01-30T23:00:00.000Z' });
    expect((await create(muster, accountId, { expiresAt: null })).body['expiresAt']).toBeNull();
  });

  test('is found by no program that knows no expiry: what that compares with is empty', async () => {
    const clock = new FakeClock();
    let store: Store | undefined;
    await using muster = await backend.fresh({ clock, wrapStore: (real) => (store = real) });
    const { accountId } = await tenant(muster);
    const expiresAt = iso(clock.now() + HOUR_MS);
    const { body } = await create(muster, accountId, { expiresAt });
    const entry = await store?.get(KEYS.apiKey(accountId, String(body['keyId'])));
    expect(JSON.parse(entry?.value ?? '{}')).toMatchObject({
      hash: '',
      expiring: { expiresAt: Date.parse(expiresAt) },
    });
  });
});

onEachBackend('the last use of an API key (A15)', (backend) => {
  test('is known at once on the replica, within a minute on others, after a restart, and never goes back', async () => {
    const [clock, place] = [new FakeClock(), backend.place()];
    await using one = await backend.fresh({ ...place, clock });
    const other = backend.name === 'etcd' ? await backend.fresh({ ...place, clock }) : one;
    await using _ = other === one ? undefined : other;
    const { accountId, apiKey, keyId } = await tenant(one);
    expect(await listed(one, accountId)).toMatchObject([{ keyId, lastUsedAt: null }]);
    expect(await use(one, `${apiKey}x`)).toBe(401);
    expect(await listed(one, accountId)).toMatchObject([{ lastUsedAt: null }]);
    const used = iso(clock.now());
    await createApp(one, apiKey);
    expect(await listed(one, accountId)).toMatchObject([{ lastUsedAt: used }]);
    await untilPassing(clock, async () => (await listed(other, accountId))[0]?.lastUsedAt === used);
    clock.advance(1000);
    const again = iso(clock.now());
    expect(await use(other, apiKey)).toBe(200);
    clock.jump(-HOUR_MS);
    expect(await use(other, apiKey)).toBe(200);
    expect(await listed(other, accountId)).toMatchObject([{ lastUsedAt: again }]);
  });

  test('is written at a clean stop', async () => {
    const dataDir = scratchDirectory('muster-uses');
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    const options = { ...backend.place(), clock: new FakeClock(), dataDir };
    const used = iso(options.clock.now());
    let owner: Tenant;
    {
      await using first = await backend.fresh(options);
      owner = await tenant(first);
      expect(await use(first, owner.apiKey)).toBe(200);
    }
    await using second = await backend.fresh(options);
    expect(await listed(second, owner.accountId)).toMatchObject([{ lastUsedAt: used }]);
  });

  test('goes with its key', async () => {
    const clock = new FakeClock();
    const place = backend.place();
    let store: Store | undefined;
    await using first = await backend.fresh({ ...place, clock, wrapStore: (real) => (store = real) });
    const { accountId, apiKey, keyId } = await tenant(first);
    const second = await create(first, accountId, { name: 'second' });
    expect([await use(first, apiKey), await use(first, second.body['apiKey'])]).toEqual([200, 200]);
    const kept = async (): Promise<string[]> => {
      const entry = await store?.get(KEYS.keyUses(accountId));
      return (JSON.parse(entry?.value ?? '{"keys":[]}') as { keys: [string, number][] }).keys.map(([id]) => id);
    };
    await untilPassing(clock, async () => (await kept()).length === 2);
    await call(`${keysUrl(first, accountId)}/${keyId}`, { method: 'DELETE', token: OPERATOR_TOKEN });
    expect(await listed(first, accountId)).toMatchObject([{ keyId: second.body['keyId'] }]);
    // It goes with the next write after memory has lost it.
    await untilPassing(clock, async () => {
      await use(first, second.body['apiKey']);
      return (await kept()).length === 1;
    });
    expect(await kept()).toEqual([second.body['keyId']]);
  });
});
