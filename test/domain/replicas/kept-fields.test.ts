import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { createFleetHistory } from '../../../src/domain/fleet-history/fleet-history.ts';
import { countCompactedPurges } from '../../../src/domain/history/purges.ts';
import { createLastUses } from '../../../src/domain/last-uses/last-uses.ts';
import { NameRecord, readNames } from '../../../src/domain/sign-ins/name-records.ts';
import { createLog } from '../../../src/log.ts';
import { expectAbsent, expectAsFound, HEAD_KEY, type Store, type Write } from '../../../src/store/port.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { DAY_MS, HOUR_MS } from '../../../src/time/utc-days.ts';
import { frontOf } from '../../fixtures/stored-before/front.ts';
import { BEGINS, liveIn } from '../../fixtures/stored-before/lived-in.ts';
import { keyLine } from '../../support/records/key-lines.ts';
import { sendEnroll } from '../../support/service/daemon.ts';
import { call, OPERATOR_TOKEN, poll, type CreatedApp, type Muster } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { rawPut } from '../../support/store/raw-key.ts';

/* A replica keeps the fields that a later version has added to a record when it writes that record again (ADR 0023). */

const ADDED = 'ofALaterVersion';

/**
 * These are written anew as a whole, from what the replica itself has seen or does: no later version can add to them
 * what must outlive that.
 */
const WRITTEN_ANEW = /^(?:replica|rate|rate-ages|pin|leader|compaction|revision|d\/day$)/;

/** The kinds of records that this walk writes again. */
const WRITTEN_AGAIN = [
  'ack/*/*',
  'chain/*',
  'chain/operator',
  'd/a/*',
  'd/a/*/app/*',
  'd/a/*/otel',
  'd/a/*/seen',
  'd/a/*/tally',
  'd/keys',
  'life/*/*/*',
  'metered',
  'refused/*/*',
  'review/*/*/*',
  'rewrapped',
  'used/*',
];

/** The store of which a later version has added a field to every record, and what was written without it again. */
function addedTo(store: Store): { store: Store; lost: Set<string>; kept: Set<string> } {
  const [lost, kept] = [new Set<string>(), new Set<string>()];
  const kindOf = (key: string): string => key.replaceAll(/(?<=\/)(?:[\w-]*\d[\w-]*|[\w-]{12,})(?=\/|$)/g, '*');
  async function withField(write: Write): Promise<Write> {
    if (!('put' in write) || write.put === HEAD_KEY || WRITTEN_ANEW.test(write.put)) return write;
    const record = JSON.parse(write.value) as object;
    const before = await store.get(write.put);
    if (before) (ADDED in record ? kept : lost).add(kindOf(write.put));
    return { ...write, value: JSON.stringify({ ...record, [ADDED]: true }) };
  }
  const commit: Store['commit'] = async (change) =>
    await store.commit({ ...change, write: await Promise.all(change.write.map(withField)) });
  return { store: wrappedStore(store, { commit }), lost, kept };
}

onEachStore('fields of a later version', (stores) => {
  /** Adds the field to the record of a key. */
  async function addTo(store: Store, key: string): Promise<void> {
    const entry = await store.get(key);
    const record = { ...(JSON.parse(entry?.value ?? '') as object), [ADDED]: true };
    await store.commit({ expect: [expectAsFound(key, entry)], write: [rawPut(key, record)] });
  }
  const recordAt = async (store: Store, key: string): Promise<unknown> =>
    JSON.parse((await store.get(key))?.value ?? 'null');

  test('stay with the last uses of sessions', async () => {
    await using store = await stores.open();
    const clock = new FakeClock(BEGINS);
    const uses = createLastUses('sessions', { store, clock, log: createLog('silent'), idsOf: () => ['s'] });
    const key = KEYS.sessionUses('u');
    uses.used('u', 's');
    await uses.flush();
    await addTo(store, key);
    clock.advance(60_000);
    uses.used('u', 's');
    await uses.flush();
    expect(await recordAt(store, key)).toEqual({ [ADDED]: true, sessions: [['s', BEGINS + 60_000]] });
  });

  test('stay with the hours of a fleet', async () => {
    await using store = await stores.open();
    const clock = new FakeClock(BEGINS);
    const [clockWatch, listening] = [{ trusted: () => true }, { forMs: () => 1 }];
    const history = createFleetHistory({ store, clock, clockWatch, listening, staleAfterMs: 1 }, []);
    const key = KEYS.fleetDay('a', Math.floor(BEGINS / DAY_MS));
    const count = async (): Promise<void> => {
      const hour = history.due() ?? expect.unreachable('an hour is to be counted');
      history.counted(hour, [{ accountId: 'a', active: 1, silent: 0, failed: 0 }]);
      await history.round(new AbortController().signal);
    };
    await count();
    await addTo(store, key);
    clock.advance(HOUR_MS);
    await count();
    expect(await recordAt(store, key)).toMatchObject({ [ADDED]: true });
  });

  test('stay with the count of purged secrets', async () => {
    await using store = await stores.open();
    for (const count of [1, 2]) {
      await store.commit({
        expect: [expectAbsent(KEYS.purge('p'))],
        write: [put(KEYS.purge('p'), { at: BEGINS, keyNumber: 1 })],
      });
      await countCompactedPurges(store, (await store.head()).revision);
      expect(await recordAt(store, KEYS.purged(1))).toMatchObject({ count });
      if (count === 1) await addTo(store, KEYS.purged(1));
    }
    expect(await recordAt(store, KEYS.purged(1))).toEqual({ [ADDED]: true, count: 2 });
  });
});

test('stay with the failures of names, in each copy of them', () => {
  const text = JSON.stringify({ ...new NameRecord().toRecord(), [ADDED]: true });
  const { record } = readNames(1, { key: KEYS.signInNames(1), value: text, revision: 1 });
  expect(record.copy().toRecord()).toMatchObject({ [ADDED]: true });
});

onEachBackend('fields of a later version', (backend) => {
  test('stay in every record that is written again, through three days with something of everything', async () => {
    const clock = new FakeClock(BEGINS);
    let added: ReturnType<typeof addedTo> | undefined;
    await using muster = await backend.fresh({
      clock,
      env: { MUSTER_PRICE_PER_DAEMON_MONTH: '7.50' },
      wrapStore: (real) => (added = addedTo(real)).store,
    });
    const addKey = (): void => appendFileSync(join(muster.dataDir, 'keys'), keyLine(2));
    const { steady, revoked } = await liveIn({ front: frontOf(muster.service, OPERATOR_TOKEN), clock, addKey });
    await refuseAndAcknowledgeAgain(muster, clock, steady.credential, revoked);
    expect([...(added?.lost ?? [])].toSorted()).toEqual([]);
    expect([...(added?.kept ?? [])].toSorted()).toEqual(WRITTEN_AGAIN);
  });
});

/** The walk does neither of them twice. */
async function refuseAndAcknowledgeAgain(
  muster: Muster,
  clock: FakeClock,
  credential: string,
  spent: CreatedApp,
): Promise<void> {
  clock.advance(HOUR_MS);
  expect((await sendEnroll(muster, spent)).status).toBe(401);
  const { revision } = (await poll(muster, credential)).body;
  const acknowledged = await call(`${muster.device}/device/v1/config/ack`, {
    method: 'POST',
    token: credential,
    body: { revision, status: 'failed', error: 'the disk is full' },
  });
  expect(acknowledged.status).toBe(204);
}
