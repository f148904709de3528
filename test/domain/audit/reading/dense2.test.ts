import { describe, expect, test } from 'vitest';
import { BUCKET_ENTRIES, lastOf, segmentOf, withBucket } from '../../../../src/domain/audit/index/segment.ts';
import { termsOf } from '../../../../src/domain/audit/index/terms.ts';
import { askAudit, type Asked } from '../../../../src/domain/audit/reading/ask.ts';
import { suffixOf, type AuditRecord, type SegmentRecord } from '../../../../src/domain/records/audit-records.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { ACCOUNT } from '../../../support/records/audit.ts';
import { entryOf, storeOf } from '../../../support/store/counted-lists.ts';

const BEGIN = 1_700_000_000_000;
function dense(count: number, everyMs: number, late: number) {
  let state = 12345;
  const random = () => { state = (Math.imul(state, 1103515245) + 12345) >>> 0; return state / 2 ** 32; };
  // 3000 usual ones before, a minute apart.
  const all = Array.from({ length: 3000 + count }, (_, i) => ({ at: i < 3000 ? BEGIN - (3000 - i) * 60_000 : BEGIN + Math.floor((i - 3000) * everyMs), index: i }));
  return all.map((x) => ({ ...x, ends: x.at + random() * late })).toSorted((a, b) => a.ends - b.ends).map(({ at, index }, place) => {
    const record: AuditRecord = { at, actor: 'operator', action: 'app.created', requestId: `r${index}`, detail: {} };
    const marker = Math.floor(random() * 2 ** 32).toString(16).padStart(8, '0') + index.toString(16).padStart(24, '0');
    return { entry: entryOf(KEYS.audit(ACCOUNT, at, marker), 10 + place, record), record };
  });
}
function index(all: ReturnType<typeof dense>) {
  const byKey = all.toSorted((a, b) => (a.entry.key < b.entry.key ? -1 : 1));
  const segments: SegmentRecord[] = [];
  let before = '';
  for (let from = 0; from + BUCKET_ENTRIES <= byKey.length; from += BUCKET_ENTRIES) {
    const own = byKey.slice(from, from + BUCKET_ENTRIES);
    const revs = own.map(({ entry }) => entry.revision);
    const bucket = { last: suffixOf(ACCOUNT, own.at(-1)!.entry.key), low: Math.min(...revs), high: Math.max(...revs), terms: new Set(own.flatMap(({ record }) => termsOf(ACCOUNT, record))) };
    const grown = segments.at(-1) && withBucket(segments.at(-1)!, bucket);
    if (grown) segments[segments.length - 1] = grown; else segments.push(segmentOf(before, bucket));
    before = bucket.last;
  }
  return [entryOf(KEYS.auditIndex(ACCOUNT), 1, { first: 1, last: segments.length, through: lastOf(segments.at(-1)!), revision: 1e6 }), ...segments.map((s, i) => entryOf(KEYS.auditSegment(ACCOUNT, i + 1), 1, s))];
}
async function paged(n: ReturnType<typeof dense>, isIndexed: boolean, asked: Asked) {
  const store = storeOf([...n.map(({ entry }) => entry), ...(isIndexed ? index(n) : [])]);
  const found: string[] = []; let cursor: string | undefined; let pages = 0;
  do {
    const page = await askAudit(store, ACCOUNT, { ...asked, cursor });
    found.push(...page.items.map(({ requestId }) => requestId)); cursor = page.next; pages += 1;
  } while (cursor !== undefined && pages < 300);
  const distinct = new Set(found).size;
  return { pages, found: found.length, lost: n.length - distinct, doubled: found.length - distinct };
}
describe('dense', () => {
  for (const isIndexed of [true, false])
    for (const order of ['desc', 'asc'] as const)
      for (const [count, every, late] of isIndexed ? [[3000, 2, 1000],[5000, 1, 2000]] as const : [[1200, 2, 500], [1400, 2, 500], [1600, 2, 500], [1800, 2, 500],[2400, 2, 500]] as const)
        for (const limit of [50, 200, 1000])
          test(`${isIndexed} ${order} ${count} every ${every} late ${late} limit ${limit}`, { timeout: 60000 }, async () => {
            const told = await paged(dense(count, every, late), isIndexed, { order, limit });
            console.log(JSON.stringify({ order, isIndexed, count, every, late, limit, ...told }));
            expect([told.lost, told.doubled]).toEqual([0, 0]);
          });
});
