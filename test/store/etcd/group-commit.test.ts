import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEtcdStore, type EtcdOptions } from '../../../src/store/etcd/etcd-store.ts';
import { EtcdCommits } from '../../../src/store/etcd/group-commit.ts';
import { openEndpoints } from '../../../src/store/etcd/wire/endpoints.ts';
import { KeySpace } from '../../../src/store/etcd/wire/key-space.ts';
import { Marked } from '../../../src/store/etcd/wire/marked.ts';
import { ABSENT, type Change, type CommitResult, type Store, type Write } from '../../../src/store/port.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { runs } from '../../support/run/effort.ts';
import { simulatedTimers, type SimulatedTimers } from '../../support/time/simulated-timers.ts';
import {
  absent,
  at,
  committed,
  everything,
  inParallel,
  put,
  remove,
  removeAll,
  writes,
  writing,
} from '../conformance/harness.ts';
import { openWire, type Wire } from './wire/wire.ts';
import { until } from '../../support/time/until.ts';
import { rawKey, rawPrefix } from '../../support/store/raw-key.ts';

const binary = findEtcd();
/** Where nothing depends on when a call gives up. */
const deadlineMs = 20_000;
/** The deadline of a store over a wire that fails, in simulated time. */
const DEADLINE_MS = 1000;
/** Commits wait this long for a request under way before another one is sent. */
const PATIENCE_MS = 20;

const creating = (key: string): Change => ({ expect: [absent(key)], write: [put(key)] });
const commitAll = async (store: Store, changes: readonly Change[]): Promise<CommitResult[]> =>
  Promise.all(changes.map(async (change) => store.commit(change)));
const reasonOf = async (commit: Promise<CommitResult>): Promise<unknown> =>
  commit.then(
    ({ outcome }) => outcome,
    (error: unknown) =>
      error instanceof Error && 'reason' in error ? `${String(error.reason)}: ${error.message}` : error,
  );
const saying = (words: RegExp): unknown => expect.stringMatching(words) as unknown;
const revisionsOf = (results: readonly CommitResult[]): Set<number | undefined> =>
  new Set(results.map((result) => (result.outcome === 'committed' ? result.revision : undefined)));

