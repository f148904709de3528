import { describe, expect, test } from 'vitest';
import { askAudit, type Asked } from '../../../../src/domain/audit/reading/ask.ts';
import { PAGE_RECORDS_MAX } from '../../../../src/domain/audit/reading/bounded-reads.ts';
import type { AuditRecord } from '../../../../src/domain/records/audit-records.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { ACCOUNT } from '../../../support/records/audit.ts';
import { entryOf, storeOf } from '../../../support/store/counted-lists.ts';

const BEGIN = 1_700_000_000_000;
/** So many entries, evenly over a time; commits end up to `late` ms later than their instants. */
function dense(count: number, everyMs: number, late: number) {
  let state = 12345;
  const random = () => { state = (Math.imul(state, 1103515245) + 12345) >>> 0; return state / 2 ** 32; };
  const planned = Array.from({ length: count }, (_, index) => {
    const at = BEGIN + Math.floor(index * everyMs);
    return { at, ends: at + random() * late, index };
  }).toSorted((a, b) => a.ends - b.ends);
  return planned.map(({ at, index }, place) => {
    const record: AuditRecord = { at, actor: 'operator', action: 'app.created', requestId: `r${index}`, detail: {} };
    const marker = Math.floor(random() * 2 ** 32).toString(16).padStart(8, '0') + index.toString(16).padStart(24, '0');
    return entryOf(KEYS.audit(ACCOUNT, at, marker), 10 + place, record);
  });
}
async function paged(entries: ReturnType<typeof dense>, asked: Asked) {
  const store = storeOf(entries);
  const found: string[] = [];
  let cursor: string | undefined;
  let pages = 0, most = 0;
  const cursors: string[] = [];
  do {
    store.read();
    const page = await askAudit(store, ACCOUNT, { ...asked, cursor });
    most = Math.max(most, store.read());
    found.push(...page.items.map(({ requestId }) => requestId));
    cursor = page.next;
    if (cursor) cursors.push(cursor);
    pages += 1;
  } while (cursor !== undefined && pages < 1000);
  const distinct = new Set(found).size;
  return { pages, found: found.length, distinct, lost: entries.length - distinct, doubled: found.length - distinct, most, repeats: cursors.length - new Set(cursors).size };
}
describe('dense', () => {
  for (const order of ['desc', 'asc'] as const)
    for (const [count, every, late] of [[5000, 2, 0], [5000, 2, 3000], [5000, 1, 3000], [3000, 4, 3000], [12000, 4, 3000],[5000,0,0],[5000,0.01,50]] as const)
      for (const limit of [50, 200, 1000])
        test(`${order} ${count} every ${every} late ${late} limit ${limit}`, { timeout: 60000 }, async () => {
          const told = await paged(dense(count, every, late), { order, limit });
          console.log(JSON.stringify({ order, count, every, late, limit, ...told }));
          expect(told.most).toBeLessThanOrEqual(PAGE_RECORDS_MAX);
          expect([told.lost, told.doubled]).toEqual([0, 0]);
        });
});
