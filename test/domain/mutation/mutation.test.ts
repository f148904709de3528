import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { DEADLINES, LIMITS } from '../../../src/domain/limits.ts';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import type { Store } from '../../../src/store/port.ts';
import { entriesOf, halfWritten } from '../../support/service/accounts.ts';
import {
  call,
  createApp,
  enroll,
  OPERATOR_TOKEN,
  tenant,
  type Answer,
  type Muster,
  type MusterOptions,
  type Tenant,
} from '../../support/service/muster.ts';
import { onEachBackend, type Backend } from '../../support/store/backends.ts';
import { faultyStore, type CommitFate, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { simulatedTimers, type SimulatedTimers } from '../../support/time/simulated-timers.ts';
import { until } from '../../support/time/until.ts';

interface Trouble {
  readonly muster: Muster;
  readonly faulty: FaultyStore;
}
interface Faulty extends Tenant, Trouble {}

/** The rate window, the last uses of keys, and the seals of the audit, which are written at moments of their own. */
const OF_THE_SERVICE = [
  KEYS.rateWindow.under(),
  KEYS.keyUses(''),
  KEYS.chain.under(),
  KEYS.seal.under('').slice(0, -1),
];

/** A Muster whose store brings trouble, for all tests on the back-end. */
function troubled(backend: Backend, options: () => MusterOptions = () => ({})): () => Promise<Faulty> {
  let trouble: Trouble;
  beforeAll(async () => {
    let faulty: FaultyStore | undefined;
    const wrapStore = (store: Store): Store => (faulty = faultyStore(store));
    const muster = await backend.fresh({ ...options(), wrapStore });
    trouble = { muster, faulty: faulty ?? expect.unreachable('the store was wrapped') };
  });
  afterAll(() => trouble.muster[Symbol.asyncDispose]());

  /** An account of its own: trouble comes to what is about it, and to nothing that the service does by itself. */
  return async () => {
    const { muster, faulty } = trouble;
    faulty.fates.length = 0;
    faulty.full = undefined;
    faulty.outage(false);
    const account = await tenant(muster);
    faulty.isAside = (key) => OF_THE_SERVICE.some((one) => key.startsWith(one)) || !key.includes(account.accountId);
    return { ...account, muster, faulty };
  };
}

const create = ({ muster, apiKey }: Faulty): Promise<Answer> =>
  call(`${muster.api}/v1/apps`, { method: 'POST', token: apiKey, body: { name: 'app' } });
const revoke = ({ muster, apiKey }: Faulty, appId: string): Promise<Answer> =>
  call(`${muster.api}/v1/apps/${appId}/revoke`, { method: 'POST', token: apiKey });
const purge = ({ muster, apiKey }: Faulty): Promise<Answer> =>
  call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: apiKey });
const configure = ({ muster, apiKey }: Faulty, endpoint: string): Promise<Answer> =>
  call(`${muster.api}/v1/otel-config`, { method: 'PUT', token: apiKey, body: { enabled: true, endpoint } });

/** In the order of the commits: the clock stands still, and the keys are random. */
async function actions({ faulty, accountId }: Faulty): Promise<string[]> {
  const entries = await entriesOf(faulty, KEYS.audit.under(accountId));
  return entries
    .toSorted((one, other) => one.revision - other.revision)
    .map((entry) => parseRecord(KEYS.audit, entry).record.action)
    .filter((action) => action !== 'key.created');
}

async function admittedBy({ muster }: Trouble): Promise<number> {
  const { text } = await call(`${muster.ops}/metrics`);
  return Number(/^muster_rate_decisions_total\{decision="admitted"\} (\d+)$/m.exec(text)?.[1] ?? 0);
}

/** As `stall`; released at the end of the test at the latest, so that nothing is left of one that failed. */
function stalled({ faulty }: Trouble, operation: 'get' | 'commit'): () => void {
  const release = faulty.stall(operation);
  onTestFinished(release);
  return release;
}

/** Resolves when the next such call about the account has come to the store. */
function reached({ faulty }: Trouble, operation: 'get' | 'commit'): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  faulty.intercept(operation, 'before', async () => resolve());
  return promise;
}

/** As many requests as an answer that is on its way may be behind. */
const PROBES_MAX = 100;

