import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Change } from '../../../src/store/port.ts';
import { auditOf, changeAccount, deleteApp, readApp, revoke, setOtel } from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  tenant,
  type Answer,
  type Muster,
  type Tenant,
} from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyForRequests, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const INVALID_REQUEST = { status: 400, body: { error: { code: 'invalid_request' } } };

onEachBackend('the acknowledgement', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let store: FaultyStore;
  let owner: Tenant;
  beforeAll(async () => {
    muster = await backend.fresh({ clock, wrapStore: (real) => (store = faultyForRequests(real)) });
    owner = await tenant(muster);
    await setOtel(muster, owner.apiKey);
    await setOtel(muster, owner.apiKey, { evidenceLevel: 'full' });
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  async function daemon(apiKey = owner.apiKey) {
    const app = await createApp(muster, apiKey);
    return { ...app, credential: await enroll(muster, app) };
  }
  const ack = (token: string, body: object | string): Promise<Answer> =>
    call(`${muster.device}/device/v1/config/ack`, { method: 'POST', token, body });

  /** The records that were written under `ack/` since, oldest first. */
  const written = (from: number): unknown[] => {
    const writes = store.changes.slice(from).flatMap((change: Change) => change.write);
    return writes.flatMap((write) =>
      'put' in write && write.put.startsWith('ack/') ? [JSON.parse(write.value) as unknown] : [],
    );
  };

  test.each<[{ revision: number; status: string; error?: string; unknown?: unknown }, string]>([
    [{ revision: 2, status: 'applied' }, 'the newest'],
    [{ revision: 1, status: 'applied' }, 'an older one'],
    [{ revision: 0, status: 'applied' }, 'the never-stored one'],
    [{ revision: 2, status: 'failed' }, 'failed, without a word'],
    [{ revision: 2, status: 'failed', error: 'connection refused' }, 'failed, and why'],
    [{ revision: 2, status: 'applied', unknown: [] }, 'unknown fields are ignored'],
  ])('%j → 204, and is kept (%s)', async (body) => {
    const { credential } = await daemon();
    const from = store.changes.length;
    const answer = await ack(credential, body);
    expect(answer).toMatchObject({ status: 204, text: '' });
    expect(answer.headers.get('content-type')).toBeNull();
    const { revision, status, error } = body;
    expect(written(from)).toEqual([{ revision, status, ...(error !== undefined && { error }), at: clock.now() }]);
  });

  test('the same again, or an older revision, changes nothing; a newer one, or another outcome, does', async () => {
    const { credential } = await daemon();
    const from = store.changes.length;
    const steps = [
      { revision: 1, status: 'failed', error: 'no route' },
      { revision: 1, status: 'failed', error: 'no route' },
      { revision: 1, status: 'applied' },
      { revision: 2, status: 'applied' },
      { revision: 1, status: 'failed' },
    ];
    for (const step of steps) expect((await ack(credential, step)).status).toBe(204);
    expect(written(from)).toMatchObject([steps[0], steps[2], steps[3]]);
  });

  test('a long error is cut, not refused', async () => {
    const { credential } = await daemon();
    const from = store.changes.length;
    await ack(credential, { revision: 2, status: 'failed', error: 'é'.repeat(513) });
    await ack(credential, { revision: 2, status: 'failed', error: `${'x'.repeat(511)}😀` });
    expect(written(from)).toMatchObject([{ error: 'é'.repeat(512) }, { error: `${'x'.repeat(511)}\uFFFD` }]);
  });

  test('it is no change of the owner’s: no audit entry, no other lastSeenAt, no new head', async () => {
    const { appId, credential } = await daemon();
    const [audit, app] = [await auditOf(muster, owner.accountId), await readApp(muster, owner.apiKey, appId)];
    const from = store.changes.length;
    await ack(credential, { revision: 2, status: 'applied' });
    expect(await auditOf(muster, owner.accountId)).toEqual(audit);
    expect(await readApp(muster, owner.apiKey, appId)).toEqual(app);
    expect(store.changes.slice(from).every(({ quiet }) => quiet === true)).toBe(true);
  });

  test.each<[object | string, string]>([
    [{ status: 'applied' }, 'no revision'],
    [{ revision: -1, status: 'applied' }, 'a negative one'],
    [{ revision: 1.5, status: 'applied' }, 'half a one'],
    [{ revision: '2', status: 'applied' }, 'a text'],
    [{ revision: 3, status: 'applied' }, 'one that was never told'],
    [{ revision: 1e300, status: 'applied' }, 'one beyond all'],
    [{ revision: 2 }, 'no status'],
    [{ revision: 2, status: 'Applied' }, 'another case'],
    [{ revision: 2, status: 'failed', error: 7 }, 'an error that is no text'],
    [{ revision: 2, status: 'failed', error: null }, 'null is not omitted'],
    [{ revision: 2, status: 'failed', error: '\ud800' }, 'a lone surrogate'],
    ['', 'nothing'],
    ['{', 'no JSON'],
    ['[]', 'no object'],
  ])('%j → 400, and nothing is kept (%s)', async (body) => {
    const { credential } = await daemon();
    const from = store.changes.length;
    expect(await ack(credential, body)).toMatchObject(INVALID_REQUEST);
    expect(written(from)).toEqual([]);
    expect((await ack(credential, { revision: 2, status: 'applied' })).status).toBe(204);
  });

  test('an account without a configuration has revision 0 alone', async () => {
    const { credential } = await daemon((await tenant(muster)).apiKey);
    expect((await ack(credential, { revision: 0, status: 'applied' })).status).toBe(204);
    expect(await ack(credential, { revision: 1, status: 'applied' })).toMatchObject(INVALID_REQUEST);
  });

  test('a body above 64 KiB is 413', async () => {
    const { credential } = await daemon();
    const body = { revision: 2, status: 'failed', error: '' };
    const room = 65_536 - JSON.stringify(body).length;
    expect((await ack(credential, { ...body, error: 'x'.repeat(room) })).status).toBe(204);
    const tooLarge = await ack(credential, { ...body, error: 'x'.repeat(room + 1) });
    expect(tooLarge).toMatchObject({ status: 413, body: { error: { code: 'payload_too_large' } } });
  });

  describe('the daemons that may acknowledge', () => {
    test('not a credential that nobody has, whatever the body', async () => {
      expect(await ack(`mst_dev_${'a'.repeat(43)}`, '{')).toMatchObject({
        status: 401,
        body: { error: { code: 'invalid_credential' } },
      });
    });

    test.each<[string, (appId: string) => Promise<unknown>]>([
      ['revoked', (appId) => revoke(muster, owner.apiKey, appId)],
      ['deleted', (appId) => deleteApp(muster, owner.apiKey, appId)],
    ])('not when %s', async (_how, end) => {
      const { appId, credential } = await daemon();
      await end(appId);
      const refused = await ack(credential, { revision: 2, status: 'applied' });
      expect(refused).toMatchObject({ status: 401, body: { error: { code: 'invalid_credential' } } });
    });

    test('not of a disabled account', async () => {
      const other = await tenant(muster);
      const { credential } = await daemon(other.apiKey);
      await changeAccount(muster, other.accountId, { disabled: true });
      const refused = await ack(credential, { revision: 0, status: 'applied' });
      expect(refused).toMatchObject({ status: 401, body: { error: { code: 'account_disabled' } } });
    });

    test.each<[string, string, (from: Tenant & { readonly appId: string }) => Promise<unknown>]>([
      [
        'the app is gone: a record must not outlive its app',
        'invalid_credential',
        ({ apiKey, appId }) => deleteApp(muster, apiKey, appId),
      ],
      [
        'the app is revoked: what was answered as revoked writes no more',
        'invalid_credential',
        ({ apiKey, appId }) => revoke(muster, apiKey, appId),
      ],
      [
        'the account is disabled',
        'account_disabled',
        ({ accountId }) => changeAccount(muster, accountId, { disabled: true }),
      ],
    ])('not once, while the body is judged or just before the commit, %s', async (_how, code, end) => {
      for (const [operation, when] of [
        ['get', 'after'],
        ['commit', 'before'],
      ] as const) {
        const account = await tenant(muster);
        const { appId, credential } = await daemon(account.apiKey);
        store.intercept(operation, when, () => end({ ...account, appId }));
        const from = store.changes.length;
        const refused = await ack(credential, { revision: 0, status: 'applied' });
        expect(refused).toMatchObject({ status: 401, body: { error: { code } } });
        expect(await store.get(KEYS.ack(account.accountId, appId))).toBeUndefined();
        if (operation === 'get') expect(written(from)).toEqual([]);
      }
    });
  });

  test('a store that is down is 502 with Retry-After, and a conflict is tried again', async () => {
    const { credential } = await daemon();
    const body = { revision: 2, status: 'applied' };
    store.down.add('commit');
    const down = await ack(credential, body);
    store.down.delete('commit');
    expect(down).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
    expect(Number(down.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    store.fates.push('conflict', 'conflict');
    expect((await ack(credential, body)).status).toBe(204);
  });
});
