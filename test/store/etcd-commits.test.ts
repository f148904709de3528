import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type EtcdOptions, openEtcdStore } from '../../src/store/etcd.ts';
import { ABSENT, type Change, type CommitResult, type Store, type Write } from '../../src/store/port.ts';
import { findEtcd, NO_ETCD } from '../support/etcd-binary.ts';
import { EtcdCluster } from '../support/etcd.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
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
} from './conformance/harness.ts';

const binary = findEtcd();
const deadlineMs = 20_000;

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

describe.skipIf(binary === undefined)(`commits that ride together${binary ? '' : ` [skipped: ${NO_ETCD}]`}`, () => {
  let cluster: EtcdCluster;
  let opened = 0;

  beforeAll(async () => {
    cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
  });
  afterAll(async () => cluster[Symbol.asyncDispose]());

  const open = async (options: Partial<EtcdOptions> = {}) =>
    openEtcdStore({ endpoints: cluster.urls, prefix: `test-${(opened += 1)}/`, deadlineMs, ...options });

  /** What etcd wrote to its log so far: one entry for each request that may write. */
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
    const found = new Map(entries.map(({ key, revision }) => [key, { outcome: 'committed', revision }]));
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

  test('a lone commit is not kept waiting for long by one that etcd does not answer', async () => {
    await using proxied = await proxy();
    await using store = await open({ endpoints: [proxied.url], deadlineMs: 1500 });
    proxied.silenceFlows('answers');
    const lost = reasonOf(store.commit(creating('t/lost')));
    await using witness = await open({ prefix: `test-${opened}/` });
    await until(async () => (await witness.get('t/lost')) !== undefined);
    const second = reasonOf(store.commit(creating('t/second')));
    await until(async () => (await witness.get('t/second')) !== undefined);
    expect(await Promise.all([lost, second])).toEqual([saying(/^timeout/), saying(/^timeout/)]);
  });

  test('those that come while one is under way ride together, at the latest when they have waited for a moment', async () => {
    await using proxied = await proxy();
    await using store = await open({ endpoints: [proxied.url] });
    await using witness = await open({ prefix: `test-${opened}/` });
    proxied.silenceFlows('answers');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const first = reasonOf(store.commit(creating('t/first')));
      await until(async () => (await witness.get('t/first')) !== undefined);
      const second = reasonOf(store.commit(creating('t/second')));
      await nextTurn();
      const third = reasonOf(store.commit(creating('t/third')));
      vi.advanceTimersByTime(20);
      await until(async () => (await witness.get('t/second')) !== undefined);
      const [one, other] = [await witness.get('t/second'), await witness.get('t/third')];
      expect(other?.revision).toBe(one?.revision);
      proxied.cut();
      for (const end of [first, second, third]) expect(await end).toEqual(saying(/./));
    } finally {
      vi.useRealTimers();
    }
  });

  test('of two that each rely on what the other writes, exactly one commits', async () => {
    await using store = await open();
    for (let round = 0; round < 20; round += 1) {
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
    await using proxied = await proxy();
    await using store = await open({ endpoints: [proxied.url], deadlineMs: 1000 });
    await using witness = await open({ prefix: `test-${opened}/` });
    proxied.silenceFlows('answers');
    const ends = await Promise.all(
      Array.from({ length: 5 }, async (_, index) => reasonOf(store.commit(creating(`t/${index}`)))),
    );
    expect(ends).toEqual(ends.map(() => saying(/^timeout: commit: etcd did not answer/)));
    expect(await everything(witness, 't/')).toHaveLength(5);
  });

  test('one whose deadline passes while it waits is not sent, and says so', async () => {
    await using proxied = await proxy();
    await using store = await open({ endpoints: [proxied.url], deadlineMs: 1000 });
    await using witness = await open({ prefix: `test-${opened}/` });
    proxied.silenceFlows('answers');
    // The same key for all: each needs a request of its own, and two may be under way.
    const commits = Array.from({ length: 6 }, (_, index) => writing(put('t/hot'), put(`t/${index}`)));
    const ends = await Promise.all(commits.map(async (change) => reasonOf(store.commit(change))));
    const [unknown, unsent] = [/^timeout: .*did not answer in time/, /^timeout: .*it was not sent/];
    expect(ends).toEqual([unknown, unknown, unsent, unsent, unsent, unsent].map(saying));
    expect((await everything(witness, 't/')).map(({ key }) => key)).toEqual(['t/0', 't/1', 't/hot']);
  });

  test('one whose deadline passed is left out of the request in which a later one rides', async () => {
    await using proxied = await proxy();
    await using store = await open({ endpoints: [proxied.url], deadlineMs: 2000 });
    await using witness = await open({ prefix: `test-${opened}/` });
    proxied.silenceFlows('answers');
    proxied.delayMs = 1000;
    const hot = [1, 2, 3].map(async (n) => reasonOf(store.commit(writing(put('t/hot'), put(`t/${n}`)))));
    await until(async () => (await witness.get('t/2')) !== undefined);
    proxied.delayMs = 0;
    // It comes a second later than they, and is sent over a new connection when the first two have timed out.
    const later = reasonOf(store.commit(creating('u/later')));
    expect(await Promise.all(hot)).toEqual(
      ['', '', 'it was not sent'].map((end) => saying(new RegExp(`^timeout.*${end}`))),
    );
    expect(await later).toBe('committed');
    expect(await witness.get('t/3')).toBeUndefined();
  });

  test('one that has waited keeps its deadline, though the request has that of a later one', async () => {
    await using proxied = await proxy();
    await using store = await open({ endpoints: [proxied.url], deadlineMs: 3400 });
    await using witness = await open({ prefix: `test-${opened}/` });
    // A request takes 2 s: those for one key take the two that may be under way, and the last of them waits.
    proxied.delayMs = 1000;
    const hot = [1, 2, 3].map(async (n) => reasonOf(store.commit(writing(put('t/hot'), put(`t/${n}`)))));
    await until(async () => (await witness.get('t/2')) !== undefined);
    const later = reasonOf(store.commit(creating('u/later')));
    expect(await Promise.all(hot)).toEqual(['committed', 'committed', saying(/^timeout: .*did not answer in time/)]);
    expect(await later).toBe('committed');
    expect((await witness.get('t/3'))?.revision).toBe((await witness.get('u/later'))?.revision);
  });

  test('without a connection all who wait fail in one deadline, not one request after the other', async () => {
    await using proxied = await proxy();
    await using store = await open({ endpoints: [proxied.url], deadlineMs: 2000 });
    await proxied.refuse();
    await reasonOf(store.commit(creating('t/first')));
    // One after the other they would take minutes, which no test has.
    const ends = await inParallel(200, async () => reasonOf(store.commit(writing(put('t/hot')))));
    expect(new Set(ends)).toEqual(new Set([saying(/^unreachable: commit: no etcd endpoint/)]));
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
    let runs = 0;
    const turns = fc.array(fc.array(anyStep, { minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 4 });
    const property = fc.asyncProperty(turns, async (rounds) => {
      const prefix = `m/${(runs += 1)}/`;
      let state: State = new Map();
      for (const steps of rounds) {
        const changes = steps.map((step) => changeOf(step, state, prefix));
        const results = await commitAll(store, changes);
        state = explained(changes, results, state);
        expect(await everything(store, prefix)).toEqual(entriesOf(state));
      }
    });
    await fc.assert(property, { numRuns: 60 });
  });

  async function proxy(): Promise<TcpProxy> {
    return TcpProxy.before(cluster.member.port);
  }
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds()));
}

/** Values by key, with the revision of their last write. */
type State = ReadonlyMap<string, { readonly value: string; readonly revision: number }>;

interface Step {
  readonly relied: readonly string[];
  readonly write: Write;
  readonly quiet: boolean;
}

const anyKey = fc.constantFrom('a', 'a/1', 'a/2', 'b', 'b/1');
const anyStep: fc.Arbitrary<Step> = fc.record({
  relied: fc.array(anyKey, { minLength: 1, maxLength: 2 }),
  write: fc.oneof(
    { arbitrary: fc.record({ put: anyKey, value: fc.string({ maxLength: 3 }) }), weight: 6 },
    { arbitrary: fc.record({ remove: anyKey }), weight: 1 },
    { arbitrary: fc.record({ removeAll: fc.constantFrom('a/', 'b') }), weight: 1 },
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
 * The state after the committed changes, in the order of their revisions. Those of one revision are carried out in every
 * order in turn, which must make no difference: none may write what another relies on or writes.
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
