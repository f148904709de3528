import { expect, test } from 'vitest';
import { ask, panelMuster, signedIn } from '../../support/panel/panel-users.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const DAY_MS = 86_400_000;

onEachBackend("the panel's overview", (backend) => {
  test('names the API keys that expire within 14 days, the next one first, until they have', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { accountId } = await tenant(panel.muster);
    const viewer = await signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    const made = async (name: string, afterMs: number): Promise<void> => {
      const body = { name, expiresAt: new Date(clock.now() + afterMs).toISOString() };
      expect((await asOperator(panel.muster, `/accounts/${accountId}/api-keys`, { method: 'POST', body })).status).toBe(
        201,
      );
    };
    const shown = async (): Promise<unknown> =>
      ((await ask(panel, viewer, `/accounts/${accountId}/overview`)).body['expiringKeys'] as { name: string }[]).map(
        ({ name }) => name,
      );
    await made('in 14 days', 14 * DAY_MS);
    await made('a moment later', 14 * DAY_MS + 1);
    await made('in a minute', 60_000);
    expect(await shown()).toEqual(['in a minute', 'in 14 days']);
    const { body } = await ask(panel, viewer, `/accounts/${accountId}/overview`);
    expect((body['expiringKeys'] as unknown[])[0]).toEqual({
      keyId: expect.any(String) as string,
      name: 'in a minute',
      expiresAt: new Date(clock.now() + 60_000).toISOString(),
    });
    clock.advance(60_000);
    expect(await shown()).toEqual(['in 14 days', 'a moment later']);
  });
});
