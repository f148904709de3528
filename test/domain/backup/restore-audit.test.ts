import { expect, test } from 'vitest';
import { verifyAudit } from '../../../src/domain/audit/verify.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { ACCOUNT, OTHER_ACCOUNT, sealer, tamper, writeEntry } from '../../support/records/audit.ts';
import { backupText, restoreText } from '../../support/records/backups.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

onEachStore('the audit after a restore', (stores) => {
  test('verifies: what was sealed is sealed, what was not will be, and tampering still shows', async () => {
    await using from = await stores.open();
    const clock = new FakeClock();
    for (let n = 0; n < 250; n += 1) await writeEntry(from, clock.now() + n);
    await writeEntry(from, clock.now(), OTHER_ACCOUNT);
    {
      await using leader = sealer(from, clock);
      await leader.round();
    }
    const head = (await verifyAudit(from, ACCOUNT)).head;
    // Older by its instant than what is sealed, and not sealed yet: an entry whose commit came late.
    await writeEntry(from, clock.now() - 1000);
    await writeEntry(from, clock.now() + 1000);

    await using to = await stores.open();
    await restoreText(to, await backupText(from));
    expect(await verifyAudit(to, ACCOUNT)).toMatchObject({ entries: 250, unsealed: 2, head, faultCount: 0 });
    expect(await verifyAudit(to, OTHER_ACCOUNT)).toMatchObject({ entries: 1, unsealed: 0, faultCount: 0 });

    const late = await writeEntry(to, clock.now() + 2000);
    await using leader = sealer(to, clock);
    await leader.round();
    expect(leader.sealed).toBe(3);
    expect(await verifyAudit(to, ACCOUNT)).toMatchObject({ entries: 253, unsealed: 0, faultCount: 0 });
    await tamper(to, late, undefined);
    expect((await verifyAudit(to, ACCOUNT)).faults).toMatchObject([{ what: 'removed' }]);
  });

  test('shows what was tampered with before the backup', async () => {
    await using from = await stores.open();
    const clock = new FakeClock();
    const keys = [await writeEntry(from, clock.now()), await writeEntry(from, clock.now() + 1)];
    {
      await using leader = sealer(from, clock);
      await leader.round();
    }
    await tamper(from, keys[0] ?? '', undefined);
    await using to = await stores.open();
    await restoreText(to, await backupText(from));
    expect((await to.list({ prefix: KEYS.audit.under(ACCOUNT), limit: 10 })).entries).toHaveLength(1);
    expect((await verifyAudit(to, ACCOUNT)).faults).toMatchObject([{ what: 'removed' }]);
  });
});
