import { expect, test } from 'vitest';
import { verifyAudit } from '../../../src/domain/audit/verify.ts';
import { ACCOUNT, OTHER_ACCOUNT, sealedBlocks, sealNow, tamper, writeEntry } from '../../support/records/audit.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* verify.test.ts has the faults that are found in an audit; here an audit is read as each store has it. */

onEachStore('an audit that is read in windows', (stores) => {
  test.each([100_000, 5, 1])(
    'of %d entries: nothing is found, then what was done, and nothing of the neighbour',
    async (windowEntries) => {
      await using store = await stores.open();
      const clock = new FakeClock();
      await writeEntry(store, clock.now(), OTHER_ACCOUNT);
      await sealNow(store, clock, OTHER_ACCOUNT);
      const keys = await sealedBlocks(store, clock, 4, 3);
      await writeEntry(store, clock.now());
      expect(await verifyAudit(store, ACCOUNT, { windowEntries })).toMatchObject({
        entries: 12,
        blocks: 4,
        unsealed: 1,
        faults: [],
      });
      for (const block of [0, 3]) await tamper(store, keys[block]?.[1] ?? '', undefined);
      expect((await verifyAudit(store, ACCOUNT, { windowEntries })).faults).toMatchObject([
        { what: 'removed', block: 1 },
        { what: 'removed', block: 4 },
      ]);
      expect((await verifyAudit(store, OTHER_ACCOUNT, { windowEntries })).faults).toEqual([]);
    },
  );
});
