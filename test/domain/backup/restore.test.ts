import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { OTEL_REVISIONS_SKIPPED } from '../../../src/domain/backup/restore-rules.ts';
import type { BackupTrust } from '../../../src/domain/backup/restore.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { FORMAT } from '../../../src/domain/records/store-records.ts';
import { settleFormat } from '../../../src/domain/replicas/format.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { backupText, contentOf, putAll, restoreText, RING, ringOf } from '../../support/records/backups.ts';
import { faultyStore, type CommitFate } from '../../support/store/faulty-store.ts';
import { onEachStore } from '../../support/store/stores.ts';

const ACCOUNT = 'a1b2c3d4e5f6g7h8';
const OTHER = 'z1b2c3d4e5f6g7h8';
const CODE = { hash: 'open', issuedAt: 1, expiresAt: 2 };
const APP = {
  name: 'one',
  status: 'active',
  statusAt: 1,
  createdAt: 1,
  slot: 0,
  platform: '',
  agentVersion: '',
  connection: 'cloud',
  credential: 'c',
  codes: [CODE],
  spent: [{ hash: 'gone', why: 'used' }],
  adoptableBy: 'team/one',
  consent: { until: 9, namespaceUid: 'ns-1' },
  later: 'kept',
};
const HEADER = { keyNumber: 2, wrappedKey: 'w', box: 'b' };
const OTEL = {
  revision: 4,
  tag: 'before',
  at: 1,
  config: { enabled: true, endpoint: '', evidenceLevel: 'full', header: HEADER },
};

const TOKEN = {
  userId: 'ann',
  accountId: ACCOUNT,
  role: 'owner',
  name: 'report',
  hash: 'h',
  createdAt: 1,
  expiresAt: 2,
};

/** Whatever is written as it is. */
const PLAIN = {
  [KEYS.account(ACCOUNT)]: {
    name: 'Acme',
    entitlement: 'enterprise',
    disabled: true,
    createdAt: 1,
    adoptableBy: 'team/acme',
    consent: { until: 9, namespaceUid: 'ns-1' },
  },
  [KEYS.apiKey(ACCOUNT, 'key')]: { name: '', hash: 'h', createdAt: 1 },
  [KEYS.counters(ACCOUNT)]: { apps: 1, nextSlot: 1, idempotencyNext: 5 },
  [KEYS.credential('c')]: { accountId: ACCOUNT, appId: 'app' },
  [KEYS.day()]: { day: '2026-06-01' },
  [KEYS.ledger('2026-05', ACCOUNT, '31')]: { day: '2026-05-31', activeDaemons: 1 },
  [KEYS.metered()]: { through: '2026-05-31' },
  [KEYS.statusChange('2026-06-01', ACCOUNT, 'app')]: { before: 'none', after: 'active', at: 1 },
  ...Object.fromEntries(
    Array.from({ length: 250 }, (_none, index) => [KEYS.pastCredential('app', `${1000 + index}`), { index }]),
  ),
};
const KEPT = {
  [KEYS.idempotencyRecord(ACCOUNT, 'name')]: { at: 1, slot: 0, question: '', answer: HEADER },
  [KEYS.idempotencySlot(ACCOUNT, 0)]: { key: 'name' },
};

async function source(store: Store): Promise<string> {
  await settleFormat(store);
  await putAll(store, {
    ...PLAIN,
    ...KEPT,
    [KEYS.app(ACCOUNT, 'app')]: APP,
    [KEYS.otel(ACCOUNT)]: OTEL,
    [KEYS.otel(OTHER)]: { revision: 9, tag: 'purged', at: 1 },
    [KEYS.purge('m1')]: { at: 1, keyNumber: 2 },
    [KEYS.purge('m2')]: { at: 1 },
    [KEYS.purged(1)]: { count: 3 },
    [KEYS.purged(2)]: { count: 4 },
    [KEYS.activeKey()]: { number: 2, fingerprint: 'f' },
    // Whoever was let in or invited before is not so by a restore.
    [KEYS.session('s')]: { userId: 'ann', createdAt: 1, expiresAt: 2, method: 'link', browser: '' },
    [KEYS.accessToken('t')]: TOKEN,
    [KEYS.sessionUses('ann')]: { sessions: [['s', 1]] },
    [KEYS.refresh('s')]: { token: HEADER },
    [KEYS.signIns('ann')]: { failures: 1, failedAt: 1, counters: {}, browsers: [] },
    [KEYS.link('operator', 'l')]: { kind: 'first', linkId: 'l', createdAt: 1, expiresAt: 2, by: 'operator' },
  });
  return await backupText(store);
}

