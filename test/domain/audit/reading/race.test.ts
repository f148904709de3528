import { expect, test } from 'vitest';
import { askAudit } from '../../../../src/domain/audit/reading/ask.ts';
import { createAuditEntries } from '../../../../src/domain/audit/reading/list.ts';
import { ACCOUNT, writeEntry } from '../../../support/records/audit.ts';
import { onEachStore } from '../../../support/store/stores.ts';
import { wrappedStore } from '../../../support/store/wrapped-store.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';

void createAuditEntries;
const NOW = 1_700_000_000_000;
onEachStore('asked, oldest first, while it is written', (stores) => {
  test('an entry that commits between two reads of a page is on it or on a later one', async () => {
    await using opened = await stores.open();
    for (let at = 0; at < 300; at += 1) await writeEntry(opened, NOW - 3000 + at * 10);
    let lists = 0;
    const store = wrappedStore(opened, {
      list: async (request) => {
        if (request.prefix === KEYS.audit.under(ACCOUNT) && ++lists === 2) {
          // Two replicas: the clock of one is a second behind, or its commit was sent a second ago.
          await writeEntry(opened, NOW - 1000, ACCOUNT, { action: 'test', actor: 'late' } as never);
          await writeEntry(opened, NOW + 5);
          await writeEntry(opened, NOW + 6);
        }
        return await opened.list(request);
      },
    });
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await askAudit(store, ACCOUNT, { order: 'asc', limit: 301, action: 'test', cursor });
      found.push(...page.items.map(({ actor }) => actor));
      cursor = page.next;
    } while (cursor !== undefined);
    expect([found.length, found.includes('late')]).toEqual([303, true]);
  });
});
