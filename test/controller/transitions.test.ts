import { expect, test } from 'vitest';
import { KEYS } from '../../src/domain/records/keys.ts';
import type { Store } from '../../src/store/port.ts';
import { auditOf, setOtel } from '../support/service/daemon.ts';
import { call, createApp, enroll, poll, tenant } from '../support/service/muster.ts';
import { onEachBackend } from '../support/store/backends.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { untilPassing } from '../support/time/until-passing.ts';

const STEP_MS = 5000;
const ACTIONS: readonly string[] = ['rollout.completed', 'app.silent', 'app.back'];

onEachBackend('the leader of a service', (backend) => {
  test('tells a rollout that is completed, then a daemon that falls silent, and that it is back', async () => {
    const clock = new FakeClock();
    let store: Store | undefined;
    await using muster = await backend.fresh({ clock, wrapStore: (real) => (store = real) });
    await untilPassing(clock, async () => (await store?.get(KEYS.telling())) !== undefined, STEP_MS);
    const { accountId, apiKey } = await tenant(muster);
    const app = await createApp(muster, apiKey);
    const credential = await enroll(muster, app, 'cloud');
    await setOtel(muster, apiKey);
    const { revision } = (await poll(muster, credential)).body;
    const body = { revision, status: 'applied' };
    const ack = await call(`${muster.device}/device/v1/config/ack`, { method: 'POST', token: credential, body });
    expect(ack.status).toBe(204);
    const told = async () => (await auditOf(muster, accountId)).filter(({ action }) => ACTIONS.includes(action));
    const actions = async () => (await told()).map(({ action }) => action);
    await untilPassing(clock, async () => (await actions()).length === 2, STEP_MS);
    await poll(muster, credential);
    await untilPassing(clock, async () => (await actions()).length === 3, STEP_MS);
    expect(await actions()).toEqual(ACTIONS);
    expect((await told()).map(({ actor, appId, detail }) => [actor, appId, Object.keys(detail)])).toEqual([
      ['muster', undefined, ['revision', 'devices']],
      ['muster', app.appId, ['lastSeenAt']],
      ['muster', app.appId, ['silentSince', 'silentSeconds']],
    ]);
  });
});