describe.skipIf(binary === undefined)(`commits that share a request${binary ? '' : ` [skipped: ${NO_ETCD}]`}`, () => {
  let cluster: EtcdCluster;
  let opened = 0;

  beforeAll(async () => {
    cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
    // It writes the version of the cluster into its log by itself, soon after the start.
    const version = async (): Promise<string> => (await fetch(`${cluster.member.url}/version`)).text();
    await until(async () => !(await version()).includes('not_decided'));
  });
  afterAll(async () => cluster[Symbol.asyncDispose]());

  const open = async (options: Partial<EtcdOptions> = {}) =>
    openEtcdStore({ endpoints: cluster.urls, prefix: `test-${(opened += 1)}/`, deadlineMs, ...options });

  const wired = (): Promise<Wire> => openWire(cluster, DEADLINE_MS);

  /**
   * Commits for one key, each of which needs a request of its own: two are carried out and their answers get lost, the
   * others wait behind them.
   */
  async function stuck(wire: Wire, timers: SimulatedTimers, count: number): Promise<Promise<unknown>[]> {
    const { proxy, store, witness } = wire;
    proxy.silenceFlows('answers');
    const commits = Array.from({ length: count }, (_, n) =>
      reasonOf(store.commit(writing(put('t/hot'), put(`t/${n}`)))),
    );
    await untilThere(witness, 't/0');
    await timers.advance(PATIENCE_MS);
    await untilThere(witness, 't/1');
    return commits;
  }

  /** The number of entries in etcd's log so far: one for each request that may write. */
  async function requestsTaken(): Promise<number> {
    const metrics = await (await fetch(`${cluster.member.url}/metrics`)).text();
    return Number(/^etcd_server_proposals_committed_total (\S+)/m.exec(metrics)?.[1]);
  }

  test('two hundred for keys of their own need five requests, and one revision each', async () => {
    await using store = await open();
    const before = await requestsTaken();
    const results = await inParallel(200, async (index) => store.commit(creating(`t/${index}`)));
    expect((await requestsTaken()) - before).toBe(5);
    expect(results.filter(({ outcome }) => outcome === 'committed')).toHaveLength(200);
    expect(revisionsOf(results).size).toBe(5);
    const entries = await everything(store, 't/');
    const found = new Map<string, unknown>(
      entries.map(({ key, revision }) => [key, { outcome: 'committed', revision }]),
    );
    expect(results).toEqual(results.map((_, index) => found.get(`t/${index}`)));
  });

  test('one that conflicts fails alone, and the others share the revision of head', async () => {
    await using store = await open();
    await writes(store, put('t/3'));
    const results = await inParallel(10, async (index) => store.commit(creating(`t/${index}`)));
    expect(results.map(({ outcome }) => outcome).indexOf('conflict')).toBe(3);
    const others = results.filter((_, index) => index !== 3);
    expect(revisionsOf(others)).toEqual(new Set([(await store.head()).revision]));
  });

  test('a single commit is not kept waiting for long by one that etcd does not answer', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store, witness } = wire;
    proxy.silenceFlows('answers');
    const lost = reasonOf(store.commit(creating('t/lost')));
    await untilThere(witness, 't/lost');
    const second = reasonOf(store.commit(creating('t/second')));
    await timers.advance(PATIENCE_MS - 1);
    expect(await witness.get('t/second')).toBeUndefined();
    await timers.advance(1);
    await untilThere(witness, 't/second');
    await timers.advance(DEADLINE_MS);
    expect(await Promise.all([lost, second])).toEqual([saying(/^timeout/), saying(/^timeout/)]);
  });

  test('those that come while one is under way share a request, at the latest when they have waited for a moment', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store, witness } = wire;
    proxy.silenceFlows('answers');
    const first = reasonOf(store.commit(creating('t/first')));
    await untilThere(witness, 't/first');
    const second = reasonOf(store.commit(creating('t/second')));
    await timers.advance(PATIENCE_MS - 1);
    const third = reasonOf(store.commit(creating('t/third')));
    await timers.advance(1);
    await untilThere(witness, 't/second');
    const [one, other] = [await witness.get('t/second'), await witness.get('t/third')];
    expect(other?.revision).toBe(one?.revision);
    proxy.cut();
    for (const end of [first, second, third]) expect(await end).toEqual(saying(/^unreachable/));
  });

  test('exactly one of two that each rely on what the other writes commits', async () => {
    await using store = await open();
    for (let round = 0; round < runs(8); round += 1) {
      const [a, b] = [`t/${round}/a`, `t/${round}/b`];
      const results = await commitAll(store, [
        { expect: [absent(b)], write: [put(a)] },
        { expect: [absent(a)], write: [put(b)] },
        creating(`t/${round}/c`),
      ]);
      expect(results.map(({ outcome }) => outcome).toSorted()).toEqual(['committed', 'committed', 'conflict']);
    }
  });

  test.each([
    ['before', true],
    ['after', false],
  ])('a put %s the removal of all under its prefix is not lost in between', async (_, putFirst) => {
    await using store = await open();
    await writes(store, put('t/old'));
    const [adding, removing] = [writing(put('t/new')), writing(removeAll('t/'))];
    const changes = putFirst ? [adding, removing] : [removing, adding];
    const revisions = await Promise.all(changes.map(async (change) => committed(store.commit(change))));
    const [added = 0, removed = 0] = putFirst ? revisions : revisions.toReversed();
    expect(added).not.toBe(removed);
    const left = (await everything(store, 't/')).map(({ key }) => key);
    expect(left).toEqual(added > removed ? ['t/new'] : []);
  });

  test('quiet ones alone leave head where it is', async () => {
    await using store = await open();
    await writes(store, put('t/a'));
    const head = await store.head();
    const results = await inParallel(10, async (index) => store.commit({ ...creating(`t/${index}`), quiet: true }));
    expect(revisionsOf(results).size).toBe(1);
    expect(await store.head()).toEqual(head);
  });

  test('one that etcd refuses as too large fails alone, and so do too many operations', async () => {
    await using strict = await EtcdCluster.start({
      binary: binary ?? '',
      unsafeNoFsync: true,
      flags: ['--max-request-bytes=20000', '--max-txn-ops=20'],
    });
    await using store = await open({ endpoints: strict.urls });
    const wide = writing(...Array.from({ length: 30 }, (_, index) => put(`u/${index}`)));
    const changes = [creating('t/a'), writing(put('t/large', 'x'.repeat(30_000))), wide, creating('t/b')];
    expect(await Promise.all(changes.map(async (change) => reasonOf(store.commit(change))))).toEqual([
      'committed',
      saying(/^failed: .*too large/),
      saying(/^failed: .*too many operations/),
      'committed',
    ]);
    // None of these is refused for itself: they are only too many at once.
    const results = await inParallel(30, async (index) => store.commit(creating(`v/${index}`)));
    expect(revisionsOf(results).size).toBe(30);
    expect(await everything(store, '')).toHaveLength(33);
  });

  test('more than the queue takes are refused as busy, which is no outage; what waits counts until it ends', async () => {
    const endpoints = openEndpoints({
      urls: ['http://127.0.0.1:1'],
      tls: undefined,
      user: undefined,
      deadlineMs: 1000,
    });
    let [pending, sent] = [0, 0];
    const seen = {
      began: (bytes: number) => (pending += bytes),
      ended: (bytes: number, isSent: boolean) => {
        pending -= bytes;
        if (isSent) sent += bytes;
      },
      refused: () => undefined,
    };
    const keys = new KeySpace('');
    const marked = new Marked(keys, undefined);
    const commits = new EtcdCommits({ keys, endpoints, marked, deadlineMs: 1000, fullness: seen });
    const waiting = Array.from({ length: 10_000 }, (_, index) => reasonOf(commits.commit(creating(`t/${index}`))));
    const beyond = commits.commit(creating('t/more'));
    await expect(beyond).rejects.toMatchObject({
      name: 'Busy',
      reason: 'queue_full',
      message: expect.stringMatching(/was not sent/) as string,
    });
    expect(pending).toBeGreaterThan(10_000);
    // How these end depends on whether the address or their deadline is first.
    const ends = (await Promise.all(waiting)).map((reason) => String(reason).split(':')[0]);
    expect(ends).not.toContain('queue_full');
    expect({ pending, sent }).toEqual({ pending: 0, sent: 0 });
    endpoints.close();
  });

  test('a full etcd refuses those that put and takes those that only remove, issued together', async () => {
    await using small = await EtcdCluster.start({
      binary: binary ?? '',
      unsafeNoFsync: true,
      flags: ['--quota-backend-bytes=4000000'],
    });
    await using store = await open({ endpoints: small.urls });
    const fill = async () => {
      for (let index = 0; ; index += 1) await writes(store, put(`t/${index}`, 'x'.repeat(1_000_000)));
    };
    await expect(fill()).rejects.toMatchObject({ reason: 'full' });
    const [added, removed] = await Promise.all([
      reasonOf(store.commit(creating('t/more'))),
      reasonOf(store.commit({ ...writing(remove('t/0')), quiet: true })),
    ]);
    expect([added, removed]).toEqual([saying(/^full/), 'committed']);
  });

  test('a lost answer leaves all of them unknown, and carried out', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store, witness } = wire;
    proxy.silenceFlows('answers');
    const commits = inParallel(5, (index) => reasonOf(store.commit(creating(`t/${index}`))));
    await untilThere(witness, 't/0');
    await timers.advance(PATIENCE_MS);
    await untilThere(witness, 't/4');
    await timers.advance(DEADLINE_MS);
    const ends = await commits;
    expect(ends).toEqual(ends.map(() => saying(/^timeout: commit: etcd did not answer/)));
    expect(await everything(witness, 't/')).toHaveLength(5);
  });

  test('one whose deadline passes while it waits is not sent, and says so', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const hot = await stuck(wire, timers, 6);
    await timers.advance(DEADLINE_MS - PATIENCE_MS);
    const [unknown, unsent] = [/^timeout: .*did not answer in time/, /^timeout: .*it was not sent/];
    expect(await Promise.all(hot)).toEqual([unknown, unknown, unsent, unsent, unsent, unsent].map(saying));
    expect((await everything(wire.witness, 't/')).map(({ key }) => key)).toEqual(['t/0', 't/1', 't/hot']);
  });

  test('one whose deadline passed is left out of the request of a later one', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { store, witness } = wire;
    const hot = await stuck(wire, timers, 3);
    await timers.advance(DEADLINE_MS / 2);
    // It is sent over a new connection when the first two have timed out.
    const later = reasonOf(store.commit(creating('u/later')));
    await timers.advance(DEADLINE_MS / 2 - PATIENCE_MS);
    expect(await Promise.all(hot)).toEqual(
      ['', '', 'it was not sent'].map((end) => saying(new RegExp(`^timeout.*${end}`))),
    );
    expect(await later).toBe('committed');
    expect(await witness.get('t/2')).toBeUndefined();
  });

  test('one that has waited keeps its deadline, though the request has that of a later one', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store, witness } = wire;
    const hot = await stuck(wire, timers, 2);
    await timers.advance(500 - PATIENCE_MS);
    const third = reasonOf(store.commit(writing(put('t/hot'), put('t/third'))));
    await timers.advance(300);
    const later = reasonOf(store.commit(creating('u/later')));
    // When the first two have timed out, both are sent over another connection, on which answers get lost as well.
    proxy.heard = (flow, bytes) => {
      if (bytes.includes('u/later')) flow.silence = 'answers';
    };
    await timers.advance(DEADLINE_MS - 800);
    expect(await Promise.all(hot)).toEqual([saying(/^timeout/), saying(/^timeout/)]);
    await untilThere(witness, 't/third');
    expect((await witness.get('t/third'))?.revision).toBe((await witness.get('u/later'))?.revision);
    const ended: string[] = [];
    void third.then(() => ended.push('third'));
    void later.then(() => ended.push('later'));
    await timers.advance(499);
    expect(ended).toEqual([]);
    await timers.advance(1);
    expect(ended).toEqual(['third']);
    expect(await third).toEqual(saying(/^timeout: .*did not answer in time/));
    await timers.advance(299);
    expect(ended).toEqual(['third']);
    await timers.advance(1);
    expect(await later).toEqual(saying(/^timeout: .*did not answer in time/));
  });

  test('without a connection all waiting commits fail in one deadline, not one request after the other', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store } = wire;
    await proxy.refuse();
    const first = reasonOf(store.commit(creating('t/first')));
    await timers.advance(DEADLINE_MS);
    await first;
    const commits = inParallel(200, () => reasonOf(store.commit(writing(put('t/hot')))));
    await timers.advance(DEADLINE_MS);
    expect(new Set(await commits)).toEqual(new Set([saying(/^unreachable: commit: no etcd endpoint/)]));
  });

  test('those that wait are carried out when the store is disposed of', async () => {
    await using store = await open();
    const commits = Promise.all(
      Array.from({ length: 200 }, async (_, index) => reasonOf(store.commit(creating(`t/${index}`)))),
    );
    await store[Symbol.asyncDispose]();
    expect(new Set(await commits)).toEqual(new Set(['committed']));
  });

  test('whatever is issued together, some order explains every verdict and what is left', async () => {
    await using store = await open();
    let prefixes = 0;
    const turns = fc.array(fc.array(anyStep, { minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 4 });
    const property = fc.asyncProperty(turns, async (rounds) => {
      const prefix = `m/${(prefixes += 1)}/`;
      let state: State = new Map();
      for (const steps of rounds) {
        const changes = steps.map((step) => changeOf(step, state, prefix));
        const results = await commitAll(store, changes);
        state = explained(changes, results, state);
        expect(await everything(store, prefix)).toEqual(entriesOf(state));
      }
    });
    await fc.assert(property, { numRuns: runs(20) });
  });
});

