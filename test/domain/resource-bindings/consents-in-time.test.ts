import { expect, test } from 'vitest';
import { KubeError } from '../../../src/controller/kubernetes/client/kube-api.ts';
import {
  noteOfferedNamespaces,
  noteRound,
  type OfferedNamespacesDeps,
} from '../../../src/controller/kubernetes/offered-namespaces.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { AccountRecord } from '../../../src/domain/records/account-records.ts';
import type { Owner } from '../../../src/domain/resource-bindings/adoption.ts';
import type { NamelessOffer } from '../../../src/domain/resource-bindings/offered-namespaces.ts';
import type { Clock } from '../../../src/time/clock.ts';
import { ACCOUNT, bindingTo, operated, type Operated } from '../../support/kubernetes/bound-core.ts';
import { write } from '../../support/metering/metering.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';
import { rawPut } from '../../support/store/raw-key.ts';

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

type UidOf = (namespace: string) => Promise<string | undefined>;

/** What the leader has, in a cluster with these namespaces. */
const leading = (it: Operated, namespaceUid: UidOf, signal = new AbortController().signal): OfferedNamespacesDeps => ({
  api: { namespaceUid },
  term: { fence: [], signal },
  domain: { offeredNamespaces: it.offered, random: systemRandom() },
  clock: it.core.clock,
  deadlines: { requestMs: 60_000 },
  log: it.core.log,
});

const missing = async (it: Operated): Promise<readonly NamelessOffer[]> => {
  const found: NamelessOffer[] = [];
  for await (const one of it.offered.missing()) found.push(one);
  return found;
};

onEachBackend('a consent', (backend) => {
  test('holds for 7 days, and one of an earlier version not at all', async () => {
    await using it = await operated(backend);
    const before = it.core.clock.now();
    await offer(it);
    const end = (await recordOf(it)).consent?.until ?? 0;
    expect(end - LIMITS.consentMs - before).toBeGreaterThanOrEqual(0);
    const rewritten = async (change: (record: AccountRecord) => object): Promise<void> =>
      await write(it.store, [rawPut(KEYS.account(ACCOUNT), change(await recordOf(it)))]);
    await rewritten((record) => ({ ...record, consent: { until: it.core.clock.now() } }));
    expect(await adopt(it, 'ns-1')).toBe('not_found');
    expect(await missing(it)).toEqual([]);
    await rewritten(({ consent: _gone, ...record }) => record);
    expect(await adopt(it, 'ns-1')).toBe('not_found');
    await offer(it);
    expect(await adopt(it, 'ns-1')).toBe('adopted');
    expect(await recordOf(it)).not.toHaveProperty('consent');
  });

  test('that is given anew has a new end, and means the namespace that has the name by then', async () => {
    await using it = await operated(backend);
    await offer(it, 'ns-1');
    const first = (await recordOf(it)).consent?.until ?? 0;
    await until(() => it.core.clock.now() > first - LIMITS.consentMs);
    await offer(it);
    expect((await recordOf(it)).consent?.until).toBeGreaterThan(first);
    expect((await recordOf(it)).consent).not.toHaveProperty('namespaceUid');
    expect(await adopt(it, 'ns-2')).toBe('adopted');
  });

  test('that is withdrawn has ended', async () => {
    await using it = await operated(backend);
    await offer(it, 'ns-1');
    await it.accounts.change(it.origin(), ACCOUNT, { adoptableBy: null });
    expect(await recordOf(it)).not.toHaveProperty('consent');
    expect(await adopt(it, 'ns-1')).toBe('not_found');
  });

  test.each([[undefined], [null]])('of adoptableBy %j takes no UID', async (adoptableBy) => {
    await using it = await operated(backend);
    await offer(it, 'ns-1');
    const patch = { adoptableBy, namespaceUid: 'ns-2' };
    await expect(it.accounts.change(it.origin(), ACCOUNT, patch)).rejects.toMatchObject({ code: 'conflict' });
    expect((await recordOf(it)).consent?.namespaceUid).toBe('ns-1');
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
    const uidOf: UidOf = async (namespace) => {
      asked.push(namespace);
      return namespace === 'team' ? 'ns-1' : undefined;
    };
    await noteRound(leading(it, uidOf));
    expect((await recordOf(it)).consent?.namespaceUid).toBe('ns-1');
    await noteRound(leading(it, uidOf));
    expect(asked.toSorted()).toEqual(['gone', 'gone', 'team']);
    const [late] = await missing(it);
    if (!late) return expect.unreachable();
    expect(late).toMatchObject({ accountId: ACCOUNT, appId: APP, adoptableBy: 'gone/heir' });
    const free = { recheck: () => Promise.resolve(), expect: [], write: [] };
    const consentOf = async () => (await (await it.account())?.app(APP))?.record.consent;
    await it.offered.note(it.origin(), { ...late, until: late.until - 1 }, 'ns-9', free);
    expect(await consentOf()).toEqual({ until: late.until });
    await it.consents.change(it.origin(), ACCOUNT, APP, { adoptableBy: null });
    await it.offered.note(it.origin(), late, 'ns-9', free);
    expect(await consentOf()).toBeUndefined();
    expect([await adopt(it, 'ns-2'), await adopt(it, 'ns-1')]).toEqual(['not_found', 'adopted']);
  });

  test('is noted as soon as the leader learns of it', async () => {
    await using it = await operated(backend);
    const ending = new AbortController();
    const pauses = new FakeClock();
    // The deadlines of its commits are of the clock that judges them.
    const clock: Clock = { ...it.core.clock, sleep: (ms, signal) => pauses.sleep(ms, signal) };
    const working = noteOfferedNamespaces({ ...leading(it, async () => 'ns-1', ending.signal), clock });
    // The round at the beginning of the term has found nothing.
    await until(() => pauses.sleeping > 0);
    await offer(it);
    pauses.advance(1000);
    await until(async () => (await recordOf(it)).consent?.namespaceUid === 'ns-1');
    ending.abort();
    await working;
  });

  test('is of no use where namespaces may not be read', async () => {
    await using it = await operated(backend);
    await offer(it);
    await noteRound(leading(it, () => Promise.reject(new KubeError('refused', 403, 'forbidden'))));
    expect((await recordOf(it)).consent).not.toHaveProperty('namespaceUid');
    expect(await adopt(it)).toBe('not_found');
    expect(await adopt(it, 'ns-1')).toBe('adopted');
  });
});
