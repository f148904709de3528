import { expect, test } from 'vitest';
import { DUE_ENTRIES } from '../../../../src/domain/audit/index/indexing.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import type { Store } from '../../../../src/store/port.ts';
import { HOUR_MS } from '../../../../src/time/utc-days.ts';
import { ask, panelMuster, signedIn } from '../../../support/panel/panel-users.ts';
import { asOperator } from '../../../support/panel/visitor.ts';
import { createApp, tenant, type Answer, type Muster } from '../../../support/service/muster.ts';
import { busyHours } from '../../../support/store/audit-entries.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

/* GET …/audit?app=&actor=&action=&since=&until=&order=: the same questions at the operator API as in the panel. */

interface Told {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly appId?: string;
  readonly requestId: string;
}
const entriesOf = ({ body }: Answer): Told[] => body['entries'] as Told[];
const codeOf = ({ status, body }: Answer) => [status, (body['error'] as { code?: string } | undefined)?.code];

/** Reads all pages of a question. */
async function asked(muster: Muster, path: string, query: string): Promise<Told[]> {
  const told: Told[] = [];
  let place = '';
  for (;;) {
    const answer = await asOperator(muster, `${path}?${query}${place}`);
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
    told.push(...entriesOf(answer));
    const { next } = answer.body;
    if (typeof next !== 'string') return told;
    place = `&after=${next}`;
  }
}

/** The service's own rounds, until its leader has described an audit for the index. */
async function indexed(clock: FakeClock, store: Store, accountId: string): Promise<void> {
  await until(async () => {
    if (clock.sleeping > 0) clock.advance(1000);
    return (await store.get(KEYS.auditIndex(accountId))) !== undefined;
  });
}

onEachBackend('a question to an audit at the operator API', (backend) => {
  test('has what fits alone, in either order, in pages of any size', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { muster } = panel;
    const { accountId, apiKey, keyId } = await tenant(muster);
    const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const apps: string[] = [];
    for (let at = 0; at < 3; at += 1) {
      clock.advance(1000);
      apps.push((await createApp(muster, apiKey)).appId);
    }
    clock.advance(1000);
    const path = `/accounts/${accountId}`;
    expect((await ask(panel, owner, `${path}/apps/${apps[1] ?? ''}`, { method: 'DELETE' })).status).toBe(204);
    const all = await asked(muster, `${path}/audit`, 'limit=1');
    const noon = all.find(({ appId }) => appId === apps[1])?.at ?? '';
    const QUESTIONS: readonly [string, (entry: Told) => boolean][] = [
      ['', () => true],
      [`app=${apps[1] ?? ''}`, ({ appId }) => appId === apps[1]],
      [`actor=key:${keyId}`, ({ actor }) => actor === `key:${keyId}`],
      [`actor=user:${owner.userId}`, ({ actor }) => actor === `user:${owner.userId}`],
      ['action=app.created', ({ action }) => action === 'app.created'],
      ['action=app.', ({ action }) => action.startsWith('app.')],
      [`since=${noon}`, ({ at }) => at >= noon],
      [`until=${noon}`, ({ at }) => at < noon],
      [
        `action=app.created&actor=key:${keyId}&since=${noon}`,
        ({ at, action, actor }) => at >= noon && action === 'app.created' && actor === `key:${keyId}`,
      ],
      ['actor=key:nobody', () => false],
    ];
    for (const [query, fits] of QUESTIONS) {
      const found = all.filter(fits);
      if (query !== 'actor=key:nobody') expect([query, found.length > 0]).toEqual([query, true]);
      for (const limit of [1, 100]) {
        const oldest = await asked(muster, `${path}/audit`, `limit=${limit}&${query}`);
        expect([query, oldest]).toEqual([query, found]);
        const newest = await asked(muster, `${path}/audit`, `limit=${limit}&order=desc&${query}`);
        expect([query, newest]).toEqual([query, found.toReversed()]);
      }
    }
    expect(await asked(muster, `${path}/audit`, 'order=asc')).toEqual(all);
  });

  test('of the service finds an export by its action, the newest first', async () => {
    await using muster = await backend.fresh();
    const { accountId } = await tenant(muster);
    await asOperator(muster, `/accounts/${accountId}/audit?order=desc&limit=1`);
    const exports = await asked(muster, '/audit', 'action=audit.exported&order=desc');
    expect(exports.at(-1)).toMatchObject({ action: 'audit.exported', actor: 'operator' });
    expect((await asked(muster, '/audit', 'action=audit.')).map(({ action }) => action)).toContain('audit.exported');
  });

  test('is refused where it is none', async () => {
    await using muster = await backend.fresh();
    const { accountId } = await tenant(muster);
    for (const path of [`/accounts/${accountId}/audit`, '/audit']) {
      for (const bad of [
        'order=up',
        'since=yesterday',
        'until=2026-13-01T00:00:00Z',
        'app=..',
        `action=${'a'.repeat(61)}`,
        `actor=${'a'.repeat(601)}`,
        'order=asc&order=desc',
      ]) {
        expect([bad, ...codeOf(await asOperator(muster, `${path}?${bad}`))]).toEqual([bad, 400, 'invalid_request']);
      }
      for (const good of [
        'order=desc',
        'since=2026-01-01T00:00:00Z',
        'until=2026-12-01T01:00:00%2B01:00',
        `app=${'a'.repeat(20)}`,
        `action=${'a'.repeat(60)}`,
        `actor=${'a'.repeat(600)}`,
        'after=0mhx4k1qz-3f9a',
      ]) {
        expect([good, (await asOperator(muster, `${path}?${good}`)).status]).toEqual([good, 200]);
      }
    }
    expect(codeOf(await asOperator(muster, `/accounts/${'a'.repeat(16)}/audit?order=desc`))).toEqual([
      404,
      'not_found',
    ]);
  });

  test('is answered the same once the leader has described the audit for the index', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { muster, store } = panel;
    const { accountId, apiKey } = await tenant(muster);
    await busyHours(store, accountId, { hours: 3, now: clock.now() - HOUR_MS });
    const { appId } = await createApp(muster, apiKey);
    await indexed(clock, store, accountId);
    const pages = await store.list({ prefix: KEYS.auditIndexPage.under(accountId), limit: 10 });
    expect(pages.entries).toHaveLength(1);
    const path = `/accounts/${accountId}/audit`;
    const all = await asked(muster, path, 'limit=1000');
    expect(all.length).toBeGreaterThan(DUE_ENTRIES);
    for (const [query, fits] of [
      [`app=${appId}`, (entry: Told) => entry.appId === appId],
      ['actor=key:somebody', ({ actor }: Told) => actor === 'key:somebody'],
      ['action=key.created', ({ action }: Told) => action === 'key.created'],
    ] as const) {
      expect(await asked(muster, path, `limit=200&${query}`)).toEqual(all.filter(fits));
      expect(await asked(muster, path, `limit=200&order=desc&${query}`)).toEqual(all.filter(fits).toReversed());
    }
  });
});