/** Reads it again and again, while simulated time stands still. */
async function untilThere(store: Store, key: string): Promise<void> {
  while ((await store.get(key)) === undefined);
}

/** Values by key, with the revision of their last write. */
type State = ReadonlyMap<string, { readonly value: string; readonly revision: number }>;

interface Step {
  readonly relied: readonly string[];
  readonly write: Write;
  readonly quiet: boolean;
}

const anyKey = fc.constantFrom(...['a', 'a/1', 'a/2', 'b', 'b/1'].map(rawKey));
const anyStep: fc.Arbitrary<Step> = fc.record({
  relied: fc.array(anyKey, { minLength: 1, maxLength: 2 }),
  write: fc.oneof(
    { arbitrary: fc.record({ put: anyKey, value: fc.string({ maxLength: 3 }) }), weight: 6 },
    { arbitrary: fc.record({ remove: anyKey }), weight: 1 },
    { arbitrary: fc.record({ removeAll: fc.constantFrom(rawPrefix('a/'), rawPrefix('b')) }), weight: 1 },
  ),
  quiet: fc.boolean(),
});

/** Each has an effect: one without may bear the revision that it read, and no order by revision explains it. */
function changeOf({ relied, write, quiet }: Step, state: State, prefix: string): Change {
  const [first, ...others] = relied.map((key) => at(prefix + key, state.get(prefix + key)?.revision ?? ABSENT));
  const prefixed =
    'put' in write
      ? put(prefix + write.put, write.value)
      : 'remove' in write
        ? remove(prefix + write.remove)
        : removeAll(prefix + write.removeAll);
  return { expect: [first ?? absent(prefix), ...others], write: [prefixed], ...(quiet && 'put' in write && { quiet }) };
}

