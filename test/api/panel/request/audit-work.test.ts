import { expect, test } from 'vitest';
import { LIMITS } from '../../../../src/domain/limits.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { expectAbsent, type Store } from '../../../../src/store/port.ts';
import { HOUR_MS } from '../../../../src/time/utc-days.ts';
import { ask, panelMuster, signedIn } from '../../../support/panel/panel-users.ts';
import { tenant } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { rawKey, rawPut } from '../../../support/store/raw-key.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/* P9: a read of the audit that looks through much of it counts as the changes that its work is worth. */

/** So many entries in each of the last hours: the reader of the audit lists them hour by hour. */
async function busyHours(store: Store, accountId: string, { hours, now }: { hours: number; now: number }) {
  const each = 260;
  for (let hour = hours; hour > 0; hour -= 1) {
    const write = Array.from({ length: each }, (_, index) => {
      const at = now - hour * HOUR_MS + Math.floor((index * HOUR_MS) / each);
      const key = `${KEYS.audit.under(accountId)}${at.toString(36).padStart(9, '0')}-${index.toString(16)}`;
      const record = { at, actor: 'key:somebody', action: 'app.created', requestId: 'r', detail: {} };
      return rawPut(key, record);
    });
    for (let from = 0; from < each; from += 60) {
      const part = write.slice(from, from + 60);
      const absent = expectAbsent(rawKey(part[0]?.put ?? ''));
      expect((await store.commit({ expect: [absent], write: part })).outcome).toBe('committed');
    }
  }
}

onEachBackend('a read of the audit', (backend) => {
  test('that is filtered counts by its lists; a page of the newest entries is a read as any other', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { accountId } = await tenant(panel.muster);
    await busyHours(panel.store, accountId, { hours: 3 * LIMITS.auditListsPerRead, now: clock.now() });
    const [owner, viewer] = await Promise.all([
      signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] }),
      signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] }),
    ]);
    const audit = (query: string, by = owner) => ask(panel, by, `/accounts/${accountId}/audit?${query}`);
    const change = async () =>
      (await ask(panel, owner, `/accounts/${accountId}/apps/${'a'.repeat(20)}`, { method: 'DELETE' })).status;
    const nobody = await audit('actor=key:nobody');
    expect([nobody.status, nobody.body['entries']]).toEqual([200, []]);
    // It looked through 5,000 entries, in more than `auditListsPerRead` lists, and was charged for a change at least.
    expect(nobody.body['next']).toMatch(/-0$/);
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
