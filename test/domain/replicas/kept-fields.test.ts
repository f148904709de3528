import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HEAD_KEY, type Store, type Write } from '../../../src/store/port.ts';
import { wrappedStore } from '../../../src/store/wrapped.ts';
import { frontOf } from '../../fixtures/stored-before/front.ts';
import { BEGINS, liveIn } from '../../fixtures/stored-before/lived-in.ts';
import { keyLine } from '../../support/records/key-lines.ts';
import { OPERATOR_TOKEN } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* A replica keeps the fields that a later version has added to a record when it writes that record again (ADR 0023). */

const ADDED = 'ofALaterVersion';

/**
 * These are written anew as a whole, from what the replica itself has seen or does: no later version can add to them what
 * must outlive that.
 */
const WRITTEN_ANEW = /^(?:replica|rate|rate-ages|pin|leader|compaction|d\/day$)/;

/** The kinds of records that this walk writes again. */
const WRITTEN_AGAIN = [
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
    await liveIn({ front: frontOf(muster.service, OPERATOR_TOKEN), clock, addKey });
    expect([...(added?.lost ?? [])].toSorted()).toEqual([]);
    expect([...(added?.kept ?? [])].toSorted()).toEqual(WRITTEN_AGAIN);
  });
});
