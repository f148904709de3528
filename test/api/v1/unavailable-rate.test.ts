import { expect, test } from 'vitest';
import { DEADLINES, type Deadlines } from '../../../src/domain/limits.ts';
import { tenant, type Answer, type Muster } from '../../support/service/muster.ts';
import { asCaller, expectRefusal, type Ask } from '../../support/service/v1.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyForRequests, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { simulatedTimers } from '../../support/time/simulated-timers.ts';
import { until } from '../../support/time/until.ts';

interface Started extends AsyncDisposable {
  readonly muster: Muster;
  readonly clock: FakeClock;
  readonly store: FaultyStore;
  readonly ask: Ask;
}

onEachBackend('H14: the rate headers of a 502', (backend) => {
  async function start(deadlines?: Deadlines): Promise<Started> {
    const clock = new FakeClock();
    let faulty: FaultyStore | undefined;
    const muster = await backend.fresh({
      clock,
      ...(deadlines && { deadlines }),
      wrapStore: (real) => (faulty = faultyForRequests(real)),
    });
    if (!faulty) throw new Error('the store was not wrapped');
    const store = faulty;
    const { apiKey } = await tenant(muster);
    const dispose = async (): Promise<void> => {
      store.outage(false);
      await muster[Symbol.asyncDispose]();
    };
    return { muster, clock, store, ask: asCaller(muster, apiKey), [Symbol.asyncDispose]: dispose };
  }

  /** Sends requests while nothing can be committed, until one finds no unit that was taken ahead. */
  async function exhaust({ store, ask }: Started): Promise<{ readonly spent: number; readonly failed: Answer }> {
    expect((await ask('GET /v1/apps')).status).toBe(200);
    store.down.add('commit');
    for (let spent = 1; ; spent += 1) {
      const answer = await ask('GET /v1/apps');
      if (answer.status !== 200) return { spent, failed: answer };
    }
  }

  function expectUnavailable(answer: Answer, rate: string | null): void {
    expectRefusal(answer, 'upstream_unavailable');
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(answer.headers.get('ratelimit-policy')).toBe('"account";q=600;w=60');
    expect(answer.headers.get('ratelimit')).toBe(rate);
  }

  test('one that could not be charged tells what is left, and uses up nothing', async () => {
    await using started = await start();
    const { store, ask } = started;
    const { spent, failed } = await exhaust(started);
    expect(spent).toBeGreaterThan(1);
    expectUnavailable(failed, `"account";r=${600 - spent};t=60`);
    expectUnavailable(await ask('GET /v1/unknown'), `"account";r=${600 - spent};t=60`);
    store.outage(false);
    expect((await ask('GET /v1/apps')).headers.get('ratelimit')).toBe(`"account";r=${600 - spent - 1};t=60`);
  });

  test('one that was charged tells so', async () => {
    await using started = await start();
    const { store, ask } = started;
    expect((await ask('GET /v1/apps')).status).toBe(200);
    store.down.add('commit');
    expectUnavailable(await ask('POST /v1/apps'), '"account";r=598;t=60');
  });

  test('one whose charge comes too late tells what is left', async () => {
    using timers = simulatedTimers();
    await using started = await start(DEADLINES);
    const { store, ask } = started;
    const { spent } = await exhaust(started);
    store.outage(false);
    store.isAside = () => false;
    const before = store.calls.commit;
    const release = store.stall('commit');
    const asked = ask('GET /v1/apps');
    await until(() => store.calls.commit > before);
    await timers.advance(DEADLINES.requestMs);
    expectUnavailable(await asked, `"account";r=${600 - spent};t=60`);
    release();
  });

  test('one of a window that was never read tells what this replica alone can know', async () => {
    await using started = await start();
    const { store, ask } = started;
    store.down.add('get');
    // The embedded window is this process's own; a shared one may have been spent by others.
    expectUnavailable(await ask('GET /v1/apps'), backend.name === 'sqlite' ? '"account";r=600;t=1' : null);
    store.outage(false);
    expect((await ask('GET /v1/apps')).headers.get('ratelimit')).toBe('"account";r=599;t=60');
  });

  test('one of a window that was last read a minute ago tells no more of it than that', async () => {
    await using started = await start();
    const { clock, store, ask } = started;
    const { spent } = await exhaust(started);
    store.down.add('get');
    clock.advance(59_999);
    expectUnavailable(await ask('GET /v1/apps'), `"account";r=${600 - spent};t=1`);
    clock.advance(1);
    expectUnavailable(await ask('GET /v1/apps'), backend.name === 'sqlite' ? '"account";r=600;t=1' : null);
  });

  test('a 502 before the caller is known tells nothing of a window', async () => {
    await using started = await start();
    const { store, ask } = started;
    store.down.add('head');
    const answer = await ask('GET /v1/apps');
    expectRefusal(answer, 'upstream_unavailable');
    expect([answer.headers.get('ratelimit'), answer.headers.get('ratelimit-policy')]).toEqual([null, null]);
  });
});
