import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { putAll } from '../../support/records/backups.ts';
import { auditOf } from '../../support/service/daemon.ts';
import { tenant } from '../../support/service/muster.ts';
import { asCaller, expectRefusal, times } from '../../support/service/v1.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { untilPassing } from '../../support/time/until-passing.ts';

onEachBackend('an account at its limits', (backend) => {
  test('finds in its audit how many requests were refused so, and by which key', async () => {
    const clock = new FakeClock();
    let store: Store | undefined;
    await using muster = await backend.fresh({ clock, wrapStore: (real) => (store = real) });
    const { accountId, apiKey, keyId } = await tenant(muster);
    const quiet = await tenant(muster);
    const ask = asCaller(muster, apiKey);
    if (!store) expect.unreachable('the store is open');
    const full = { apps: LIMITS.appsPerAccountMax, nextSlot: LIMITS.appsPerAccountMax, idempotencyNext: 0 };
    await putAll(store, { [KEYS.counters(accountId)]: full });
    for (let n = 0; n < 3; n += 1) expectRefusal(await ask('POST /v1/apps'), 'limit_reached');
    const answers = await times(LIMITS.requestsPerWindowMax, 20, () => ask('GET /v1/apps'));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(3);

    const told = async () =>
      (await auditOf(muster, accountId)).flatMap(({ actor, action, detail }) =>
        action === 'limit.reached' || action === 'rate.limited' ? [[action, actor, detail]] : [],
      );
    await untilPassing(clock, async () => (await told()).length === 2, 10_000);
    const detail = { count: 3, keyIds: keyId, clients: expect.stringContaining('127.0.0.1') as string };
    expect(await told()).toEqual(
      expect.arrayContaining([
        ['limit.reached', 'muster', detail],
        ['rate.limited', 'muster', detail],
      ]),
    );
    expect((await auditOf(muster, quiet.accountId)).map(({ actor }) => actor)).not.toContain('muster');
  });
});