/**
 * The state after the committed changes, in the order of their revisions. Those of one revision are carried out in
 * every order in turn, which must make no difference: none may write what another relies on or writes.
 */
function explained(changes: readonly Change[], results: readonly CommitResult[], before: State): State {
  const byRevision = Map.groupBy(
    changes.flatMap((change, index) => {
      const result = results[index];
      return result?.outcome === 'committed' ? [{ change, revision: result.revision }] : [];
    }),
    ({ revision }) => revision,
  );
  let state = before;
  for (const revision of [...byRevision.keys()].toSorted((a, b) => a - b)) {
    const members = (byRevision.get(revision) ?? []).map(({ change }) => change);
    const forwards = members.reduce((then, change) => applied(change, then, revision), state);
    const backwards = members.toReversed().reduce((then, change) => applied(change, then, revision), state);
    expect(entriesOf(backwards)).toEqual(entriesOf(forwards));
    state = forwards;
  }
  return state;
}

function applied({ expect: expected, write }: Change, state: State, revision: number): State {
  for (const { key, revision: relied } of expected) expect(state.get(key)?.revision ?? ABSENT).toBe(relied);
  const next = new Map(state);
  for (const one of write) {
    if ('put' in one) next.set(one.put, { value: one.value, revision });
    else if ('remove' in one) next.delete(one.remove);
    else for (const key of state.keys()) if (key.startsWith(one.removeAll)) next.delete(key);
  }
  return next;
}

function entriesOf(state: State): unknown[] {
  const entries = [...state].map(([key, { value, revision }]) => ({ key, value, revision }));
  return entries.toSorted((one, other) => (one.key < other.key ? -1 : 1));
}
