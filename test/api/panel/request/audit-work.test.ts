import { expect, test } from 'vitest';
import { LIMITS } from '../../../../src/domain/limits.ts';
import { ask, panelMuster, signedIn } from '../../../support/panel/panel-users.ts';
import { tenant } from '../../../support/service/muster.ts';
import { busyHours } from '../../../support/store/audit-entries.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/* P9: a read of the audit that looks through much of it counts as the changes that its work is worth. */

onEachBackend('a read of the audit', (backend) => {
  test('that is filtered counts by its lists; a page of the newest entries is a read as any other', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { accountId } = await tenant(panel.muster);
    await busyHours(panel.store, accountId, { hours: 24, now: clock.now() });
    const [owner, viewer] = await Promise.all([
      signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] }),
      signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] }),
    ]);
    const audit = (query: string, by = owner) => ask(panel, by, `/accounts/${accountId}/audit?${query}`);
    const change = async () =>
      (await ask(panel, owner, `/accounts/${accountId}/apps/${'a'.repeat(20)}`, { method: 'DELETE' })).status;
    const nobody = await audit('actor=key:nobody');
    expect([nobody.status, nobody.body['entries']]).toEqual([200, []]);
    // It looked through more than `auditRecordsPerRead` records, and was charged for a change.
    expect(nobody.body['next']).toEqual(expect.any(String));
    const more = await Promise.all(Array.from({ length: LIMITS.panelRequestsPerMinute }, change));
    expect(new Set(more)).toEqual(new Set([404, 429]));
    const refused = await audit('actor=key:nobody');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)]);
    expect((await audit('actor=key:nobody', viewer)).status).toBe(200);
    for (const cheap of [
      '',
      'actor=key:somebody',
      'action=app.',
      `from=${new Date(clock.now() - 1000).toISOString()}`,
    ]) {
      expect([cheap, (await audit(cheap)).status]).toEqual([cheap, 200]);
    }
  });
});
