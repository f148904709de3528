import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseRecord, put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import type { Store } from '../../../src/store/port.ts';
import { connectRaw } from '../../support/http/raw-http.ts';
import {
  changeAccount,
  deleteApp,
  issueCode,
  metric,
  requestsInFlight,
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
import { describeOnce, onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { simulatedTimers } from '../../support/time/simulated-timers.ts';
import { until } from '../../support/time/until.ts';

interface Daemon extends Tenant {
  readonly appId: string;
  readonly credential: string;
  readonly etag: string;
}

/** A cloud daemon of an Enterprise account that knows the configuration. */
async function daemonOf(muster: Muster, owner: Tenant): Promise<Daemon> {
  const app = await createApp(muster, owner.apiKey);
  const credential = await enroll(muster, app);
  const etag = (await poll(muster, credential)).headers.get('etag') ?? '';
  return { ...owner, appId: app.appId, credential, etag };
}

async function configuredDaemon(muster: Muster): Promise<Daemon> {
  const owner = await tenant(muster);
  await setOtel(muster, owner.apiKey);
  return await daemonOf(muster, owner);
}

const heldPolls = (muster: Muster): Promise<number> => metric(muster, 'muster_held_polls');

function rawPoll(credential: string, etag: string, prefer: string): string {
  const fields = [`Authorization: Bearer ${credential}`, `If-None-Match: ${etag}`, `Prefer: ${prefer}`];
  return `GET /device/v1/config HTTP/1.1\r\nHost: a\r\n${fields.join('\r\n')}\r\n\r\n`;
}

/** A response that is on its way may be so many requests late. */
const LOOKS_MAX = 100;

interface Held {
  readonly answer: Promise<Answer>;
  readonly isAnswered: () => boolean;
}

/** By then a change has been answered on a machine that is ten times slower, and the 50 s of the wait are not over. */
const WAKE_MS_MAX = 30_000;

/** A poll that ends because of a change, and not because its wait is over. */
async function woken({ answer, isAnswered }: Held): Promise<Answer> {
  const end = performance.now() + WAKE_MS_MAX;
  await until(() => isAnswered() || performance.now() > end);
  expect(isAnswered(), 'the held poll is answered by the change').toBe(true);
  return await answer;
}

/** Resolves when one more poll is held. */
async function hold(
  muster: Muster,
  { credential, etag }: Pick<Daemon, 'credential' | 'etag'>,
  prefer = 'wait=50',
): Promise<Held> {
  const before = await heldPolls(muster);
  let answered = false;
  const answer = call(`${muster.device}/device/v1/config`, {
    token: credential,
    headers: { 'if-none-match': etag, prefer },
  }).finally(() => {
    answered = true;
  });
  answer.catch(() => undefined);
  await until(async () => (await heldPolls(muster)) === before + 1);
  return { answer, isAnswered: () => answered };
}

onEachBackend('a held poll', (backend) => {
  let muster: Muster;
  beforeAll(async () => {
    muster = await backend.fresh();
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  const NEVER_STORED = { status: 200, body: { otel: { enabled: false } } };
  const refused = (code: string) => ({ status: 401, body: { error: { code } } });

  test.each<[string, (daemon: Daemon) => Promise<unknown>, object]>([
    [
      'a PUT',
      ({ apiKey }) => setOtel(muster, apiKey, { evidenceLevel: 'full' }),
      { status: 200, body: { revision: 2, otel: { evidenceLevel: 'full' } } },
    ],
    [
      'a DELETE',
      ({ apiKey }) => call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: apiKey }),
      NEVER_STORED,
    ],
    ['a downgrade', ({ accountId }) => changeAccount(muster, accountId, { entitlement: 'standard' }), NEVER_STORED],
    ['a revocation', ({ apiKey, appId }) => revoke(muster, apiKey, appId), refused('invalid_credential')],
    ['the deletion of its app', ({ apiKey, appId }) => deleteApp(muster, apiKey, appId), refused('invalid_credential')],
    [
      'a swap of its credential',
      async ({ apiKey, appId }) => enroll(muster, await issueCode(muster, apiKey, appId)),
      refused('invalid_credential'),
    ],
    [
      'the disabling of its account',
      ({ accountId }) => changeAccount(muster, accountId, { disabled: true }),
      refused('account_disabled'),
    ],
  ])('is answered by %s', async (_what, happens, answer) => {
    const daemon = await configuredDaemon(muster);
    const held = await hold(muster, daemon);
    await happens(daemon);
    expect(await woken(held)).toMatchObject(answer);
    expect(await heldPolls(muster)).toBe(0);
  });

  test('is answered by an upgrade', async () => {
    const owner = await tenant(muster);
    await setOtel(muster, owner.apiKey);
    await changeAccount(muster, owner.accountId, { entitlement: 'standard' });
    const held = await hold(muster, await daemonOf(muster, owner));
    await changeAccount(muster, owner.accountId, { entitlement: 'enterprise' });
    expect(await woken(held)).toMatchObject({ status: 200, body: { otel: { enabled: true } } });
  });

  test('is not answered by what is not its own business', async () => {
    const [daemon, stranger] = [await configuredDaemon(muster), await configuredDaemon(muster)];
    const neighbour = await daemonOf(muster, daemon);
    const held = await hold(muster, daemon);
    await setOtel(muster, stranger.apiKey, { evidenceLevel: 'full' });
    await revoke(muster, stranger.apiKey, stranger.appId);
    await revoke(muster, daemon.apiKey, neighbour.appId);
    await issueCode(muster, daemon.apiKey, daemon.appId);
    await poll(muster, daemon.credential, { 'muster-agent-version': '9' });
    await changeAccount(muster, daemon.accountId, { name: 'another' });
    await setOtel(muster, daemon.apiKey);
    expect([held.isAnswered(), await heldPolls(muster)]).toEqual([false, 1]);
    await setOtel(muster, daemon.apiKey, { evidenceLevel: 'redacted' });
    expect(await held.answer).toMatchObject({ status: 200, body: { otel: { evidenceLevel: 'redacted' } } });
  });

  test('one of many is refused, the right one; the others learn the next revision', async () => {
    const first = await configuredDaemon(muster);
    const daemons = [first, ...(await Promise.all(Array.from({ length: 4 }, () => daemonOf(muster, first))))];
    const held: Held[] = [];
    for (const daemon of daemons) held.push(await hold(muster, daemon));
    await revoke(muster, first.apiKey, first.appId);
    expect(await held[0]?.answer).toMatchObject(refused('invalid_credential'));
    expect(held.map(({ isAnswered }) => isAnswered())).toEqual([true, ...Array.from({ length: 4 }, () => false)]);
    await setOtel(muster, first.apiKey, { evidenceLevel: 'full' });
    for (const { answer } of held.slice(1)) expect(await answer).toMatchObject({ status: 200, body: { revision: 2 } });
    expect(await heldPolls(muster)).toBe(0);
  });

  test.each<[string, number, string]>([
    ['wait=7', 7000, 'what it asked for'],
    ['wait=51', 50_000, 'the longest there is'],
  ])('%s is 304 after %i ms: %s', async (prefer, waitMs) => {
    const { credential, etag } = await configuredDaemon(muster);
    const series = 'muster_polls_total{result="held_not_modified"}';
    const before = await metric(muster, series);
    using timers = simulatedTimers();
    const held = await hold(muster, { credential, etag }, prefer);
    await timers.advance(waitMs - 1);
    expect([await metric(muster, series), await heldPolls(muster)]).toEqual([before, 1]);
    await timers.advance(1);
    for (let looks = 0; !held.isAnswered() && looks < LOOKS_MAX; looks += 1) await heldPolls(muster);
    expect(held.isAnswered(), 'at its time').toBe(true);
    const answer = await held.answer;
    expect(answer).toMatchObject({ status: 304, text: '' });
    expect(answer.headers.get('etag')).toBe(etag);
    expect(await metric(muster, series)).toBe(before + 1);
  });

  describeOnce(backend, 'Prefer', () => {
    test('is read in every form that RFC 7240 allows; the slot of a client that leaves is free again', async () => {
      const owner = await tenant(muster);
      const forms = [
        'wait=50',
        'WAIT=50',
        'wait="50"',
        'respond-async, wait=50',
        'wait=50, handling=lenient',
        'wait = 50;x',
        'wait=999999999',
      ];
      const clients = [];
      for (const prefer of forms) {
        const { credential, etag } = await daemonOf(muster, owner);
        const client = await connectRaw(muster.service.device.port);
        await client.send(rawPoll(credential, etag, prefer));
        clients.push(client);
      }
      await until(async () => (await heldPolls(muster)) === forms.length);
      for (const client of clients) client.reset();
      await until(async () => (await heldPolls(muster)) === 0);
    });

    test.each([
      ['wait=0'],
      ['wait'],
      ['wait='],
      ['wait=-5'],
      ['wait=soon'],
      ['waits=50'],
      ['await=50'],
      ['respond-async'],
    ])('%s holds nothing', async (prefer) => {
      const { credential, etag } = await configuredDaemon(muster);
      expect((await poll(muster, credential, { 'if-none-match': etag, prefer })).status).toBe(304);
    });

    test.each<[Record<string, string>, string]>([
      [{}, 'who knows nothing'],
      [{ 'if-none-match': '"older"' }, 'who knows something else'],
    ])('%j: is answered at once %s', async (headers) => {
      const { credential } = await configuredDaemon(muster);
      expect((await poll(muster, credential, { ...headers, prefer: 'wait=50' })).status).toBe(200);
    });
  });

  test('SIGTERM answers it, and no further one is held', async () => {
    await using ending = await backend.fresh();
    const daemons = [await configuredDaemon(ending), await configuredDaemon(ending)];
    const held = [];
    for (const daemon of daemons) held.push(await hold(ending, daemon));
    await ending.service.stop();
    for (const { answer } of held) expect((await answer).status).toBe(304);
  });
});

test('a client that leaves while its poll is authenticated leaves no held poll behind', async () => {
  let store: FaultyStore | undefined;
  await using muster = await Muster.start({ wrapStore: (real) => (store = faultyStore(real)) });
  const { credential, etag } = await configuredDaemon(muster);
  const release = store?.stall('head');
  const client = await connectRaw(muster.service.device.port);
  await client.send(rawPoll(credential, etag, 'wait=50'));
  await until(async () => (await requestsInFlight(muster)).device === 1);
  client.reset();
  await client.closed();
  // A request that needs no store tells that the end of the connection has arrived, too.
  for (let i = 0; i < 5; i += 1) await call(`${muster.ops}/livez`);
  release?.();
  await expect.poll(() => metric(muster, 'muster_polls_total{result="held_not_modified"}')).toBe(1);
  expect(await heldPolls(muster)).toBe(0);
});

test('held polls cost no read while memory is filled anew; then a revocation of meanwhile ends its own', async () => {
  const { promise, resolve: open } = Promise.withResolvers<FaultyStore>();
  const wrapStore = (real: Store): Store => {
    const store = faultyStore(real);
    open(store);
    return store;
  };
  // On a clock that stands, and without a controller, no loop reads meanwhile.
  const clock = new FakeClock();
  await using muster = await Muster.start({ wrapStore, clock, env: { MUSTER_ROLES: 'api,device' } });
  const store = await promise;
  const first = await configuredDaemon(muster);
  const daemons = [first, ...(await Promise.all(Array.from({ length: 4 }, () => daemonOf(muster, first))))];
  const held: Held[] = [];
  for (const daemon of daemons) held.push(await hold(muster, daemon));

  const release = store.stall('list');
  using _ = { [Symbol.dispose]: release };
  // Each of them has asked the store before this, when its hold began.
  const asker = daemons.at(-1)?.credential ?? '';
  expect((await poll(muster, asker)).status).toBe(200);
  let before: number | undefined;
  const lists = store.calls.list;
  // A head from before the newest one is another history's.
  store.answerHead = ({ revision }) => ({ revision: revision - 1, epochId: 'aaaaaaaaaaaaaaaa' });
  store.intercept('head', 'after', async () => {
    before = store.calls.get;
  });
  // The head is read again when the loop that reads it has gone to sleep.
  await until(() => {
    if (before === undefined) clock.advance(100);
    return before !== undefined;
  });
  await until(async () => (await metric(muster, 'muster_watch_cache_relists_total')) === 1);
  store.answerHead = (head) => head;
  await until(() => {
    if (store.calls.list === lists) clock.advance(100);
    return store.calls.list > lists;
  });
  // A new request waits for memory, and then reads the store: so would the held polls have done, if woken.
  expect((await poll(muster, asker)).status).toBe(200);
  const afterOne = store.calls.get;
  expect((await poll(muster, asker)).status).toBe(200);
  const ofOnePoll = store.calls.get - afterOne;
  expect([ofOnePoll > 0, afterOne - (before ?? 0)]).toEqual([true, ofOnePoll]);
  expect(await heldPolls(muster)).toBe(daemons.length);

  const key = KEYS.app(first.accountId, first.appId);
  const app = parseRecord(KEYS.app, (await store.get(key)) ?? expect.unreachable('the app is stored'));
  const { credential: _gone, ...rest } = app.record;
  await store.commit({
    expect: [expectRevision(key, app.revision)],
    write: [put(key, { ...rest, status: 'revoked' })],
  });
  const reads = store.calls.get;
  release();
  expect(await held[0]?.answer).toMatchObject({ status: 401, body: { error: { code: 'invalid_credential' } } });
  await expect.poll(() => heldPolls(muster)).toBe(daemons.length - 1);
  expect(held.map(({ isAnswered }) => isAnswered())).toEqual([true, ...daemons.slice(1).map(() => false)]);
  expect(store.calls.get - reads).toBe(0);
});

describe('a held poll on a store that fails', () => {
  /** A daemon whose poll is held, on a clock that stands: only `passes` has the loops look at the store again. */
  async function holding() {
    const { promise, resolve: open } = Promise.withResolvers<FaultyStore>();
    const wrapStore = (real: Store): Store => {
      const faulty = faultyStore(real);
      open(faulty);
      return faulty;
    };
    const clock = new FakeClock();
    const muster = await Muster.start({ wrapStore, clock, env: { MUSTER_ROLES: 'api,device' } });
    const store = await promise;
    const daemon = await configuredDaemon(muster);
    const held = await hold(muster, daemon);
    // It has asked the store before this one, when its hold began.
    expect((await poll(muster, daemon.credential)).status).toBe(200);
    const looks = async (count: number): Promise<void> => {
      const before = store.calls.head;
      await until(() => {
        if (store.calls.head < before + count) clock.advance(100);
        return store.calls.head >= before + count;
      });
    };
    return { muster, store, daemon, held, looks };
  }

  test('ends with 502 where the store is lost, as a new one does', async () => {
    const { muster, store, daemon, held, looks } = await holding();
    await using _ = muster;
    store.trouble = 'replaced';
    store.outage(true);
    // Memory asks for `head` once a second, too.
    await looks(3);
    expect(await woken(held)).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
    expect(await heldPolls(muster)).toBe(0);
    expect((await poll(muster, daemon.credential)).status).toBe(502);
  });

  test('stays held where the store is away for a moment, and learns of the next change', async () => {
    const { muster, store, daemon, held, looks } = await holding();
    await using _ = muster;
    store.outage(true);
    await looks(6);
    expect((await poll(muster, daemon.credential)).status).toBe(502);
    store.outage(false);
    await until(async () => (await poll(muster, daemon.credential)).status === 200);
    expect([held.isAnswered(), await heldPolls(muster)]).toEqual([false, 1]);
    await setOtel(muster, daemon.apiKey, { evidenceLevel: 'full' });
    expect(await woken(held)).toMatchObject({ status: 200, body: { revision: 2 } });
  });
});
