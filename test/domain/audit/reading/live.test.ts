import { expect, test } from 'vitest';
import { cutOldSegments } from '../../../../src/domain/audit/index/old-segments.ts';
import { cutStep } from '../../../../src/domain/audit/retention.ts';
import { askAudit } from '../../../../src/domain/audit/reading/ask.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { ACCOUNT, sealer, sealAll, writeAll, entryAt } from '../../../support/records/audit.ts';
import { onEachStore } from '../../../support/store/stores.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

onEachStore('a live audit', (stores) => {
  for (const order of ['desc', 'asc'] as const)
    for (const seed of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
      test(`${order} ${seed}: nothing lost, nothing doubled`, { timeout: 100_000 }, async () => {
        await using store = await stores.open();
        const clock = new FakeClock();
        let state = seed * 7919;
        const random = () => { state = (Math.imul(state, 1103515245) + 12345) >>> 0; return state / 2 ** 32; };
        await using leader = sealer(store, clock);
        const write = async (n: number) => {
          for (let i = 0; i < n; i += 1) {
            clock.advance(Math.floor(random() * 400));
            await writeAll(store, [entryAt(clock.now() - Math.floor(random() * 4000), ACCOUNT, { action: random() < 0.1 ? 'rare.deed' : 'app.made' })]);
          }
        };
        await write(3000);
        clock.advance(61_000);
        await sealAll(store, leader);
        for (let i = 0; i < 3; i += 1) await leader.round();
        await write(400);
        await sealAll(store, leader);
        const all = async () => {
          const found = new Map<string, string>();
          let after: string | undefined;
          for (;;) {
            const page = await store.list({ prefix: KEYS.audit.under(ACCOUNT), limit: 1000, after });
            for (const e of page.entries) { const r = JSON.parse(e.value); found.set(r.requestId, r.action); }
            if (page.next === undefined) return found;
            after = page.next;
          }
        };
        const action = seed % 2 === 0 ? 'rare.deed' : undefined;
        const fits = (m: Map<string, string>) => [...m].filter(([, a]) => action === undefined || a === action).map(([id]) => id);
        const before = fits(await all());
        const found: string[] = [];
        let cursor: string | undefined;
        let pages = 0;
        const cursors: string[] = [];
        do {
          const page = await askAudit(store, ACCOUNT, { order, limit: action ? 10 : 50, action, cursor });
          found.push(...page.items.map(({ requestId }) => requestId));
          cursor = page.next;
          if (cursor) cursors.push(cursor + ' ' + (await store.get((KEYS.audit.under(ACCOUNT) + cursor) as never))?.revision);
          pages += 1;
          if (pages < 60 && cursor !== undefined) {
            await write(12);
            clock.advance(Math.floor(random() * 20_000));
            await leader.round();
            if (process.env['NO_CUT'] === undefined && pages % 4 === 0) await cutStep(store, [], ACCOUNT, Number.MAX_SAFE_INTEGER);
            if (pages % 10 === 0) await cutOldSegments({ store, fence: [] }, undefined, new AbortController().signal);
          }
        } while (cursor !== undefined && pages < 500);
        const kept = await all();
        const expected = (order === 'asc' ? fits(kept) : before).filter((id) => kept.has(id));
        const seen = new Set(found);
        if (process.env['DBG']) console.log(JSON.stringify({ order, seed, pages, cuts: cursors.filter((c) => c).length, log: cursors.slice(-12), lostAt: await (async () => { const out = []; let after: string | undefined; for (;;) { const page = await store.list({ prefix: KEYS.audit.under(ACCOUNT), limit: 1000, after }); for (const e of page.entries) { const r = JSON.parse(e.value); if (expected.includes(r.requestId) && !seen.has(r.requestId)) out.push([e.key.split('/').at(-1), e.revision]); } if (page.next === undefined) return out; after = page.next; } })() }));
        expect({ pages: pages < 500, lost: expected.filter((id) => !seen.has(id)).length, doubled: found.length - seen.size }).toEqual({ pages: true, lost: 0, doubled: 0 });
      });
});
