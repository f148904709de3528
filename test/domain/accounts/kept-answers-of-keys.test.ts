import { expect, test } from 'vitest';
import { asOperator } from '../../support/panel/visitor.ts';
import { call, createApp, tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

onEachBackend('a key that enrolls', (backend) => {
  test('ends no kept answer of another key', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const { accountId, apiKey } = await tenant(muster);
    const made = await asOperator(muster, `/accounts/${accountId}/api-keys`, {
      method: 'POST',
      body: { access: 'enroll' },
    });
    const key = String(made.body['apiKey']);
    const create = () =>
      call(`${muster.api}/v1/apps`, {
        method: 'POST',
        token: apiKey,
        body: { name: 'one' },
        headers: { 'idempotency-key': 'mine' },
      });
    const first = await create();
    expect((await create()).body['appId']).toBe(first.body['appId']);
    const { appId } = await createApp(muster, key);
    for (let n = 0; n < 1000; n += 1) {
      if (n % 500 === 0) clock.advance(65_000);
      const issued = await call(`${muster.api}/v1/apps/${appId}/enroll-code`, {
        method: 'POST',
        token: key,
        headers: { 'idempotency-key': `k${n}` },
      });
      if (issued.status !== 201) throw new Error(`${n} ${issued.text}`);
    }
    clock.advance(65_000);
    expect((await create()).body['appId']).toBe(first.body['appId']);
  }, 120_000);
});
