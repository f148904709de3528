import { expect, test } from 'vitest';
import { startedAgent } from '../../../support/opamp/fleet.ts';
import { ask, panelMuster, signedIn } from '../../../support/panel/panel-users.ts';
import { createApp, enroll, tenant } from '../../../support/service/muster.ts';
import { setOtel } from '../../../support/service/daemon.ts';
import { onEachBackend } from '../../../support/store/backends.ts';

/* The numbers of a rollout in the panel are those of the rows of the list of apps that they lead to. */

onEachBackend('the legend of a rollout', (backend) => {
  test('counts an agent that applied the configuration and is unhealthy as the list does', async () => {
    await using panel = await panelMuster(backend);
    const own = await tenant(panel.muster);
    const { accountId, apiKey } = own;
    const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    const read = async (path: string) => (await ask(panel, owner, `/accounts/${accountId}/rollout${path}`)).body;
    await setOtel(panel.muster, apiKey);

    const [well, ill] = [await startedAgent(panel.muster, own), await startedAgent(panel.muster, own)];
    for (const { agent, first } of [well, ill]) await agent.acknowledge(first);
    await well.agent.say({ health: { healthy: true } });
    await ill.agent.say({ health: { healthy: false, lastError: 'the queue is full' } });
    const daemon = async (connection: 'cloud' | 'private'): Promise<void> => {
      await enroll(panel.muster, await createApp(panel.muster, apiKey), connection);
    };
    await daemon('cloud');
    await daemon('private');

    const rows = (await read('/apps'))['apps'] as { appId: string; state: string }[];
    const counted = (state: string): number => rows.filter((row) => row.state === state).length;
    const states = {
      applied: counted('applied'),
      failed: counted('failed'),
      pending: counted('pending'),
      stale: counted('silent'),
      unhealthy: counted('unhealthy'),
    };
    expect(states).toEqual({ applied: 1, failed: 0, pending: 1, stale: 0, unhealthy: 1 });
    expect(await read('')).toMatchObject({ devices: 3, applied: 2, pending: 1, states });
  });
});
