import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/port.ts';
import {
  deleteApp,
  enrollOwn,
  enrollProving,
  issueCode,
  metric,
  ownCredential,
  readApp,
  revoke,
  setOtel,
} from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  Muster,
  poll,
  tenant,
  type Answer,
  type Tenant,
} from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* How many polls are held, which of them end for others, and that a silent watch keeps none. */

interface Daemon {
  readonly credential: string;
  readonly etag: string;
  /** The poll interval that the service gave the daemon, in seconds. */
  readonly interval: string;
  readonly appId: string;
}

async function daemonOf(muster: Muster, owner: Tenant): Promise<Daemon> {
  const app = await createApp(muster, owner.apiKey);
  const credential = await enroll(muster, app);
  const told = await poll(muster, credential);
  const interval = String(told.body['pollIntervalSeconds']);
  return { credential, etag: told.headers.get('etag') ?? '', interval, appId: app.appId };
}

const heldPolls = (muster: Muster): Promise<number> => metric(muster, 'muster_held_polls');

interface Held {
  readonly answer: Promise<Answer>;
  readonly isAnswered: () => boolean;
}

/** Sends a poll that asks to be held. */
function askToHold(muster: Muster, { credential, etag }: Pick<Daemon, 'credential' | 'etag'>): Held {
  let answered = false;
  const answer = call(`${muster.device}/device/v1/config`, {
    token: credential,
    headers: { 'if-none-match': etag, prefer: 'wait=50' },
  }).finally(() => {
    answered = true;
  });
  answer.catch(() => undefined);
  return { answer, isAnswered: () => answered };
}

/** As `askToHold`; resolves when as many polls are held. */
async function hold(muster: Muster, daemon: Pick<Daemon, 'credential' | 'etag'>, held: number): Promise<Held> {
  const one = askToHold(muster, daemon);
  await until(async () => (await heldPolls(muster)) === held);
  return one;
}

