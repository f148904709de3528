import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { DEADLINES, LIMITS } from '../../../src/domain/limits.ts';
import { CATCH_UP_MS } from '../../../src/store/watch-cache/watch-cache.ts';
import {
  deleteApp,
  enrollOwn,
  issueCode,
  ownCredential,
  requestsInFlight,
  revoke,
} from '../../support/service/daemon.ts';
import {
  createApp,
  enroll,
  poll,
  tenant,
  type Answer,
  type Muster,
  type MusterOptions,
} from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { simulatedTimers, type SimulatedTimers } from '../../support/time/simulated-timers.ts';
import { until } from '../../support/time/until.ts';

const REFUSED = { status: 401, body: { error: { code: 'invalid_credential' } } };
/** A retry waits so long for a read that another request begins. */
const DEFERRED_MS = 1300;
const HOUR_MS = 3_600_000;

interface Asked {
  readonly answer: Promise<Answer>;
  readonly isAnswered: () => boolean;
}

function ask(muster: Muster, credential: string, count: number): Asked[] {
  return Array.from({ length: count }, () => {
    let isAnswered = false;
    const answer = poll(muster, credential).finally(() => (isAnswered = true));
    return { answer, isAnswered: () => isAnswered };
  });
}

/** Resolves when the device listener has all of them that are not answered. */
async function asked(muster: Muster, credential: string, count = 1): Promise<Asked[]> {
  const polls = ask(muster, credential, count);
  await until(
    async () => (await requestsInFlight(muster)).device === polls.filter(({ isAnswered }) => !isAnswered()).length,
  );
  return polls;
}

