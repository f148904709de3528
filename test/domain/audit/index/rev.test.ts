import { expect, test } from 'vitest';
import { CLOSED_AFTER_MS, indexMore, reopenFrom } from '../../../../src/domain/audit/index/build.ts';
import { cutOldSegments } from '../../../../src/domain/audit/index/old-segments.ts';
import { cutStep } from '../../../../src/domain/audit/retention.ts';
import { placeAt, type AuditIndexRecord } from '../../../../src/domain/records/audit-records.ts';
import { parseRecord } from '../../../../src/domain/records/codec.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { expectRevision } from '../../../../src/store/entry.ts';
import type { Store } from '../../../../src/store/port.ts';
import { ACCOUNT, sealer, sealNow, writeEntries } from '../../../support/records/audit.ts';
import { entriesOf } from '../../../support/service/accounts.ts';
import { onEachStore } from '../../../support/store/stores.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const indexOf = async (store: Store): Promise<AuditIndexRecord | undefined> => {
  const entry = await store.get(KEYS.auditIndex(ACCOUNT));
  return entry && parseRecord(KEYS.auditIndex, entry).record;
};
async function written(store: Store, clock: FakeClock, count: number) {
  const begin = clock.now();
  await writeEntries(store, Array.from({ length: count }, (_, at) => begin + at * 1000));
  clock.advance(count * 1000 + CLOSED_AFTER_MS);
  await sealNow(store, clock);
}
const segmentsIn = async (store: Store) => (await entriesOf(store, KEYS.auditSegment.under(ACCOUNT))).length;
onEachStore('review', (stores) => {
  test('the leader writes anew the index that is of another store', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await written(store, clock, 3000);
    while ((await indexMore({ store, clock, fence: [] }, ACCOUNT)).entries > 0);
    await store.commit({ expect: [expectRevision(KEYS.format(), 0)], write: [{ put: KEYS.format(), value: '{"format":1,"storeId":"b"}' }] });
    await using leader = sealer(store, clock);
    for (let round = 0; round < 5; round += 1) { await leader.round(); clock.advance(CLOSED_AFTER_MS); }
    expect((await indexOf(store))?.storeId).toBe('b');
  });
  test('no segment is left without its audit', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const begin = clock.now();
    await written(store, clock, 5000);
    while ((await indexMore({ store, clock, fence: [] }, ACCOUNT)).entries > 0);
    // An entry of a clock that is far behind; the leader is stopped before it goes on.
    expect(await reopenFrom({ store, clock, fence: [] }, ACCOUNT, placeAt(begin - 1))).toBe(true);
    for (;;) if ((await cutStep(store, [], ACCOUNT, Number.MAX_SAFE_INTEGER)).outcome !== 'more') break;
    for (let i = 0; i < 3; i += 1) await cutOldSegments({ store, fence: [] }, undefined, new AbortController().signal);
    expect([await segmentsIn(store), await indexOf(store)]).toEqual([0, undefined]);
  });
});