/** The request is not answered a millisecond before its deadline, and is refused at it. */
async function expectRefusedInTime(
  { muster }: Trouble,
  timers: SimulatedTimers,
  answer: Promise<Answer>,
): Promise<void> {
  const answers: Answer[] = [];
  void answer.then((one) => answers.push(one));
  await timers.advance(DEADLINES.requestMs - 1);
  // An answer that was sent by now would be here before this one.
  await call(`${muster.ops}/livez`);
  expect(answers, 'before the deadline').toEqual([]);
  await timers.advance(1);
  for (let probes = 0; answers.length === 0 && probes < PROBES_MAX; probes += 1) await call(`${muster.ops}/livez`);
  expect(answers, 'at the deadline').toMatchObject([unavailable]);
}

const unavailable = { status: 502, body: { error: { code: 'upstream_unavailable' } } };

onEachBackend('a mutation', (backend) => {
  // No loop of the service has its turn by itself.
  const withTrouble = troubled(backend, () => ({ clock: new FakeClock() }));

  test.each<[CommitFate[], string]>([
    [['answer lost after commit'], 'the answer is lost: the marker tells that it happened'],
    [['lost before commit'], 'the commit is lost: it is sent once more'],
    [['lost before commit', 'conflict'], 'the second one meets somebody else, so it is planned anew'],
  ])('%j happens once (%s)', async (fates) => {
    const it = await withTrouble();
    const app = await createApp(it.muster, it.apiKey);
    for (const mutation of [() => create(it), () => revoke(it, app.appId), () => configure(it, 'https://a.example')]) {
      it.faulty.fates.push(...fates);
      expect((await mutation()).status).toBeLessThan(300);
      expect(it.faulty.fates).toEqual([]);
    }
    expect(await actions(it)).toEqual(['account.created', 'app.created', 'app.created', 'app.revoked', 'otel.stored']);
    expect(await halfWritten(it.faulty, it.accountId)).toEqual([]);
  });

  test('a create, a repeatable one and a delete each ask the store once how new it is', async () => {
    const it = await withTrouble();
    const gone = await createApp(it.muster, it.apiKey);
    const post = (path: string, headers = {}): Promise<Answer> =>
      call(`${it.muster.api}/v1/${path}`, { method: 'POST', token: it.apiKey, body: { name: 'app' }, headers });
    const remove = (): Promise<Answer> =>
      call(`${it.muster.api}/v1/apps/${gone.appId}`, { method: 'DELETE', token: it.apiKey });
    for (const request of [() => post('apps'), () => post('apps', { 'idempotency-key': 'once' }), remove]) {
      const before = it.faulty.calls.head;
      expect((await request()).status).toBeLessThan(300);
      expect(it.faulty.calls.head).toBe(before + 1);
    }
  });

  test('a create is planned anew where the count of the apps has moved since it was read (A10)', async () => {
    const it = await withTrouble();
    await createApp(it.muster, it.apiKey);
    it.faulty.intercept('commit', 'before', async () => {
      // As another process does that creates the last ones that the account may have.
      const entry = await it.faulty.get(KEYS.counters(it.accountId));
      const { record, revision } = parseRecord(KEYS.counters, entry ?? expect.unreachable('the account has an app'));
      const full = JSON.stringify({ ...record, apps: LIMITS.appsPerAccountMax });
      await it.faulty.commit({
        expect: [expectRevision(KEYS.counters(it.accountId), revision)],
        write: [{ put: KEYS.counters(it.accountId), value: full }],
      });
    });
    expect(await create(it)).toMatchObject({ status: 400, body: { error: { code: 'limit_reached' } } });
  });

  test('a commit whose answer was lost is not sent again where its marker is found', async () => {
    const it = await withTrouble();
    const sent = it.faulty.calls.commit;
    it.faulty.fates.push('answer lost after commit');
    expect((await create(it)).status).toBe(201);
    expect(it.faulty.calls.commit).toBe(sent + 1);
  });

  test('a lost commit that lands after all, before its repetition, is the one that counts', async () => {
    const it = await withTrouble();
    it.faulty.fates.push('lost before commit');
    it.faulty.intercept('commit', 'before', () => Promise.resolve());
    it.faulty.intercept('commit', 'before', async () => {
      const late = it.faulty.changes.at(-1);
      if (late) await it.faulty.commit(late);
    });
    expect((await create(it)).status).toBe(201);
    expect(await actions(it)).toEqual(['account.created', 'app.created']);
    expect(await halfWritten(it.faulty, it.accountId)).toEqual([]);
  });

  test('a commit that is unknown twice is 502, with all of it or nothing', async () => {
    const it = await withTrouble();
    it.faulty.fates.push('lost before commit', 'lost before commit');
    const refused = await create(it);
    expect(refused).toMatchObject(unavailable);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await actions(it)).toEqual(['account.created']);

    it.faulty.fates.push('answer lost after commit');
    it.faulty.down.add('get');
    expect(await create(it)).toMatchObject(unavailable);
    it.faulty.down.delete('get');
    expect(await actions(it)).toEqual(['account.created', 'app.created']);
    expect(await halfWritten(it.faulty, it.accountId)).toEqual([]);
  });

  test('502 for an outage and 502 for what others were always faster at are told apart by the log', async () => {
    const it = await withTrouble();
    const credential = await enroll(it.muster, await createApp(it.muster, it.apiKey));
    await configure(it, 'https://a.example');
    const acknowledge = async (): Promise<unknown> => {
      const before = it.muster.logged.length;
      const body = { revision: 1, status: 'applied' };
      const answer = await call(`${it.muster.device}/device/v1/config/ack`, {
        method: 'POST',
        token: credential,
        body,
      });
      expect(answer).toMatchObject(unavailable);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      const lines = it.muster.logged.slice(before).map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
      return lines.find(({ msg }) => msg === 'slow or failed')?.['reason'];
    };
    it.faulty.fates.push(...Array.from({ length: LIMITS.conflictAttemptsMax }, () => 'conflict' as const));
    expect(await acknowledge()).toBe('busy: conflicts');
    it.faulty.down.add('commit');
    expect(await acknowledge()).toBe('store: unreachable');
    it.faulty.outage(false);
  });

  test('an enrollment whose answer is lost within the service burns nothing', async () => {
    const it = await withTrouble();
    const app = await createApp(it.muster, it.apiKey);
    it.faulty.fates.push('answer lost after commit');
    const credential = await enroll(it.muster, app);
    expect((await call(`${it.muster.device}/device/v1/config`, { token: credential })).status).toBe(200);
    expect((await actions(it)).filter((action) => action === 'app.enrolled')).toHaveLength(1);
  });

  test.each([
    ['create', (it: Faulty) => create(it)],
    ['revoke', (it: Faulty, appId: string) => revoke(it, appId)],
    ['configure', (it: Faulty) => configure(it, 'https://b.example')],
    ['purge', (it: Faulty) => purge(it)],
  ])('a key that is revoked between authentication and commit does not %s', async (_, mutation) => {
    const it = await withTrouble();
    const app = await createApp(it.muster, it.apiKey);
    await configure(it, 'https://a.example');
    const before = await entriesOf(it.faulty, KEYS.account.under());
    it.faulty.intercept('commit', 'before', async () => {
      const path = `/operator/v1/accounts/${it.accountId}/api-keys/${it.keyId}`;
      const gone = await call(it.muster.ops + path, { method: 'DELETE', token: OPERATOR_TOKEN });
      expect(gone.status).toBe(204);
    });
    const refused = await mutation(it, app.appId);
    expect(refused).toMatchObject({ status: 401, body: { error: { code: 'invalid_key' } } });
    const after = await entriesOf(it.faulty, KEYS.account.under());
    const key = KEYS.apiKey(it.accountId, it.keyId);
    expect(after).toEqual(before.filter((entry) => entry.key !== key));
  });

  test('an account that is disabled between authentication and commit changes nothing', async () => {
    const it = await withTrouble();
    it.faulty.intercept('commit', 'before', () =>
      call(`${it.muster.ops}/operator/v1/accounts/${it.accountId}`, {
        method: 'PATCH',
        token: OPERATOR_TOKEN,
        body: { disabled: true },
      }),
    );
    expect(await create(it)).toMatchObject({ status: 401, body: { error: { code: 'account_disabled' } } });
    expect(await entriesOf(it.faulty, KEYS.app.under(it.accountId))).toEqual([]);
  });

  test('conflicts end with success, and a storm of them with a clean refusal', async () => {
    const it = await withTrouble();
    const app = await createApp(it.muster, it.apiKey);
    const conflicts = (count: number): void => void it.faulty.fates.push(...Array<CommitFate>(count).fill('conflict'));
    conflicts(5);
    expect((await create(it)).status).toBe(201);
    conflicts(5);
    expect((await revoke(it, app.appId)).status).toBe(200);
    conflicts(100);
    expect(await create(it)).toMatchObject(unavailable);
    expect(it.faulty.fates.length).toBeGreaterThan(0);
    it.faulty.fates.length = 0;
    expect(await actions(it)).toEqual(['account.created', 'app.created', 'app.created', 'app.revoked']);
    expect(await halfWritten(it.faulty, it.accountId)).toEqual([]);
  });

  test('a nearly full store refuses what grows it, and takes what frees and revokes', async () => {
    const it = await withTrouble();
    const [kept, gone] = [await createApp(it.muster, it.apiKey), await createApp(it.muster, it.apiKey)];
    await enroll(it.muster, kept);
    await configure(it, 'https://a.example');
    it.faulty.full = 0.8;
    expect(await create(it)).toMatchObject(unavailable);
    const code = await call(`${it.muster.api}/v1/apps/${kept.appId}/enroll-code`, { method: 'POST', token: it.apiKey });
    expect(code).toMatchObject(unavailable);
    expect((await revoke(it, kept.appId)).status).toBe(200);
    const deleted = await call(`${it.muster.api}/v1/apps/${gone.appId}`, { method: 'DELETE', token: it.apiKey });
    expect(deleted.status).toBe(204);
    expect((await purge(it)).status).toBe(200);
    it.faulty.full = 0.79;
    expect((await create(it)).status).toBe(201);
    expect(await halfWritten(it.faulty, it.accountId)).toEqual([]);
  });

  test('64 creates at once on one account are a few commits', async () => {
    const it = await withTrouble();
    const before = it.faulty.calls.commit;
    const release = stalled(it, 'commit');
    const admitted = await admittedBy(it);
    const answers = Array.from({ length: 64 }, () => create(it));
    // All are past the rate window: what is left of them is the body, which has come.
    await until(async () => (await admittedBy(it)) === admitted + 64);
    release();
    expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([201]));
    expect(it.faulty.calls.commit - before).toBeLessThanOrEqual(8);
    expect(await entriesOf(it.faulty, KEYS.app.under(it.accountId))).toHaveLength(64);
    expect(await halfWritten(it.faulty, it.accountId)).toEqual([]);
  });
});

