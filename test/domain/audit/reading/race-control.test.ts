import { expect, test } from 'vitest';
import { listInOrder } from '../../../../src/domain/audit/store-order.ts';
import { ACCOUNT, writeEntry } from '../../../support/records/audit.ts';
import { onEachStore } from '../../../support/store/stores.ts';
import { wrappedStore } from '../../../support/store/wrapped-store.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
const NOW = 1_700_000_000_000;
onEachStore('control: unfiltered', (stores) => {
  test('listInOrder loses nothing', async () => {
    await using opened = await stores.open();
    for (let at = 0; at < 600; at += 1) await writeEntry(opened, NOW - 6000 + at * 10);
    let lists = 0;
    const store = wrappedStore(opened, {
      list: async (request) => {
        if (request.prefix === KEYS.audit.under(ACCOUNT) && ++lists === 2) {
          await writeEntry(opened, NOW - 5000, ACCOUNT, { actor: 'late' });
          await writeEntry(opened, NOW + 5);
          await writeEntry(opened, NOW + 6);
        }
        return await opened.list(request);
      },
    });
    let found = 0, late = false; let after: string | undefined;
    do {
      const page = await listInOrder(store, KEYS.audit.under(ACCOUNT), { limit: 301, after });
      found += page.entries.length; late ||= page.entries.some(({ value }) => value.includes('"late"')); after = page.next;
    } while (after !== undefined);
    expect([found, late]).toEqual([603, true]);
  });
});