const recordOf = (content: ReadonlyMap<string, string>, key: string): Record<string, unknown> =>
  JSON.parse(content.get(key) ?? '{}') as Record<string, unknown>;

onEachStore('a restore', (stores) => {
  test('writes every record as it was, but for what must not repeat', async () => {
    await using from = await stores.open();
    await using to = await stores.open();
    const { entries: _entries, ...told } = await restoreText(to, await source(from), { opens: (id) => id !== ACCOUNT });
    expect(told).toMatchObject({ codesVoided: 1, unopened: 1, header: { recordsFormat: FORMAT } });
    const content = await contentOf(to);
    for (const [key, record] of Object.entries(PLAIN)) expect([key, recordOf(content, key)]).toEqual([key, record]);
    expect(recordOf(content, KEYS.app(ACCOUNT, 'app'))).toEqual({
      ...APP,
      codes: [],
      spent: [...APP.spent, { hash: 'open', why: 'voided' }],
    });
    const otel = recordOf(content, KEYS.otel(ACCOUNT));
    expect(otel).toEqual({
      ...OTEL,
      revision: 4 + OTEL_REVISIONS_SKIPPED,
      tag: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
    });
    expect(recordOf(content, KEYS.otel(OTHER))).toMatchObject({ revision: 9 + OTEL_REVISIONS_SKIPPED });
    expect(recordOf(content, KEYS.otel(OTHER))['tag']).not.toBe('purged');
    expect(recordOf(content, KEYS.purged(1))).toEqual({ count: 3 });
    expect(recordOf(content, KEYS.purged(2))).toEqual({ count: 5 });
    expect(recordOf(content, KEYS.format())).toEqual({
      format: FORMAT,
      storeId: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    });
    const others = [KEYS.app(ACCOUNT, 'app'), KEYS.otel(ACCOUNT), KEYS.otel(OTHER), KEYS.purged(1), KEYS.purged(2)];
    expect([...content.keys()].toSorted()).toEqual(
      [...Object.keys(PLAIN), ...others, KEYS.format(), 'd/head'].toSorted(),
    );
    await settleFormat(to);
  });

  test('lets an account that had no configuration begin past any that it may have been given since', async () => {
    await using from = await stores.open();
    await using to = await stores.open();
    await settleFormat(from);
    const account = PLAIN[KEYS.account(ACCOUNT)] ?? {};
    await putAll(from, { [KEYS.account(ACCOUNT)]: account, [KEYS.account(OTHER)]: account, [KEYS.otel(OTHER)]: OTEL });
    await restoreText(to, await backupText(from));
    const content = await contentOf(to);
    expect(recordOf(content, KEYS.otel(ACCOUNT))).toEqual({
      revision: OTEL_REVISIONS_SKIPPED,
      tag: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      at: expect.any(Number) as number,
    });
    expect(recordOf(content, KEYS.otel(OTHER))).toMatchObject({ revision: OTEL.revision + OTEL_REVISIONS_SKIPPED });
  });

  test('twice of one file, tells other ETags each time', async () => {
    await using from = await stores.open();
    const text = await source(from);
    const tags = new Set([OTEL.tag]);
    for (let time = 0; time < 2; time += 1) {
      await using to = await stores.open();
      await restoreText(to, text);
      tags.add(String(recordOf(await contentOf(to), KEYS.otel(ACCOUNT))['tag']));
    }
    expect(tags.size).toBe(3);
  });

  test('keeps open codes and idempotency records where it is told to', async () => {
    await using from = await stores.open();
    await using to = await stores.open();
    expect((await restoreText(to, await source(from), { keepCodes: true })).codesVoided).toBe(0);
    const content = await contentOf(to);
    expect(recordOf(content, KEYS.app(ACCOUNT, 'app'))).toEqual(APP);
    for (const [key, record] of Object.entries(KEPT)) expect(recordOf(content, key)).toEqual(record);
  });

  test('writes no credential after its app, even where its commit has to be repeated', async () => {
    await using from = await stores.open();
    await using to = await stores.open();
    const text = await source(from);
    await restoreText(faultyStore(to, ['passes', 'lost before commit']), text);
    const [credential, app] = await Promise.all([to.get(KEYS.credential('c')), to.get(KEYS.app(ACCOUNT, 'app'))]);
    expect(credential?.revision).toBeLessThan(app?.revision ?? 0);
  });

  test('that is cut off at any commit is noticed at start, and by the next restore; nothing else is changed', async () => {
    await using from = await stores.open();
    const text = await source(from);
    let commits = 0;
    for (let cut = 0; ; cut += 1) {
      await using to = await stores.open();
      const faulty = faultyStore(to);
      for (let n = 0; n < cut; n += 1) faulty.fates.push('passes');
      const lost: CommitFate[] = Array.from({ length: 100 }, () => 'lost before commit');
      faulty.fates.push(...lost);
      const fault = await restoreText(faulty, text).then(
        () => undefined,
        (error: unknown) => (error as Error).message,
      );
      if (fault === undefined) break;
      // Whatever went wrong: from the first commit on it says what to do with the store.
      if (cut > 0) expect(fault).toMatch(/holds part of a backup: empty it.*restore again/s);
      commits += 1;
      const left = await contentOf(to);
      expect([cut, left.has(KEYS.restoring())]).toEqual([cut, cut > 0]);
      expect(left.has(KEYS.format())).toBe(false);
      if (cut === 0) expect(left.size).toBe(0);
      else {
        await expect(settleFormat(to)).rejects.toThrow(/restore was not finished.*empty it.*restore again/s);
        await expect(restoreText(to, text)).rejects.toThrow(/was interrupted.*empty it/s);
        expect(await contentOf(to)).toEqual(left);
      }
    }
    expect(commits).toBeGreaterThan(4);
  });

  test('whose answers are lost, of any commit, before or after it happened, goes through all the same', async () => {
    await using from = await stores.open();
    const text = await source(from);
    for (const fate of ['answer lost after commit', 'lost before commit'] as const) {
      await using to = await stores.open();
      const faulty = faultyStore(to, [fate, fate, fate, 'passes', fate, 'passes', fate, 'passes', fate]);
      await restoreText(faulty, text, { keepCodes: true });
      const content = await contentOf(to);
      expect([content.has(KEYS.restoring()), content.has(KEYS.format())]).toEqual([false, true]);
      for (const [key, record] of Object.entries({ ...PLAIN, ...KEPT })) {
        expect([key, recordOf(content, key)]).toEqual([key, record]);
      }
    }
  });

  test.each([
    ['a store that serves', { [KEYS.format()]: { format: FORMAT } }],
    ['a store with anything at all', { 'zz/unknown': {} }],
  ])('into %s is refused, and changes nothing', async (_what, records) => {
    await using from = await stores.open();
    await using to = await stores.open();
    await putAll(to, records);
    const before = await contentOf(to);
    await expect(restoreText(to, await source(from))).rejects.toThrow(/not empty.*Nothing was written/);
    expect(await contentOf(to)).toEqual(before);
  });

  test('of a file that is damaged, or of a newer Muster, writes nothing', async () => {
    await using from = await stores.open();
    const text = await source(from);
    await using to = await stores.open();
    const broken = { ...APP, status: 'unheard of' };
    await putAll(from, { [KEYS.app(ACCOUNT, 'app')]: broken });
    const faults: [string, RegExp][] = [
      [text.slice(0, -2), /breaks off/],
      [text.replace('"Acme"', '"Acne"').replace('Acme', 'Acne'), /altered or damaged/],
      [text.replace('"recordsFormat":1', '"recordsFormat":2'), /newer Muster|altered/],
      [await backupText(from), /app\/app does not have the expected shape at: status/],
    ];
    for (const [file, words] of faults) {
      await expect(restoreText(to, file)).rejects.toThrow(words);
      expect((await contentOf(to)).size).toBe(0);
    }
  });

  test.each([
    ['for the second reading', 1],
    ['for the third', 2],
  ])('of a file that another signed backup takes the place of %s, leaves no format behind', async (_when, reading) => {
    await using from = await stores.open();
    await using to = await stores.open();
    const text = await source(from);
    await putAll(from, { [KEYS.metered()]: { through: '2030-01-01' } });
    const other = await backupText(from);
    const readings = Array.from({ length: 3 }, (_none, n) => (n === reading ? other : text));
    await expect(restoreText(to, readings)).rejects.toThrow(/changed while it was being restored.*empty it/s);
    expect((await contentOf(to)).has(KEYS.format())).toBe(false);
    await expect(settleFormat(to)).rejects.toThrow(/restore was not finished/);
  });

  test('of a backup that no key verifies writes nothing, unless its SHA-256 is that of the whole file', async () => {
    await using from = await stores.open();
    await using to = await stores.open();
    const text = await source(from);
    const sha256 = createHash('sha256').update(text).digest('hex');
    const none = { keyRing: ringOf(7) };
    const refused: [trust: BackupTrust, words: RegExp][] = [
      [none, /key 2, which is not in the key file.*--key-file/],
      [{ keyRing: undefined }, /key 2, which is not in the key file/],
      [{ ...none, sha256: 'a'.repeat(64) }, new RegExp(`not the file that --allow-unsigned names.*${sha256}`)],
      [{ keyRing: RING, sha256: 'a'.repeat(64) }, /not the file that --allow-unsigned names/],
    ];
    for (const [trust, words] of refused) {
      await expect(restoreText(to, text, { trust })).rejects.toThrow(words);
      expect((await contentOf(to)).size).toBe(0);
    }
    await restoreText(to, text, { trust: { ...none, sha256: sha256.toUpperCase() } });
    expect((await contentOf(to)).has(KEYS.format())).toBe(true);
  });

  test('meets another one into the same store: one of them is done, and the other wrote nothing', async () => {
    await using from = await stores.open();
    await using to = await stores.open();
    const text = await source(from);
    const results = await Promise.allSettled([restoreText(to, text), restoreText(to, text)]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const content = await contentOf(to);
    expect(content.has(KEYS.restoring())).toBe(false);
    for (const [key, record] of Object.entries(PLAIN)) expect([key, recordOf(content, key)]).toEqual([key, record]);
  });

  test('meets a service that begins on the empty store: whoever was first has it', async () => {
    await using from = await stores.open();
    await using to = await stores.open();
    const text = await source(from);
    const faulty = faultyStore(to);
    faulty.intercept('commit', 'before', () => settleFormat(to));
    await expect(restoreText(faulty, text)).rejects.toThrow(/Something else writes/);
    expect([...(await contentOf(to)).keys()].toSorted()).toEqual(['d/head', KEYS.format()]);
  });

  test('begins while a service checks the empty store: that service does not start', async () => {
    await using to = await stores.open();
    const faulty = faultyStore(to);
    faulty.intercept('commit', 'before', () => putAll(to, { [KEYS.restoring()]: { at: 1 } }));
    await expect(settleFormat(faulty)).rejects.toThrow(/restore was not finished/);
    expect((await contentOf(to)).has(KEYS.format())).toBe(false);
  });

  test('never writes over what somebody else has put there meanwhile', async () => {
    await using from = await stores.open();
    await using to = await stores.open();
    const text = await source(from);
    const faulty = faultyStore(to);
    faulty.intercept('commit', 'after', () => putAll(to, { [KEYS.metered()]: { through: 'of another' } }));
    await expect(restoreText(faulty, text)).rejects.toThrow(/Something else writes/);
    expect(recordOf(await contentOf(to), KEYS.metered())).toEqual({ through: 'of another' });
  });

  test('ends where the store is emptied under it, and leaves nothing that looks whole', async () => {
    await using from = await stores.open();
    await using to = await stores.open();
    const text = await source(from);
    const faulty = faultyStore(to);
    faulty.intercept('commit', 'after', () =>
      to.commit({ expect: [expectAbsent('never')], write: [{ remove: KEYS.restoring() }] }),
    );
    await expect(restoreText(faulty, text)).rejects.toThrow(/Something else writes/);
    expect([...(await contentOf(to)).keys()]).toEqual(['d/head']);
  });
});
