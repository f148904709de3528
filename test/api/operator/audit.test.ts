import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  auditOf,
  changeAccount,
  deleteApp,
  issueCode,
  revoke,
  sendEnroll,
  setOtel,
  type AuditEntry,
} from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type Answer,
  type Muster,
  type Tenant,
} from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

onEachBackend('the audit', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  beforeAll(async () => {
    muster = await backend.fresh({ clock });
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  const operator = (path: string, method = 'GET', body?: object): Promise<Answer> =>
    call(`${muster.ops}/operator/v1/accounts${path}`, {
      method,
      token: OPERATOR_TOKEN,
      ...(body && { body }),
      headers: { 'x-request-id': 'asked-1' },
    });
  const page = (accountId: string, query: string): Promise<Answer> => operator(`/${accountId}/audit?${query}`);

  /** Everything that leaves an entry, in this order, each a second after the one before. */
  async function everything() {
    const steps: (() => Promise<unknown>)[] = [];
    const created = (await operator('', 'POST', { name: 'a', entitlement: 'standard' })).body;
    const accountId = String(created['accountId']);
    const state = { accountId, keyId: '', apiKey: '', appId: '', secrets: [OPERATOR_TOKEN] };
    const remember = (secret: unknown): string => (state.secrets.push(String(secret)), String(secret));
    steps.push(
      async () => {
        const { body } = await operator(`/${accountId}/api-keys`, 'POST', { name: 'k' });
        Object.assign(state, { keyId: String(body['keyId']), apiKey: remember(body['apiKey']) });
      },
      () => operator(`/${accountId}`, 'PATCH', { entitlement: 'enterprise' }),
      async () => {
        const app = await createApp(muster, state.apiKey);
        remember(app.enrollCode);
        state.appId = app.appId;
      },
      async () => remember((await issueCode(muster, state.apiKey, state.appId)).enrollCode),
      async () => remember(await enroll(muster, { appId: state.appId, enrollCode: state.secrets.at(-1) ?? '' })),
      () => poll(muster, state.secrets.at(-1) ?? '', { 'muster-agent-version': '9.9' }),
      () => sendEnroll(muster, { appId: state.appId, enrollCode: state.secrets.at(-2) }),
      () => setOtel(muster, state.apiKey, { authHeader: remember('Bearer collector-secret') }),
      () => call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: state.apiKey }),
      () => revoke(muster, state.apiKey, state.appId),
      () => deleteApp(muster, state.apiKey, state.appId),
      () => operator(`/${accountId}/api-keys/${state.keyId}`, 'DELETE'),
    );
    for (const step of steps) {
      clock.advance(1000);
      const before = (await auditOf(muster, accountId)).length;
      await step();
      // The report of a poll is written in the background.
      await expect.poll(async () => (await auditOf(muster, accountId)).length, { interval: 5 }).toBe(before + 1);
    }
    return state;
  }

  test('tells who did what, when, and to which app: an entry for every change, and never a secret', async () => {
    const begun = clock.now();
    const { accountId, keyId, appId, secrets } = await everything();
    const entries = await auditOf(muster, accountId);
    const [key, device] = [`key:${keyId}`, `device:${appId}`];
    expect(entries.map(({ actor, action, appId }) => [actor, action, appId])).toEqual([
      ['operator', 'account.created', undefined],
      ['operator', 'key.created', undefined],
      ['operator', 'account.changed', undefined],
      [key, 'app.created', appId],
      [key, 'code.issued', appId],
      [device, 'app.enrolled', appId],
      [device, 'app.reported', appId],
      [device, 'enrollment.refused', appId],
      [key, 'otel.stored', undefined],
      [key, 'otel.purged', undefined],
      [key, 'app.revoked', appId],
      [key, 'app.deleted', appId],
      ['operator', 'key.revoked', undefined],
    ]);
    expect(entries.map(({ at }) => Date.parse(at))).toEqual(entries.map((_entry, i) => begun + i * 1000));
    const byOperator = entries.filter(({ actor }) => actor === 'operator');
    expect(byOperator.map(({ requestId }) => requestId)).toEqual(byOperator.map(() => 'asked-1'));
    for (const { requestId } of entries) expect(requestId).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
    const text = JSON.stringify(entries);
    for (const secret of secrets) expect(text).not.toContain(secret);
  });

  test('a request that changed nothing, or was refused, leaves no entry', async () => {
    const { accountId, apiKey } = await tenant(muster);
    const app = await createApp(muster, apiKey);
    await revoke(muster, apiKey, app.appId);
    const before = await auditOf(muster, accountId);
    await revoke(muster, apiKey, app.appId);
    await changeAccount(muster, accountId, {});
    await changeAccount(muster, accountId, { name: 'tenant' });
    await changeAccount(muster, accountId, { disabled: 'yes' });
    await call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: apiKey });
    await setOtel(muster, apiKey, { endpoint: 'ftp://no' });
    await deleteApp(muster, apiKey, 'a'.repeat(20));
    expect(await auditOf(muster, accountId)).toEqual(before);
  });

  describe('in pages', () => {
    let owner: Tenant;
    let whole: readonly AuditEntry[];
    beforeAll(async () => {
      owner = await tenant(muster);
      for (let i = 0; i < 5; i += 1) {
        clock.advance(1);
        await createApp(muster, owner.apiKey);
      }
      whole = await auditOf(muster, owner.accountId);
      // A neighbour's entries lie beside them.
      await tenant(muster);
    });

    test.each([1, 2, 3, 7, 1000])('pages of %i: to the end, each entry once, oldest first', async (limit) => {
      const paged: AuditEntry[] = [];
      let after = '';
      for (;;) {
        const { body } = await page(owner.accountId, `limit=${limit}${after === '' ? '' : `&after=${after}`}`);
        const entries = body['entries'] as AuditEntry[];
        expect(entries.length).toBeLessThanOrEqual(limit);
        paged.push(...entries);
        if (body['next'] === undefined) break;
        expect(entries).toHaveLength(limit);
        after = body['next'] as string;
      }
      expect(whole).toHaveLength(7);
      expect(paged).toEqual(whole);
    });

    test('an entry that is written in between is on a later page', async () => {
      const { body } = await page(owner.accountId, 'limit=6');
      clock.advance(1);
      await createApp(muster, owner.apiKey);
      const rest = (await page(owner.accountId, `after=${body['next'] as string}`)).body['entries'] as AuditEntry[];
      expect(rest.map(({ action }) => action)).toEqual(['app.created', 'app.created']);
    });

    test.each(['limit=0', 'limit=1001', 'limit=x', 'after=', 'after=a/b', `after=${'a'.repeat(201)}`])(
      '?%s is refused',
      async (query) => {
        expect(await page(owner.accountId, query)).toMatchObject({
          status: 400,
          body: { error: { code: 'invalid_request' } },
        });
      },
    );

    test('after the end there is nothing, and no other account’s', async () => {
      expect((await page(owner.accountId, 'after=zzzzzzzzz-f')).body).toEqual({ entries: [], order: 'asc' });
    });
  });
});
