import { randomUUID } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { parseRecord, put } from '../../src/domain/records/codec.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { expectRevision } from '../../src/store/entry.ts';
import { expectAsFound, type Change, type CommitResult, type Store } from '../../src/store/port.ts';
import { dayAt, endOfDay, startOfDay } from '../../src/time/utc-days.ts';
import { auditedNights } from '../support/metering/audited-ledger.ts';
import { countsOf, digestOf, HOUR_MS, ledgerOf, MINUTE_MS } from '../support/metering/metering.ts';
import { entriesOf, halfWritten } from '../support/service/accounts.ts';
import { changeAccount, deleteApp, issueCode, metric, readApp, revoke } from '../support/service/daemon.ts';
import {
  createApp,
  enroll,
  Muster,
  tenant,
  type CreatedApp,
  type MusterOptions,
  type Tenant,
} from '../support/service/muster.ts';
import { onEachBackend, type Backend } from '../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../support/store/faulty-store.ts';
import { wrappedStore } from '../support/store/wrapped-store.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { until } from '../support/time/until.ts';

const DAY = '2026-06-30';
const NEXT = '2026-07-01';
const MIDNIGHT = startOfDay(NEXT);
const METERING_DELAY_MS = 5 * MINUTE_MS;

interface Running extends AsyncDisposable {
  readonly muster: Muster;
  readonly store: FaultyStore;
  readonly clock: FakeClock;
  readonly hooks: Hooks;
}

interface Hooks {
  beforeCommit?: (change: Change) => Promise<void>;
  onGet?: (key: string) => void;
}

async function start(
  open: (options: MusterOptions) => Promise<Muster>,
  clock = new FakeClock(MIDNIGHT - 12 * HOUR_MS),
): Promise<Running> {
  let store: FaultyStore | undefined;
  const hooks: Hooks = {};
  const wrapStore = (opened: Store): Store => {
    const commit = async (change: Change): Promise<CommitResult> => {
      await hooks.beforeCommit?.(change);
      return await opened.commit(change);
    };
    const get: Store['get'] = (key) => {
      hooks.onGet?.(key);
      return opened.get(key);
    };
    return (store = faultyStore(wrappedStore(opened, { commit, get })));
  };
  const muster = await open({ clock, wrapStore });
  if (!store) throw new Error('the store was not wrapped');
  return { muster, store, clock, hooks, [Symbol.asyncDispose]: () => muster[Symbol.asyncDispose]() };
}
const fresh = (backend: Backend, clock?: FakeClock): Promise<Running> =>
  start((options) => backend.fresh(options), clock);

const goTo = (clock: FakeClock, at: number): void => clock.advance(at - clock.now());

/** Moves the clock on until the night of the day is metered, which is not before its first minutes are over. */
async function metered({ store, clock }: Pick<Running, 'store' | 'clock'>, day: string): Promise<void> {
  goTo(clock, Math.max(clock.now(), endOfDay(day) + METERING_DELAY_MS));
  await until(async () => {
    clock.advance(1000);
    const through = JSON.parse((await store.get(KEYS.metered()))?.value ?? '{}') as { through?: string };
    return (through.through ?? '') >= day;
  });
}

async function activeApp(muster: Muster, { apiKey }: Tenant): Promise<CreatedApp> {
  const app = await createApp(muster, apiKey);
  await enroll(muster, app);
  return app;
}

async function livesOf(store: Store, { accountId }: Tenant): Promise<string[]> {
  const entries = await entriesOf(store, KEYS.statusChange.under());
  return entries.filter(({ key }) => key.includes(accountId)).map(({ key }) => key);
}

const errorsOf = (muster: Muster): string[] => muster.logged.filter((line) => line.includes('"level":"error"'));

