import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { parseRecord, put } from '../../../src/domain/records/codec.ts';
import { keyScope } from '../../../src/domain/records/idempotency-records.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { write } from '../../support/metering/metering.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { call, tenant, type Answer } from '../../support/service/muster.ts';
import { onEachBackend, type Backend } from '../../support/store/backends.ts';

/* H19, H23: the answers that are kept for a restricted key are its own, 100 of them. */

const KEPT_MAX = 100;

/** An account with its key and one that enrolls. How many answers they have had is written, and not asked for. */
async function scene(backend: Backend) {
  let opened: Store | undefined;
  const muster = await backend.fresh({ wrapStore: (real) => (opened = real) });
  const { accountId, apiKey } = await tenant(muster);
  const made = await asOperator(muster, `/accounts/${accountId}/api-keys`, {
    method: 'POST',
    body: { access: 'enroll' },
  });
  const ring = KEYS.idempotencyRing(keyScope(accountId, String(made.body['keyId'])));
  const tally = KEYS.counters(accountId);
  const create = (token: string, key: string): Promise<Answer> =>
    call(`${muster.api}/v1/apps`, { method: 'POST', token, body: {}, headers: { 'idempotency-key': key } });
  return {
    full: (key: string) => create(apiKey, key),
    restricted: (key: string) => create(String(made.body['apiKey']), key),
    /** The account, and the restricted key, have had so many answers. */
    async had({ ofAccount, ofKey }: { ofAccount?: number; ofKey?: number }): Promise<void> {
      if (!opened) throw new Error('The store is not open.');
      const [counters, own] = [await opened.get(tally), await opened.get(ring)];
      if (ofAccount !== undefined && counters) {
        const { record } = parseRecord(KEYS.counters, counters);
        await write(opened, [put(tally, { ...record, idempotencyNext: ofAccount })]);
      }
      if (ofKey !== undefined && own) {
        await write(opened, [put(ring, { ...parseRecord(KEYS.idempotencyRing, own).record, next: ofKey })]);
      }
    },
    [Symbol.asyncDispose]: () => muster[Symbol.asyncDispose](),
  };
}

const isReplay = ({ status, headers }: Answer): readonly [number, boolean] => [
  status,
  headers.get('idempotency-replayed') === 'true',
];
const MADE = [201, false];
const REPLAYED = [201, true];

onEachBackend('the kept answers of a key that enrolls', (backend) => {
  test('end none of the account, whose own next answer does', async () => {
    await using it = await scene(backend);
    expect(isReplay(await it.full('first'))).toEqual(MADE);
    expect(isReplay(await it.restricted('own'))).toEqual(MADE);
    // The slots of both begin anew with the next one.
    await it.had({ ofAccount: LIMITS.idempotencyKeptPerAccountMax, ofKey: KEPT_MAX });
    expect(isReplay(await it.restricted('next'))).toEqual(MADE);
    expect(isReplay(await it.full('first'))).toEqual(REPLAYED);
    expect(isReplay(await it.full('next'))).toEqual(MADE);
    expect(isReplay(await it.full('first'))).toEqual(MADE);
  });

  test('are 100: one more ends the oldest, and no other', async () => {
    await using it = await scene(backend);
    for (const key of ['first', 'second']) expect(isReplay(await it.restricted(key))).toEqual(MADE);
    await it.had({ ofKey: KEPT_MAX - 1 });
    expect(isReplay(await it.restricted('the 100th'))).toEqual(MADE);
    for (const key of ['first', 'second']) expect(isReplay(await it.restricted(key))).toEqual(REPLAYED);
    expect(isReplay(await it.restricted('the 101st'))).toEqual(MADE);
    expect(isReplay(await it.restricted('second'))).toEqual(REPLAYED);
    expect(isReplay(await it.restricted('first'))).toEqual(MADE);
  });
});