onEachBackend('a mutation and the deadline of its request', (backend) => {
  const withTrouble = troubled(backend, () => ({ deadlines: DEADLINES }));

  test.each([
    ['create', (it: Faulty) => create(it)],
    ['configure', (it: Faulty) => configure(it, 'https://b.example')],
  ])('a commit that hangs is answered by it: %s', async (_, mutation) => {
    const it = await withTrouble();
    const release = stalled(it, 'commit');
    const hangs = reached(it, 'commit');
    {
      using timers = simulatedTimers();
      const answer = mutation(it);
      await hangs;
      await expectRefusedInTime(it, timers, answer);
    }
    release();
    await until(async () => (await actions(it)).length === 2);
    expect(await halfWritten(it.faulty, it.accountId)).toEqual([]);
  });

  test('requests that were answered by then while they queued are not carried out behind it', async () => {
    const it = await withTrouble();
    const release = stalled(it, 'commit');
    const hangs = reached(it, 'commit');
    {
      using timers = simulatedTimers();
      const admitted = await admittedBy(it);
      const first = create(it);
      await hangs;
      const all = [first, create(it), create(it)];
      const answers: Answer[] = [];
      for (const one of all) void one.then((answer) => answers.push(answer));
      while ((await admittedBy(it)) < admitted + 3);
      // The bodies of the last two may come a turn later than they were admitted.
      while (answers.length < 3) {
        await timers.advance(100);
        await nextTurn();
      }
      expect(answers).toMatchObject([unavailable, unavailable, unavailable]);
    }
    release();
    await until(async () => (await create(it)).status === 201);
    expect((await actions(it)).filter((action) => action === 'app.created')).toHaveLength(2);
  });

  test('a commit whose answer was lost is not sent again once the request has been answered', async () => {
    const it = await withTrouble();
    it.faulty.fates.push('lost before commit');
    const release = stalled(it, 'get');
    {
      using timers = simulatedTimers();
      const asked = reached(it, 'get');
      const answer = create(it);
      await asked;
      await expectRefusedInTime(it, timers, answer);
      // Simulated time stands still: the one that hangs finds that its own is over.
      release();
    }
    // It waits for its turn behind the first.
    expect((await create(it)).status).toBe(201);
    expect(await entriesOf(it.faulty, KEYS.app.under(it.accountId))).toHaveLength(1);
  });
});