onEachBackend('a night through the front door', (backend) => {
  test('an app counts by its status just before midnight, however late the night is metered', async () => {
    await using running = await fresh(backend);
    const { muster, store, clock } = running;
    const owner = await tenant(muster);
    const { apiKey } = owner;
    const app = (): Promise<CreatedApp> => activeApp(muster, owner);
    const back = async ({ appId }: CreatedApp): Promise<void> => {
      await enroll(muster, await issueCode(muster, apiKey, appId));
    };
    const [steady, gone, goneLate, away, back1, back2, awayAndBack, swapped] = (await Promise.all(
      Array.from({ length: 8 }, app),
    )) as [CreatedApp, CreatedApp, CreatedApp, CreatedApp, CreatedApp, CreatedApp, CreatedApp, CreatedApp];
    const pending = await createApp(muster, apiKey);
    for (const one of [back1, back2]) await revoke(muster, apiKey, one.appId);

    goTo(clock, MIDNIGHT - 1);
    const justInTime = await app();
    await deleteApp(muster, apiKey, gone.appId);
    await revoke(muster, apiKey, away.appId);
    await back(back1);

    goTo(clock, MIDNIGHT);
    const tooLate = await app();
    await deleteApp(muster, apiKey, goneLate.appId);
    await back(back2);
    await back(away);
    await revoke(muster, apiKey, awayAndBack.appId);
    await back(awayAndBack);
    await back(swapped);
    await revoke(muster, apiKey, justInTime.appId);
    await deleteApp(muster, apiKey, justInTime.appId);
    await revoke(muster, apiKey, pending.appId);

    goTo(clock, MIDNIGHT + 3 * 24 * HOUR_MS + 10 * MINUTE_MS);
    await metered(running, '2026-07-03');
    const then = [steady, goneLate, back1, awayAndBack, swapped, justInTime];
    const later = [steady, back1, back2, away, awayAndBack, swapped, tooLate];
    const count = (apps: CreatedApp[]): string => `${apps.length} ${digestOf(apps.map(({ appId }) => appId))}`;
    expect(await countsOf(store)).toEqual({
      [`${owner.accountId} ${DAY}`]: count(then),
      [`${owner.accountId} ${NEXT}`]: count(later),
      [`${owner.accountId} 2026-07-02`]: count(later),
      [`${owner.accountId} 2026-07-03`]: count(later),
    });
    expect(await halfWritten(store, owner.accountId)).toEqual([]);
    expect(errorsOf(muster)).toEqual([]);
    expect(await metric(muster, 'muster_metering_nights_total{late="true"}')).toBe(3);
    expect(await metric(muster, 'muster_metering_last_night_timestamp_seconds')).toBe(startOfDay('2026-07-04') / 1000);
  });

  test('an account that was disabled at midnight counts nothing, whatever it was before and after', async () => {
    await using running = await fresh(backend);
    const { muster, store, clock } = running;
    const owners = [await tenant(muster), await tenant(muster), await tenant(muster), await tenant(muster)] as const;
    const [before, after, through, blink] = owners;
    const apps = new Map<Tenant, CreatedApp>();
    for (const owner of owners) apps.set(owner, await activeApp(muster, owner));
    const disabled = async ({ accountId }: Tenant, is: boolean): Promise<void> => {
      expect((await changeAccount(muster, accountId, { disabled: is })).status).toBe(200);
    };
    goTo(clock, MIDNIGHT - 1);
    for (const owner of [before, through]) await disabled(owner, true);
    for (const is of [true, false]) await disabled(blink, is);
    goTo(clock, MIDNIGHT);
    await disabled(after, true);
    for (const is of [true, false, true]) await disabled(blink, is);
    await disabled(through, false);
    await metered(running, DAY);
    const counts = await ledgerOf(store);
    const active = owners.map(({ accountId }) => counts.get(`${accountId} ${DAY}`)?.activeDaemons);
    expect(active).toEqual([0, 1, 0, 1]);
    expect(counts.get(`${before.accountId} ${DAY}`)?.digest).toBe(digestOf([]));
  });

  test('a replica that stamped before midnight and then stalled conflicts, and stamps again', async () => {
    await using running = await fresh(backend);
    const { muster, store, clock } = running;
    const owner = await tenant(muster);
    const app = await activeApp(muster, owner);
    goTo(clock, MIDNIGHT - 100);
    const key = KEYS.app(owner.accountId, app.appId);
    let stalled = 0;
    running.hooks.beforeCommit = async ({ write }) => {
      if (stalled > 0 || !write.some((one) => 'put' in one && one.put === key)) return;
      stalled += 1;
      clock.advance(200);
      // Another replica ends the day.
      const day = await store.get(KEYS.day());
      const expectDay = expectRevision(KEYS.day(), day?.revision ?? 0);
      await store.commit({ expect: [expectDay], write: [put(KEYS.day(), { day: NEXT, since: DAY })] });
    };
    expect((await revoke(muster, owner.apiKey, app.appId)).status).toBe(200);
    expect(stalled).toBe(1);
    expect((await readApp(muster, owner.apiKey, app.appId))['status']).toBe('revoked');
    const life = await store.get(KEYS.statusChange(NEXT, owner.accountId, app.appId));
    expect(JSON.parse(life?.value ?? '')).toEqual({ before: 'active', after: 'revoked', at: MIDNIGHT });
    await metered(running, DAY);
    expect(await countsOf(store)).toEqual({ [`${owner.accountId} ${DAY}`]: `1 ${digestOf([app.appId])}` });
  });

  test('an app whose creation moves the day on and stalls does not move it back', async () => {
    await using running = await fresh(backend);
    const { muster, store, clock } = running;
    const owner = await tenant(muster);
    goTo(clock, MIDNIGHT + MINUTE_MS);
    let stalled = 0;
    running.hooks.beforeCommit = async ({ write }) => {
      if (stalled > 0 || !write.some((one) => 'put' in one && one.put.includes('/app/'))) return;
      stalled += 1;
      // Another replica, whose clock is a little ahead, ends this day.
      const found = await store.get(KEYS.day());
      await store.commit({
        expect: [expectAsFound(KEYS.day(), found)],
        write: [put(KEYS.day(), { day: '2026-07-02', since: DAY })],
      });
    };
    await createApp(muster, owner.apiKey);
    expect(stalled).toBe(1);
    expect(JSON.parse((await store.get(KEYS.day()))?.value ?? '')).toMatchObject({ day: '2026-07-02' });
  });

  test('an account that a slower clock makes after midnight has no night before it', async () => {
    await using running = await fresh(backend);
    const { muster, store, clock } = running;
    const first = await tenant(muster);
    goTo(clock, MIDNIGHT - 100);
    // Another replica has ended the day.
    const day = await store.get(KEYS.day());
    const expectDay = expectRevision(KEYS.day(), day?.revision ?? 0);
    await store.commit({ expect: [expectDay], write: [put(KEYS.day(), { day: NEXT, since: DAY })] });
    await tenant(muster);
    await metered(running, DAY);
    expect(Object.keys(await countsOf(store))).toEqual([`${first.accountId} ${DAY}`]);
  });

  test('fifty apps that are deleted at the stroke of midnight are deleted, and were there the night before', async () => {
    await using running = await fresh(backend);
    const { muster, store, clock } = running;
    const owner = await tenant(muster);
    const apps = await Promise.all(Array.from({ length: 50 }, () => activeApp(muster, owner)));
    goTo(clock, MIDNIGHT);
    const answers = await Promise.all(apps.map(({ appId }) => deleteApp(muster, owner.apiKey, appId)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
    const next = (await livesOf(store, owner)).filter((key) => key.startsWith(KEYS.statusChange.under(NEXT)));
    expect(next).toHaveLength(50);
    expect(await halfWritten(store, owner.accountId)).toEqual([]);
    clock.advance(24 * HOUR_MS);
    await metered(running, NEXT);
    expect(await countsOf(store)).toEqual({
      [`${owner.accountId} ${DAY}`]: `50 ${digestOf(apps.map(({ appId }) => appId))}`,
      [`${owner.accountId} ${NEXT}`]: `0 ${digestOf([])}`,
    });
  });

  test('a mutation that changes no status writes no entry, and reads no day in the store', async () => {
    // No leader: it reads the day, and moves it on.
    await using running = await start((options) => backend.fresh({ ...options, env: { MUSTER_ROLES: 'api,device' } }));
    const { muster, store, hooks } = running;
    const read: string[] = [];
    hooks.onGet = (key) => read.push(key);
    const owner = await tenant(muster);
    const touchesNights = (from: number): boolean => {
      const keys = store.changes
        .slice(from)
        .flatMap(({ expect: expected, write }) => [
          ...expected.map(({ key }) => key),
          ...write.map((one) => ('put' in one ? one.put : '')),
        ]);
      return keys.some((key) => key === KEYS.day() || key.startsWith(KEYS.statusChange.under()));
    };
    let from = store.changes.length;
    const app = await createApp(muster, owner.apiKey);
    expect(touchesNights(from)).toBe(false);
    expect(read).not.toContain(KEYS.day());
    from = store.changes.length;
    await enroll(muster, app);
    expect(touchesNights(from)).toBe(true);
    from = store.changes.length;
    await enroll(muster, await issueCode(muster, owner.apiKey, app.appId));
    expect((await changeAccount(muster, owner.accountId, { name: 'other' })).status).toBe(200);
    expect(touchesNights(from)).toBe(false);
    // Revoked again: its open codes go, and nothing else.
    await revoke(muster, owner.apiKey, app.appId);
    await issueCode(muster, owner.apiKey, app.appId);
    from = store.changes.length;
    await revoke(muster, owner.apiKey, app.appId);
    expect(store.changes.length).toBe(from + 1);
    expect(touchesNights(from)).toBe(false);
  });

  test.each<[string, number, string[], string]>([
    ['is trusted, and then jumps', 2 * MINUTE_MS, [`${NEXT} 1`], NEXT],
    ['has jumped before', -2 * MINUTE_MS, [`${DAY} 1`, `${NEXT} 1`], DAY],
  ])('an app made by a clock that %s counts for no night before its creation', async (_what, at, nights, day) => {
    await using running = await fresh(backend);
    const { muster, store, clock } = running;
    const owner = await tenant(muster);
    goTo(clock, MIDNIGHT + at);
    if (day === DAY) clock.jump(HOUR_MS);
    // Nobody has ended the day before: it is metered some minutes after its midnight.
    const app = await createApp(muster, owner.apiKey);
    expect(JSON.parse((await store.get(KEYS.day()))?.value ?? '')).toEqual({ day, since: DAY });
    const entry = await store.get(KEYS.app(owner.accountId, app.appId));
    const { statusAt } = parseRecord(KEYS.app, entry ?? expect.unreachable()).record;
    expect(statusAt).toBe(day === NEXT ? clock.now() : MIDNIGHT - 1);
    if (day === NEXT) clock.jump(HOUR_MS);
    await enroll(muster, app);
    clock.jump(-HOUR_MS);
    await metered(running, NEXT);
    const counted = [...(await ledgerOf(store)).values()].filter(({ activeDaemons }) => activeDaemons > 0);
    expect(counted.map((night) => `${night.day} ${night.activeDaemons}`)).toEqual(nights);
    expect(await countsOf(store)).toEqual(await auditedNights(store, NEXT));
  });

  test.each<[string, number]>([
    ['an hour ahead', HOUR_MS],
    ['an hour back', -HOUR_MS],
    ['three days ahead', 3 * 24 * HOUR_MS],
  ])('while the clock has jumped by %s no night is closed, and a change stays in its day', async (_what, ms) => {
    await using running = await fresh(backend);
    const { muster, store, clock } = running;
    const owner = await tenant(muster);
    const [app, other] = [await activeApp(muster, owner), await activeApp(muster, owner)];
    goTo(clock, MIDNIGHT + (ms < 0 ? 2 * MINUTE_MS : -30 * MINUTE_MS));
    // The day has ended already where the clock goes back.
    if (ms < 0) await revoke(muster, owner.apiKey, other.appId);
    const day = (await store.get(KEYS.day()))?.value;
    clock.jump(ms);
    await until(async () => (await metric(muster, 'muster_clock_trusted')) === 0);
    for (let i = 0; i < 20; i += 1) {
      clock.advance(5000);
      await revoke(muster, owner.apiKey, app.appId);
    }
    expect((await store.get(KEYS.day()))?.value).toBe(day);
    expect(await countsOf(store)).toEqual({});
    expect(await metric(muster, 'muster_clock_trusted')).toBe(0);
    expect(errorsOf(muster).filter((line) => line.includes('the clock jumped'))).toHaveLength(1);
    const lives = (await livesOf(store, owner)).filter((key) => key.endsWith(app.appId));
    expect(lives.at(-1)).toBe(KEYS.statusChange(ms < 0 ? NEXT : DAY, owner.accountId, app.appId));

    clock.jump(-ms);
    goTo(clock, MIDNIGHT + HOUR_MS);
    await metered(running, DAY);
    expect(await metric(muster, 'muster_clock_trusted')).toBe(1);
    // Where it went back the change was after midnight, where it went ahead before.
    const then = ms < 0 ? [app.appId, other.appId] : [other.appId];
    expect(await countsOf(store)).toEqual({ [`${owner.accountId} ${DAY}`]: `${then.length} ${digestOf(then)}` });
  });
});

test('a service that is away over midnight meters the night when it is back', async () => {
  await using first = await start((options) => Muster.start(options));
  const dataDir = first.muster.dataDir;
  const owner = await tenant(first.muster);
  const [kept, gone] = [await activeApp(first.muster, owner), await activeApp(first.muster, owner)];
  goTo(first.clock, MIDNIGHT - 1);
  await first.muster.service.stop();
  const clock = new FakeClock(MIDNIGHT + 10_000);
  await using second = await start((options) => Muster.start({ ...options, dataDir }), clock);
  await deleteApp(second.muster, owner.apiKey, gone.appId);
  await metered(second, DAY);
  const counted = [kept.appId, gone.appId];
  expect(await countsOf(second.store)).toEqual({ [`${owner.accountId} ${DAY}`]: `2 ${digestOf(counted)}` });
});

const url = inject('etcd');
describe.skipIf(url === undefined)('two services on one etcd, both with their controllers at work', () => {
  test('meter every night once, while apps come and go through both', async () => {
    const place = { store: `etcd:${url}`, env: { MUSTER_ETCD_PREFIX: `/${randomUUID()}/` } };
    const clock = new FakeClock(MIDNIGHT - 12 * HOUR_MS);
    const open = (options: MusterOptions): Promise<Muster> => Muster.start({ ...options, ...place, election: false });
    await using one = await start(open, clock);
    await using other = await start(open, clock);
    const owner = await tenant(one.muster);
    const steady = await activeApp(one.muster, owner);
    const expected: Record<string, string> = {};
    for (let at = MIDNIGHT; at <= MIDNIGHT + 3 * 24 * HOUR_MS; at += 24 * HOUR_MS) {
      goTo(clock, at - HOUR_MS);
      const apps = await Promise.all([
        ...Array.from({ length: 5 }, () => activeApp(one.muster, owner)),
        ...Array.from({ length: 5 }, () => activeApp(other.muster, owner)),
      ]);
      goTo(clock, at);
      const answers = await Promise.all(
        apps.map(({ appId }, i) => deleteApp((i % 2 === 0 ? one : other).muster, owner.apiKey, appId)),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
      const then = [steady, ...apps].map(({ appId }) => appId);
      expected[`${owner.accountId} ${dayAt(at - 1)}`] = `11 ${digestOf(then)}`;
      await metered({ store: one.store, clock }, dayAt(at - 1));
    }
    expect(await countsOf(one.store)).toEqual(expected);
    for (const { muster } of [one, other]) expect(errorsOf(muster)).toEqual([]);
  });
});
