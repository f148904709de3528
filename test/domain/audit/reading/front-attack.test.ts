import { expect, test } from 'vitest';
import { panelMuster } from '../../../support/panel/panel-users.ts';
import { asOperator } from '../../../support/panel/visitor.ts';
import { createApp, tenant } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

onEachBackend('attacks', (backend) => {
  test('cursors and bounds', { timeout: 60_000 }, async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { muster } = panel;
    const one = await tenant(muster);
    for (let i = 0; i < 5; i += 1) { clock.advance(1000); await createApp(muster, one.apiKey); }
    const other = await tenant(muster);
    for (let i = 0; i < 5; i += 1) { clock.advance(1000); await createApp(muster, other.apiKey); }
    const path = `/accounts/${one.accountId}/audit`;
    const foreign = (await asOperator(muster, `/accounts/${other.accountId}/audit?limit=2&order=desc`)).body['next'];
    const out: unknown[] = [];
    for (const order of ['asc', 'desc']) for (const f of ['', '&action=app.'])
      for (const after of ['-', 'ZZZ', '0', 'zzzzzzzzz', 'zzzzzzzzz-0', '000000000-0', 'a'.repeat(100), '0-', String(foreign)]) {
        const a = await asOperator(muster, `${path}?order=${order}${f}&after=${after}`);
        out.push([order, f, after.slice(0, 30), a.status, (a.body['entries'] as unknown[] | undefined)?.length, a.body['next']]);
      }
    for (const q of ['since=2030-01-01T00:00:00Z&until=2020-01-01T00:00:00Z', 'since=0001-01-01T00:00:00Z', 'until=0001-01-01T00:00:00Z', 'since=9999-12-31T23:59:59Z', 'until=9999-12-31T23:59:59Z&order=desc', 'until=1960-01-01T00:00:00Z&order=desc', 'since=1960-01-01T00:00:00Z&until=1965-01-01T00:00:00Z', 'actor=', 'action=', 'action=.', 'actor=user:', `actor=${encodeURIComponent('é'.repeat(600))}`, 'app=', 'limit=0', 'order=']) {
      const a = await asOperator(muster, `${path}?${q}`);
      out.push([q.slice(0, 60), a.status, (a.body['entries'] as unknown[] | undefined)?.length, a.body['next']]);
    }
    console.log(out.map((o) => JSON.stringify(o)).join('\n'));
    expect(1).toBe(1);
  });
});
