import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { tamper } from '../../support/records/audit.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { call, createApp, OPERATOR_TOKEN, tenant, type Answer } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

onEachBackend('GET /operator/v1/accounts/{accountId}/audit/verification', (backend) => {
  test('tells what was done to the audit, of this account alone', async () => {
    const clock = new FakeClock();
    const begunAt = new Date(clock.now()).toISOString();
    let opened: Store | undefined;
    await using muster = await backend.fresh({ clock, wrapStore: (inner) => (opened = inner) });
    const [owner, neighbour] = [await tenant(muster), await tenant(muster)];
    clock.advance(1000);
    await createApp(muster, owner.apiKey);
    const store = opened ?? expect.unreachable('it has a store');
    const verify = (accountId: string, token = OPERATOR_TOKEN): Promise<Answer> =>
      call(`${muster.ops}/operator/v1/accounts/${accountId}/audit/verification`, { token });
    for (const { accountId } of [owner, neighbour]) {
      await until(async () => {
        clock.advance(1000);
        return (await verify(accountId)).body['unsealed'] === 0;
      });
    }

    const whole = await verify(owner.accountId);
    expect(whole.status).toBe(200);
    const { head, blocks, ownBytes, notedBytes, ...rest } = whole.body;
    expect(ownBytes).toBeGreaterThan(0);
    expect(notedBytes).toBe(ownBytes);
    const { accountId } = owner;
    expect(rest).toEqual({ accountId, entries: 3, firstBlock: 1, unsealed: 0, faults: [], faultCount: 0 });
    expect(head).toMatchObject({ number: blocks, digest: expect.stringMatching(/^[\w-]{43}$/) as string });

    const [first, , third] = await entriesOf(store, KEYS.audit.under(accountId));
    await tamper(store, first?.key ?? '', first?.value.replace('operator', 'nobody'));
    await tamper(store, third?.key ?? '', undefined);
    await tamper(store, `${KEYS.audit.under(accountId)}forged`, '{}');
    const { body } = await verify(accountId);
    expect(body['faultCount']).toBe(3);
    const [changed, removed] = [first, third].map((entry) => entry?.key.split('/')[2]);
    expect(body['faults']).toMatchObject([
      // Of the entries of one instant either may be first, and a seal may have come between them.
      { what: 'changed', entry: changed, block: expect.any(Number) as number, at: begunAt },
      { what: 'removed', entry: removed },
      { what: 'added', entry: 'forged' },
    ]);
    expect((await verify(neighbour.accountId)).body['faultCount']).toBe(0);
  });

  test.each([
    ['all of it, with its chain', Number.POSITIVE_INFINITY],
    ['what the first instant left, with its chain, which is then begun anew', 2],
  ])('tells where the beginning was removed: %s', async (_what, removed) => {
    const clock = new FakeClock();
    let opened: Store | undefined;
    await using muster = await backend.fresh({ clock, wrapStore: (inner) => (opened = inner) });
    const { accountId, apiKey } = await tenant(muster);
    clock.advance(1000);
    await createApp(muster, apiKey);
    const store = opened ?? expect.unreachable('it has a store');
    const verify = async (): Promise<Answer['body']> =>
      (await call(`${muster.ops}/operator/v1/accounts/${accountId}/audit/verification`, { token: OPERATOR_TOKEN }))
        .body;
    const sealedBy = (): Promise<void> =>
      until(async () => {
        clock.advance(1000);
        return (await verify())['unsealed'] === 0;
      });
    await sealedBy();
    expect((await verify())['faultCount']).toBe(0);

    const entries = await entriesOf(store, KEYS.audit.under(accountId));
    const gone = [...entries.slice(0, removed), ...(await entriesOf(store, KEYS.seal.under(accountId)))];
    for (const { key } of gone) await tamper(store, key, undefined);
    await tamper(store, KEYS.chain(accountId), undefined);
    for (const { key, value } of entries.slice(removed)) await tamper(store, key, value);
    await sealedBy();
    expect((await verify())['faults']).toMatchObject([{ what: 'chain_broken', block: 1 }]);
  });

  test('is the operator’s, and of accounts that exist', async () => {
    await using muster = await backend.fresh({ clock: new FakeClock() });
    const { accountId } = await tenant(muster);
    const url = `${muster.ops}/operator/v1/accounts`;
    expect((await call(`${url}/${accountId}/audit/verification`)).status).toBe(401);
    const of = (id: string): Promise<Answer> => call(`${url}/${id}/audit/verification`, { token: OPERATOR_TOKEN });
    expect((await of('z'.repeat(16))).status).toBe(404);
    expect((await of(accountId)).status).toBe(200);
  });
});