onEachBackend('a daemon whose credential is rejected', (backend) => {
  async function watched(options: MusterOptions = {}) {
    let faulty: FaultyStore | undefined;
    const clock = new FakeClock();
    // With this clock there is no pulse: every read of `head` is a request's.
    const muster = await backend.fresh({ ...options, clock, wrapStore: (store) => (faulty = faultyStore(store)) });
    if (!faulty) throw new Error('the store was not opened');
    return { muster, faulty, clock };
  }

  test('a token of another shape is refused without the store; one of the right shape fails closed with it', async () => {
    using timers = simulatedTimers();
    const { muster, faulty } = await watched({ deadlines: DEADLINES });
    await using _ = muster;
    const release = faulty.stall('head');
    expect(await poll(muster, 'mst_dev_short')).toMatchObject(REFUSED);
    expect(await poll(muster, 'anything else')).toMatchObject(REFUSED);
    const [unknown] = await asked(muster, `mst_dev_${randomBytes(32).toString('base64url')}`);
    await timers.advance(DEADLINES.requestMs);
    expect((await unknown?.answer)?.status).toBe(502);
    release();
  });

  test.each([
    ['revoked', revoke],
    ['deleted', deleteApp],
  ])('once %s and rejected, its retries are answered by the reads of others', async (_what, cutOff) => {
    const { muster, faulty } = await watched();
    await using _ = muster;
    const owner = await tenant(muster);
    const app = await createApp(muster, owner.apiKey);
    const [credential, live] = [await enroll(muster, app), await enroll(muster, await createApp(muster, owner.apiKey))];
    expect((await poll(muster, credential)).status).toBe(200);
    await cutOff(muster, owner.apiKey, app.appId);
    expect(await poll(muster, credential)).toMatchObject(REFUSED);
    using timers = simulatedTimers();
    const before = faulty.calls.head;
    const retries = await asked(muster, credential, 20);
    await timers.advance(DEFERRED_MS - 1);
    expect([faulty.calls.head, retries.some(({ isAnswered }) => isAnswered())]).toEqual([before, false]);
    expect((await poll(muster, live)).status).toBe(200);
    for (const retry of retries) {
      const refused = await retry.answer;
      expect(refused).toMatchObject(REFUSED);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1800);
    }
    expect(faulty.calls.head - before).toBe(1);
  });

  test('a retry is answered when no other request comes', async () => {
    const { muster, faulty } = await watched();
    await using _ = muster;
    const credential = ownCredential().token;
    expect(await poll(muster, credential)).toMatchObject(REFUSED);
    using timers = simulatedTimers();
    const before = faulty.calls.head;
    const [retry] = await asked(muster, credential);
    await timers.advance(DEFERRED_MS - 1);
    expect(faulty.calls.head).toBe(before);
    await timers.advance(1);
    expect(await retry?.answer).toMatchObject(REFUSED);
  });

  test('a daemon that was refused and then enrolls is admitted with the next request, on any replica', async () => {
    const place = backend.place();
    const { token, hash } = ownCredential();
    await using first = await backend.fresh({ ...place, clock: new FakeClock() });
    const second = backend.name === 'etcd' ? await backend.fresh({ ...place, clock: new FakeClock() }) : undefined;
    await using _ = second;
    const replicas = second ? [first, second] : [first];
    using timers = simulatedTimers();
    /** Asks every replica, and lets the time pass for which a retry waits. */
    const pollAll = async (): Promise<Answer[]> => {
      const answers: Answer[] = [];
      for (const replica of replicas.toReversed()) answers.push(await pollWaiting(replica, token, timers));
      return answers;
    };
    const { apiKey } = await tenant(first);
    const app = await createApp(first, apiKey);
    for (const answer of await pollAll()) expect(answer).toMatchObject(REFUSED);
    expect((await enrollOwn(first, app, hash)).status).toBe(200);
    for (const answer of await pollAll()) expect(answer.status).toBe(200);
    await revoke(first, apiKey, app.appId);
    for (const answer of await pollAll()) expect(answer).toMatchObject(REFUSED);
    // Deleted, its hash is free: another app may bind it, and then it works.
    await deleteApp(first, apiKey, app.appId);
    const other = await createApp(first, apiKey);
    expect((await enrollOwn(first, other, hash)).status).toBe(200);
    for (const answer of await pollAll()) expect(answer.status).toBe(200);
    // A new credential of the same app does not make the old one work.
    expect((await enroll(first, await issueCode(first, apiKey, other.appId))).length).toBeGreaterThan(40);
    for (const answer of await pollAll()) expect(answer).toMatchObject(REFUSED);
  });

  test('while memory is behind, so many are authenticated by the store, and the others are told to retry', async () => {
    const { muster, faulty } = await watched({
      deadlines: { requestMs: HOUR_MS, storeMs: HOUR_MS },
      env: { MUSTER_DEVICE_RATE_PER_MINUTE: '100000' },
    });
    await using _ = muster;
    const owner = await tenant(muster);
    const credential = await enroll(muster, await createApp(muster, owner.apiKey));
    faulty.deaf = true;
    await createApp(muster, owner.apiKey);
    using timers = simulatedTimers();
    const release = faulty.stall('get');
    const above = 20;
    const polls = ask(muster, credential, LIMITS.deviceStoreReadsMax + above);
    await until(async () => {
      // So long each of them waits for memory to get as far as the store.
      await timers.advance(CATCH_UP_MS);
      return polls.filter(({ isAnswered }) => isAnswered()).length >= above;
    });
    release();
    const answers = await Promise.all(polls.map(({ answer }) => answer));
    const rejected = answers.filter(({ status }) => status === 503);
    expect(rejected).toHaveLength(above);
    for (const answer of rejected) {
      expect(answer.body).toMatchObject({ error: { code: 'overloaded' } });
      expect(answer.headers.get('retry-after')).toMatch(/^[1-5]$/);
    }
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(LIMITS.deviceStoreReadsMax);
  });
});

async function pollWaiting(muster: Muster, token: string, timers: SimulatedTimers): Promise<Answer> {
  const [retry] = await asked(muster, token);
  if (retry?.isAnswered() === false) await timers.advance(DEFERRED_MS);
  return (await retry?.answer) ?? expect.unreachable('it is asked');
}
