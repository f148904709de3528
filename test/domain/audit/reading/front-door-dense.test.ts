import { expect, test } from 'vitest';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { HOUR_MS } from '../../../../src/time/utc-days.ts';
import { panelMuster } from '../../../support/panel/panel-users.ts';
import { asOperator } from '../../../support/panel/visitor.ts';
import { tenant } from '../../../support/service/muster.ts';
import { writeEntries } from '../../../support/records/audit.ts';
import { busyHours } from '../../../support/store/audit-entries.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

onEachBackend('an audit with a busy moment', (backend) => {
  test('is paged through to its end, the newest first', { timeout: 120_000 }, async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const written = await busyHours(store, accountId, { hours: 3, now: clock.now() - HOUR_MS });
    // A thousand apps and their codes, within four seconds.
    const busy = Array.from({ length: 2000 }, (_, at) => clock.now() - 5000 + at * 2);
    await writeEntries(store, busy, accountId);
    void KEYS;
    const seen = new Set<string>();
    let place = '', count = 0;
    for (;;) {
      const answer = await asOperator(muster, `/accounts/${accountId}/audit?order=desc&limit=50${place}`);
      expect(answer.status).toBe(200);
      count += (answer.body['entries'] as unknown[]).length;
      const next = answer.body['next'];
      if (typeof next !== 'string') break;
      expect(seen.has(next), `${next} comes once; ${count} entries so far`).toBe(false);
      seen.add(next);
      place = `&after=${next}`;
    }
    expect(count).toBeGreaterThanOrEqual(written + busy.length);
    expect(count).toBeLessThan(written + busy.length + 20);
  });
});