onEachBackend('held polls of one credential', (backend) => {
  let muster: Muster;
  beforeAll(async () => {
    muster = await backend.fresh();
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  test('are two: a third one ends the oldest with 304, and the newest are held on', async () => {
    const owner = await tenant(muster);
    const [daemon, neighbour] = [await daemonOf(muster, owner), await daemonOf(muster, owner)];
    const other = await hold(muster, neighbour, 1);
    const [first, second] = [await hold(muster, daemon, 2), await hold(muster, daemon, 3)];
    const third = askToHold(muster, daemon);
    const ended = await first.answer;
    expect([ended.status, ended.text, ended.headers.get('etag')]).toEqual([304, '', daemon.etag]);
    expect(ended.headers.get('retry-after')).toBe(daemon.interval);
    const fourth = askToHold(muster, daemon);
    expect((await second.answer).status).toBe(304);
    await until(async () => (await heldPolls(muster)) === 3);
    expect([third, fourth, other].map(({ isAnswered }) => isAnswered())).toEqual([false, false, false]);
    expect(await metric(muster, 'muster_held_polls_ended_total{bound="credential"}')).toBe(2);
    await revoke(muster, owner.apiKey, daemon.appId);
    expect((await third.answer).status).toBe(401);
    expect((await fourth.answer).status).toBe(401);
    expect(await heldPolls(muster)).toBe(1);
    await revoke(muster, owner.apiKey, neighbour.appId);
    expect((await other.answer).status).toBe(401);
  });
});

describe('Retry-After is on a poll that is not held', () => {
  let muster: Muster;
  let owner: Tenant;
  let daemon: Daemon;
  beforeAll(async () => {
    muster = await Muster.start();
    owner = await tenant(muster);
    daemon = await daemonOf(muster, owner);
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  test.each<[string, (etag: string) => Record<string, string>, number]>([
    ['that knows nothing', () => ({}), 200],
    ['that knows something else, and would wait', () => ({ 'if-none-match': '"else"', prefer: 'wait=50' }), 200],
    ['that knows it, and does not wait', (etag) => ({ 'if-none-match': etag }), 304],
    ['that waits for no time', (etag) => ({ 'if-none-match': etag, prefer: 'wait=0' }), 304],
  ])('%s: the interval of its app', async (_what, headers, status) => {
    const answer = await poll(muster, daemon.credential, headers(daemon.etag));
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, daemon.interval]);
  });

  test('and not on one that was held: what it is told is not late', async () => {
    const held = await hold(muster, daemon, 1);
    await setOtel(muster, owner.apiKey);
    const answer = await held.answer;
    expect([answer.status, answer.headers.has('retry-after')]).toEqual([200, false]);
  });
});

/** A Muster whose watch can be silenced, on a clock that stands: no loop but those that the test lets run. */
async function silenceable(): Promise<{ muster: Muster; store: FaultyStore; clock: FakeClock }> {
  const { promise, resolve } = Promise.withResolvers<FaultyStore>();
  const wrapStore = (real: Store): Store => {
    const store = faultyStore(real);
    resolve(store);
    return store;
  };
  const clock = new FakeClock();
  const muster = await Muster.start({ wrapStore, clock, env: { MUSTER_ROLES: 'api,device' } });
  return { muster, store: await promise, clock };
}

/** So many accounts the check lists at once (src/domain/devices/silent-watch.ts). */
const ACCOUNTS_AT_ONCE = 8;

/** By then a machine that is ten times slower has answered what it is going to answer. */
const ANSWERED_MS_MAX = 30_000;

async function answeredWithin(clock: FakeClock, ms: number, { isAnswered }: Held): Promise<boolean> {
  const end = performance.now() + ANSWERED_MS_MAX;
  clock.advance(ms);
  await until(() => isAnswered() || performance.now() > end);
  return isAnswered();
}

describe('while the watch is silent', () => {
  test.each<[string, (muster: Muster, owner: Tenant, daemon: Daemon) => Promise<unknown>, number]>([
    ['a revocation', (muster, owner, { appId }) => revoke(muster, owner.apiKey, appId), 401],
    ['a new configuration', (muster, owner) => setOtel(muster, owner.apiKey, { evidenceLevel: 'full' }), 200],
    [
      'a swap of the credential',
      async (muster, owner, { appId }) =>
        enrollOwn(muster, await issueCode(muster, owner.apiKey, appId), ownCredential().hash),
      401,
    ],
  ])('%s ends a held poll within 2 s, and no poll that it does not concern', async (_what, happens, status) => {
    const { muster, store, clock } = await silenceable();
    await using _ = muster;
    const [owner, stranger] = [await tenant(muster), await tenant(muster)];
    const [daemon, other] = [await daemonOf(muster, owner), await daemonOf(muster, stranger)];
    const [held, further] = [await hold(muster, daemon, 1), await hold(muster, other, 2)];
    store.deaf = true;
    await happens(muster, owner, daemon);
    expect(await answeredWithin(clock, 1000, held), 'a read a second').toBe(true);
    expect((await held.answer).status).toBe(status);
    expect([further.isAnswered(), await heldPolls(muster)]).toEqual([false, 1]);
  });

  test('a held poll whose credential is another app’s by then is answered, and makes that binding final', async () => {
    const { muster, store, clock } = await silenceable();
    await using _ = muster;
    const owner = await tenant(muster);
    const own = ownCredential();
    const create = () => createApp(muster, owner.apiKey);
    const [first, second, third] = [await create(), await create(), await create()];
    await enrollOwn(muster, first, own.hash);
    const held = await hold(muster, { credential: own.token, etag: '*' }, 1);
    store.deaf = true;
    await deleteApp(muster, owner.apiKey, first.appId);
    expect((await enrollOwn(muster, second, own.hash)).status).toBe(200);
    // It would be held for the first app, and no change of the second one would end it.
    expect(await answeredWithin(clock, 1000, held)).toBe(true);
    expect((await held.answer).status).toBe(304);
    expect((await enrollProving(muster, third, own)).status).toBe(401);
  });

  test('no account is looked at any more once memory has caught up', async () => {
    const { muster, store, clock } = await silenceable();
    await using _ = muster;
    const owners: Tenant[] = [];
    for (let n = 1; n <= ACCOUNTS_AT_ONCE + 2; n += 1) {
      const owner = await tenant(muster);
      await hold(muster, await daemonOf(muster, owner), n);
      owners.push(owner);
    }
    store.deaf = true;
    const app = await createApp(muster, owners[0]?.apiKey ?? '');
    const listed = store.calls.list;
    const goOn = store.stall('list');
    clock.advance(1000);
    await until(() => store.calls.list === listed + ACCOUNTS_AT_ONCE);
    store.deaf = false;
    store.sever();
    await until(async () => (await metric(muster, 'muster_apps')) === owners.length + 1);
    goOn();
    expect((await readApp(muster, owners[0]?.apiKey ?? '', app.appId))['status']).toBe('pending');
    expect(store.calls.list).toBe(listed + ACCOUNTS_AT_ONCE);
  });

  test('head is read once a second for all held polls, and not at all while none is held', async () => {
    const { muster, store, clock } = await silenceable();
    await using _ = muster;
    const owner = await tenant(muster);
    interface Reads {
      readonly head: number;
      readonly others: number;
    }
    const readsInTenSeconds = async (): Promise<Reads> => {
      const before = { ...store.calls };
      for (let second = 0; second < 10; second += 1) {
        clock.advance(1000);
        // A request without a credential needs no store: by its end what the clock woke has asked.
        for (let turn = 0; turn < 5; turn += 1) await call(`${muster.ops}/livez`);
      }
      const { head, get, list } = store.calls;
      return { head: head - before.head, others: get - before.get + list - before.list };
    };
    const daemons = [];
    for (let n = 0; n < 5; n += 1) daemons.push(await daemonOf(muster, owner));
    // The pulse of the watch cache reads `head` every second, whether polls are held or not.
    const idle = await readsInTenSeconds();
    expect(idle.head).toBe(10);
    for (const [n, daemon] of daemons.entries()) await hold(muster, daemon, n + 1);
    // Each held poll has asked the store before this one.
    expect((await poll(muster, daemons[0]?.credential ?? '')).status).toBe(200);
    const { head, others } = await readsInTenSeconds();
    // The reads of a second are one where they fall together.
    expect([head > 10, head <= 20, others]).toEqual([true, true, idle.others]);
    for (const { appId } of daemons) await revoke(muster, owner.apiKey, appId);
    await until(async () => (await heldPolls(muster)) === 0);
    await readsInTenSeconds();
    expect(await readsInTenSeconds()).toEqual(idle);
  });
});
