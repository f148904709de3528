import { expect, test } from 'vitest';
import { CLOSED_AFTER_MS } from '../../../../src/domain/audit/index/build.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { parseRecord } from '../../../../src/domain/records/codec.ts';
import { ACCOUNT, sealer, sealNow, tamper, writeEntries } from '../../../support/records/audit.ts';
import { onEachStore } from '../../../support/store/stores.ts';
import { wrappedStore } from '../../../support/store/wrapped-store.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

onEachStore('an entry that cannot be read', (stores) => {
  test('keeps no later one from being described, and costs no list a minute', async () => {
    await using opened = await stores.open();
    const clock = new FakeClock();
    const begin = clock.now();
    const keys = await writeEntries(opened, Array.from({ length: 3000 }, (_, at) => begin + at * 1000));
    clock.advance(3000 * 1000 + CLOSED_AFTER_MS);
    await sealNow(opened, clock);
    await tamper(opened, keys[100] ?? '', '{"not":"an entry"}');
    let lists = 0;
    const store = wrappedStore(opened, { list: (request) => { if (request.prefix === KEYS.audit.under(ACCOUNT) && request.keysOnly !== true) lists += 1; return opened.list(request); } });
    await using leader = sealer(store, clock);
    for (let round = 0; round < 5; round += 1) { await leader.round(); clock.advance(CLOSED_AFTER_MS); }
    const first = lists;
    for (let round = 0; round < 20; round += 1) { await leader.round(); clock.advance(CLOSED_AFTER_MS); }
    const entry = await opened.get(KEYS.auditIndex(ACCOUNT));
    const through = entry && parseRecord(KEYS.auditIndex, entry).record.through;
    expect({ isBeyond: through !== undefined && (keys[200] ?? '').endsWith(through) === false && through > (keys[200] ?? '').slice(KEYS.audit.under(ACCOUNT).length), lists: lists - first, logged: leader.logged.length > 0 }).toEqual({ isBeyond: true, lists: 0, logged: true });
  });
});
