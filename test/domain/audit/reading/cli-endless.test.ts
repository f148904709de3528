import { expect, test } from 'vitest';
import { allPages } from '../../../../src/cli/commands/audit/follow.ts';
import { askAudit } from '../../../../src/domain/audit/reading/ask.ts';
import type { AuditRecord } from '../../../../src/domain/records/audit-records.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { ACCOUNT } from '../../../support/records/audit.ts';
import { entryOf, storeOf } from '../../../support/store/counted-lists.ts';

/** `muster audit list --since ... ` reads pages of a thousand, oldest first, until none follows. */
test('the command line comes to an end', async () => {
  const entries = Array.from({ length: 5000 }, (_, index) => {
    const at = 1_700_000_000_000 + index * 2;
    const record: AuditRecord = { at, actor: 'operator', action: 'app.created', requestId: `r${index}`, detail: {} };
    return entryOf(KEYS.audit(ACCOUNT, at, index.toString(16).padStart(20, '0')), 10 + index, record);
  });
  const store = storeOf(entries);
  let count = 0;
  const read = async ({ limit = 100, after }: { limit?: number; after?: string }) => {
    const { items, next } = await askAudit(store, ACCOUNT, { order: 'asc', limit, cursor: after, from: 0 });
    return { entries: items as never[], ...(next !== undefined && { next }) };
  };
  for await (const _ of allPages(read as never)) if (++count > 20_000) break;
  expect(count).toBe(5000);
});
