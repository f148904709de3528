import { expect, test } from 'vitest';
import { KubeError } from '../../../src/controller/kubernetes/client/kube-api.ts';
import { noteRound } from '../../../src/controller/kubernetes/offered-namespaces.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { AccountRecord } from '../../../src/domain/records/records.ts';
import type { Owner } from '../../../src/domain/resource-bindings/adoption.ts';
import { ACCOUNT, bindingTo, operated, type Operated } from '../../support/kubernetes/bound-core.ts';
import { write } from '../../support/metering/metering.ts';
import { onEachBackend } from '../../support/store/backends.ts';

/* A consent has an end, and means the namespace that had the name when it was given. */

const APP = 'p'.repeat(20);
const heir: Owner = { uid: 'uid-heir', namespace: 'team', name: 'heir' };

const recordOf = async (it: Operated): Promise<AccountRecord> =>
  (await it.account())?.record ?? expect.unreachable('the account is there');
const adopt = async (it: Operated, namespaceUid?: string): Promise<string> => {
  const uid = `uid-${namespaceUid ?? 'none'}`;
  const by = { ...heir, uid, ...(namespaceUid !== undefined && { namespaceUid }) };
  const precondition = it.bindings.precondition(uid, undefined, bindingTo(ACCOUNT));
  return await it.boundAccounts.adopt(it.origin(), ACCOUNT, by, precondition).then(
    () => 'adopted',
    (error: unknown) => (error as { code: string }).code,
  );
};
const offer = (it: Operated, namespaceUid?: string): Promise<unknown> =>
  it.accounts.change(it.origin(), ACCOUNT, { adoptableBy: 'team/heir', namespaceUid });

/** One round of the leader, in a cluster with these namespaces. */
const round = (it: Operated, uidOf: (namespace: string) => Promise<string | undefined>): Promise<void> =>
  noteRound({
    api: { namespaceUid: uidOf },
    term: { fence: [], signal: new AbortController().signal },
    domain: { offeredNamespaces: it.offered, random: systemRandom() },
    clock: it.core.clock,
    deadlines: { requestMs: 60_000 },
    log: it.core.log,
  });

onEachBackend('a consent', (backend) => {
  test('holds for 7 days, and one of an earlier version not at all', async () => {
    await using it = await operated(backend);
    const before = it.core.clock.now();
    await offer(it);
    const { consent } = await recordOf(it);
    const until = consent?.until ?? 0;
    expect(until - LIMITS.consentMs - before).toBeGreaterThanOrEqual(0);
    const rewritten = async (change: (record: AccountRecord) => object): Promise<void> =>
      await write(it.store, [put(KEYS.account(ACCOUNT), change(await recordOf(it)))]);
    await rewritten((record) => ({ ...record, consent: { until: it.core.clock.now() } }));
    expect(await adopt(it, 'ns-1')).toBe('not_found');
    await rewritten(({ consent: _gone, ...record }) => record);
    expect(await adopt(it, 'ns-1')).toBe('not_found');
    await offer(it);
    expect(await adopt(it, 'ns-1')).toBe('adopted');
    expect(await recordOf(it)).not.toHaveProperty('consent');
  });

  test('means the namespace whose UID it has, and no later one of the name', async () => {
    await using it = await operated(backend);
    await offer(it, 'ns-1');
    expect([await adopt(it, 'ns-2'), await adopt(it)]).toEqual(['not_found', 'not_found']);
    expect(await adopt(it, 'ns-1')).toBe('adopted');
  });

  test('gets the UID from the cluster, once, and one that was withdrawn or given anew is left alone', async () => {
    await using it = await operated(backend);
    await it.boundApps.create(await it.caller('uid-app', undefined, bindingTo(ACCOUNT)), APP, 'daemon');
    await offer(it);
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: 'gone/heir' });
    const asked: string[] = [];
    const uidOf = async (namespace: string): Promise<string | undefined> => {
      asked.push(namespace);
      return namespace === 'team' ? 'ns-1' : undefined;
    };
    await round(it, uidOf);
    expect((await recordOf(it)).consent?.namespaceUid).toBe('ns-1');
    await round(it, uidOf);
    expect(asked.toSorted()).toEqual(['gone', 'gone', 'team']);
    const [missing] = await it.offered.missing();
    expect(missing).toEqual({ accountId: ACCOUNT, appId: APP, adoptableBy: 'gone/heir' });
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: null });
    const free = { recheck: () => Promise.resolve(), expect: [], write: [] };
    await it.offered.note(it.origin(), { accountId: ACCOUNT, appId: APP, adoptableBy: 'gone/heir' }, 'ns-9', free);
    expect((await (await it.account())?.app(APP))?.record).not.toHaveProperty('adoptableBy');
    expect([await adopt(it, 'ns-2'), await adopt(it, 'ns-1')]).toEqual(['not_found', 'adopted']);
  });

  test('stays as it is where namespaces may not be read', async () => {
    await using it = await operated(backend);
    await offer(it);
    await round(it, () => Promise.reject(new KubeError('refused', 403, 'forbidden')));
    expect((await recordOf(it)).consent).not.toHaveProperty('namespaceUid');
    expect(await adopt(it)).toBe('adopted');
  });
});
