import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { ACCOUNT, bindingTo, operated, owner, type Operated } from '../../support/kubernetes/bound-core.ts';
import { putAll } from '../../support/records/backups.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { until } from '../../support/time/until.ts';

/** Puts the account at its quota, as the leader would. */
async function fill({ store, core }: Operated): Promise<void> {
  await putAll(store, { [KEYS.stored(ACCOUNT)]: { at: 1, audit: 2 * 1024 ** 3, records: 0, marks: [] } });
  await until(async () => (await core.fleet.whole()).account(ACCOUNT)?.stored() !== undefined);
}

onEachBackend('a custom resource of an account at its quota', (backend) => {
  test('creates nothing, and is deleted all the same', async () => {
    await using it = await operated(backend);
    await fill(it);
    const bound = async (after: ReturnType<typeof bindingTo> | undefined) =>
      it.bindings.precondition(owner.uid, await it.bindings.get(owner.uid), after);
    const changed = it.accounts.change(it.origin(), ACCOUNT, { name: 'another' }, await bound(bindingTo(ACCOUNT)));
    await expect(changed).rejects.toMatchObject({ name: 'Busy', reason: 'quota' });
    await it.boundAccounts.release(it.origin(), ACCOUNT, owner, false, await bound(undefined));
    expect((await it.account())?.record.managedBy).toBeUndefined();
  });
});
