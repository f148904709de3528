import { expect, test } from 'vitest';
import { OPERATOR_AUDIT } from '../../../src/domain/records/audit-records.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { ConfigurationFault } from '../../../src/domain/refusal.ts';
import { expectAbsent, StoreUnavailable, type Store } from '../../../src/store/port.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { backupsOf, backupText, copiedAt, ORIGIN, putAll, readText, RING } from '../../support/records/backups.ts';
import { onEachStoreAlone } from '../../support/store/stores.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const COUNT = 1000;
const keyOf = (index: number): string => `cred/${String(index).padStart(5, '0')}`;

/** More than fits in a page, many times. */
async function filled(store: Store): Promise<Store> {
  const records = Array.from({ length: COUNT }, (_none, index): [string, object] => [keyOf(index), { n: 0 }]);
  await putAll(store, Object.fromEntries(records));
  return store;
}

// It compacts the whole etcd.
onEachStoreAlone('a backup', (stores) => {
  test('is of one revision, whatever is written, removed and compacted between two of its pages', async () => {
    await using store = await filled(await stores.open());
    let round = 0;
    const text = await backupText(store, async () => {
      round += 1;
      await putAll(store, { [keyOf(COUNT - round)]: { n: round }, [keyOf(round)]: { n: round }, [`zz/${round}`]: {} });
      await store.commit({
        expect: [expectAbsent('never')],
        write: [{ remove: rawKey(keyOf(COUNT - 100 - round)) }],
      });
      await store.compact((await store.list({ prefix: 'x', limit: 1 })).revision);
    });
    expect(round).toBeGreaterThan(5);
    const { entries } = await readText(text);
    expect(entries.map(({ key, value }) => [key, value])).toEqual(
      Array.from({ length: COUNT }, (_none, index) => [keyOf(index), '{"n":0}']),
    );
  });

  test('has every record as it is at its revision, and nothing of what belongs to the life of the store', async () => {
    await using store = await filled(await stores.open());
    const processes = [KEYS.leader(), KEYS.replica('r'), KEYS.pin('p'), KEYS.rateWindow('a')];
    const scopes = ['operator', 'operator-a1b2c3d4e5f6g7h8'];
    const ofOperator = scopes.flatMap((scope) => [
      KEYS.idempotencyRecord(scope, 'name'),
      KEYS.idempotencySlot(scope, 0),
      KEYS.idempotencyRing(scope),
    ]);
    const records = [KEYS.format(), KEYS.compaction(), ...processes, ...ofOperator];
    await putAll(store, Object.fromEntries(records.map((key) => [key, { at: 1 }])));
    await putAll(store, {
      [KEYS.activeKey()]: { number: 1, fingerprint: 'f' },
      [KEYS.rewrapped()]: { number: 1 },
      [KEYS.day()]: { day: 'd' },
      // Of an account whose id begins so.
      [KEYS.idempotencyRecord('operator12345678', 'name')]: { at: 1 },
    });
    let held: Awaited<ReturnType<typeof copiedAt>> = [];
    let text = '';
    {
      const begun = await backupsOf(store).begin({ counted: true, origin: ORIGIN });
      if (begun === 'busy') throw new Error('busy');
      await using backup = begun;
      for await (const piece of backup.pieces()) text += piece;
      held = await copiedAt(store, (await readText(text)).revision);
    }
    const { entries, counted } = await readText(text);
    expect(entries).toEqual(held);
    expect([entries.length, counted]).toEqual([COUNT + 2, COUNT + 2]);
    expect(entries.map(({ key }) => key).filter((key) => !key.startsWith('cred/'))).toEqual([
      KEYS.day(),
      KEYS.idempotencyRecord('operator12345678', 'name'),
    ]);
  });

  test('is made one at a time; the next one may begin when the one before is let go of, finished or not', async () => {
    await using store = await filled(await stores.open());
    const backups = backupsOf(store);
    const first = await backups.begin({ counted: false, origin: ORIGIN });
    expect(await backups.begin({ counted: false, origin: ORIGIN })).toBe('busy');
    if (first === 'busy') throw new Error('busy');
    await first.pieces().next();
    await first[Symbol.asyncDispose]();
    expect((await store.list({ prefix: KEYS.pin.under(), limit: 10 })).entries).toEqual([]);
    const second = await backups.begin({ counted: false, origin: ORIGIN });
    expect(second).not.toBe('busy');
    if (second !== 'busy') await second[Symbol.asyncDispose]();
  });

  test('that cannot begin holds nothing, and leaves the way free', async () => {
    await using store = await filled(await stores.open());
    let down = true;
    const hold: Store['hold'] = (...args) =>
      down ? Promise.reject(new StoreUnavailable('unreachable', 'down')) : store.hold(...args);
    const backups = backupsOf(wrappedStore(store, { hold }));
    await expect(backups.begin({ counted: false, origin: ORIGIN })).rejects.toThrow('down');
    const refused: Store['commit'] = () => Promise.resolve({ outcome: 'conflict' });
    await expect(backupText(wrappedStore(store, { commit: refused }))).rejects.toThrow('could not be written');
    down = false;
    const begun = await backups.begin({ counted: false, origin: ORIGIN });
    expect(begun).not.toBe('busy');
    if (begun !== 'busy') await begun[Symbol.asyncDispose]();
  });

  test('that is compacted away while it is counted, is an outage, and another one can begin', async () => {
    await using store = await filled(await stores.open());
    let pages = 0;
    const backups = backupsOf(
      wrappedStore(store, {
        listAt: (...args) => ((pages += 1) === 1 ? Promise.resolve('compacted') : store.listAt(...args)),
      }),
    );
    await expect(backups.begin({ counted: true, origin: ORIGIN })).rejects.toThrow(StoreUnavailable);
    const begun = await backups.begin({ counted: true, origin: ORIGIN });
    expect(begun).not.toBe('busy');
    if (begun !== 'busy') await begun[Symbol.asyncDispose]();
  });

  test('is signed under the active key, which need not be the newest, and never without it', async () => {
    await using store = await stores.open();
    const signedUnder = async (): Promise<unknown> => JSON.parse((await backupText(store)).split('\n')[0] ?? '');
    expect(await signedUnder()).toMatchObject({ key: { number: 2, fingerprint: RING.fingerprint(2) } });
    await putAll(store, { [KEYS.activeKey()]: { number: 1, fingerprint: RING.fingerprint(1) } });
    expect(await signedUnder()).toMatchObject({ key: { number: 1, fingerprint: RING.fingerprint(1) } });
    await putAll(store, { [KEYS.activeKey()]: { number: 3, fingerprint: 'f' } });
    await expect(backupText(store)).rejects.toThrow(/Key 3 is in use, and not in the key file/);
    await expect(backupText(store)).rejects.toThrow(ConfigurationFault);
  });

  test('is in the audit of the service and in the log before its first byte, and another one could not begin without', async () => {
    await using store = await filled(await stores.open());
    const logged: string[] = [];
    const begun = await backupsOf(store, logged).begin({ counted: false, origin: ORIGIN });
    if (begun === 'busy') throw new Error('busy');
    await using backup = begun;
    const audited = async (): Promise<unknown[]> =>
      (await store.list({ prefix: KEYS.audit.under(OPERATOR_AUDIT), limit: 10 })).entries.map(
        ({ value }) => JSON.parse(value) as unknown,
      );
    const { actor, requestId } = ORIGIN;
    const at = new FakeClock().now();
    const revision = expect.any(Number) as number;
    const detail = { revision, keyNumber: 2 };
    expect(await audited()).toEqual([{ at, actor, action: 'backup.begun', requestId, detail }]);
    let text = '';
    for await (const piece of backup.pieces()) text += piece;
    expect((await readText(text)).entries).toHaveLength(COUNT);
    expect(logged.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { level: 'info', actor, requestId, ...detail, action: 'backup.begun', msg: 'an export begins' },
      { level: 'info', ...detail, msg: 'a backup was sent whole' },
    ]);
    const down: Store['commit'] = () => Promise.reject(new StoreUnavailable('unreachable', 'down'));
    await expect(backupText(wrappedStore(store, { commit: down }))).rejects.toThrow('down');
    expect(await audited()).toHaveLength(1);
  });

  test('is made of a full store too, which takes no entry of it: the log says so', async () => {
    await using store = await filled(await stores.open());
    const full: Store['commit'] = () => Promise.reject(new StoreUnavailable('full', 'full'));
    const logged: string[] = [];
    const backups = backupsOf(wrappedStore(store, { commit: full }), logged);
    const begun = await backups.begin({ counted: false, origin: ORIGIN });
    expect(begun).not.toBe('busy');
    if (begun !== 'busy') await begun[Symbol.asyncDispose]();
    expect(logged.at(-1)).toMatch(/"level":"error".*the audit lacks an export/);
  });

  test.each<readonly [string, readonly ('hold' | 'commit')[]]>([
    ['takes no pin', ['hold']],
    ['takes no writes at all', ['hold', 'commit']],
  ])('is made whole of a full store that %s, also where this process compacts it meanwhile', async (_, refused) => {
    await using store = await filled(await stores.open());
    const full = (): Promise<never> => Promise.reject(new StoreUnavailable('full', 'full'));
    const fullStore = wrappedStore(store, Object.fromEntries(refused.map((call) => [call, full])));
    let round = 0;
    const text = await backupText(fullStore, async () => {
      // Somebody makes room, and writes are taken again.
      await putAll(store, { [keyOf(COUNT - 1)]: { n: (round += 1) } });
      await store.compact((await store.list({ prefix: 'x', limit: 1 })).revision);
    });
    const { entries } = await readText(text);
    const records = entries.filter(({ key }) => key.startsWith('cred/'));
    expect(records.map(({ key, value }) => [key, value])).toEqual(
      Array.from({ length: COUNT }, (_none, index) => [keyOf(index), '{"n":0}']),
    );
  });

  test.each([
    ['somebody compacted past it', () => Promise.resolve('compacted' as const), /history .* compacted .* run it again/],
    [
      'the store went away',
      () => Promise.reject(new StoreUnavailable('timeout', 'secret')),
      /the store is unavailable/,
    ],
  ])('says at its end that %s, and is none', async (_what, listAt, words) => {
    await using store = await filled(await stores.open());
    let pages = 0;
    const text = await backupText(
      wrappedStore(store, { listAt: (...args) => ((pages += 1) > 2 ? listAt() : store.listAt(...args)) }),
    );
    expect(text).not.toContain('secret');
    await expect(readText(text)).rejects.toThrow(words);
  });
});
