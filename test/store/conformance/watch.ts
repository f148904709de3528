import { expect } from 'vitest';
import type { Store, Watch, WatchedChange } from '../../../src/store/port.ts';
import { HEAD_KEY } from '../../../src/store/port.ts';
import { runs } from '../../support/run/effort.ts';
import type { DeclarePromise } from './harness.ts';
import { capability, committed, everything, inParallel, put, remove, removeAll, writes, writing } from './harness.ts';
import { record, Recorder } from './recorder.ts';
import { rawKey } from '../../support/store/raw-key.ts';

export function watchPromises(promise: DeclarePromise): void {
  contentPromises(promise);
  resumePromises(promise);
  endPromises(promise);
}

const changed = (key: string, revision: number, value?: string): WatchedChange => ({
  key: rawKey(key),
  revision,
  value,
});

function contentPromises(promise: DeclarePromise): void {
  promise('a watch sees puts and removals in the order of their revisions', async ({ store }) => {
    const start = await writes(store, put('t/before'));
    using recording = await record(store, 't/', start + 1);
    const first = await writes(store, put('t/a', '1'));
    const second = await writes(store, put('t/a', '2'));
    const third = await writes(store, remove('t/a'));
    const fourth = await writes(store, put('t/a', '4'));
    await recording.recorder.untilChanges(4);
    expect(recording.recorder.changes).toEqual([
      changed('t/a', first, '1'),
      changed('t/a', second, '2'),
      changed('t/a', third),
      changed('t/a', fourth, '4'),
    ]);
    expect(recording.recorder.misconduct).toEqual([]);
  });

  promise('a watch from a revision in the past begins with that revision', async ({ store }) => {
    await writes(store, put('t/a', '1'));
    const second = await writes(store, put('t/a', '2'), put('t/b', '2'));
    const third = await writes(store, remove('t/b'));
    using recording = await record(store, 't/', second);
    await recording.recorder.untilChanges(3);
    const fourth = await writes(store, put('t/c', '4'));
    await recording.recorder.untilChanges(4);
    expect(inOrder(recording.recorder.changes)).toEqual([
      changed('t/a', second, '2'),
      changed('t/b', second, '2'),
      changed('t/b', third),
      changed('t/c', fourth, '4'),
    ]);
  });

  promise('a watch from a revision in the future begins with that revision', async ({ store }) => {
    const from = (await writes(store, put('t/a'))) + 4;
    using recording = await record(store, 't/', from);
    const expected: WatchedChange[] = [];
    for (let index = 0; index < 10; index += 1) {
      const revision = await writes(store, put('t/a', `${index}`));
      if (revision >= from) expected.push(changed('t/a', revision, `${index}`));
    }
    await recording.recorder.untilChanges(expected.length);
    expect(recording.recorder.changes).toEqual(expected);
  });

  promise('a batch holds complete revisions, of every key under the prefix', async ({ store }) => {
    const start = await writes(store, put('t/r/1'), put('t/r/2'));
    using recording = await record(store, 't/', start + 1);
    const keys = Array.from({ length: 120 }, (_, index) => `t/k${String(index).padStart(3, '0')}`);
    const puts = await writes(store, ...keys.map((key) => put(key)), removeAll('t/r/'));
    const removes = await writes(store, ...keys.map((key) => remove(key)));
    await recording.recorder.untilChanges(242);
    const { batches, changes } = recording.recorder;
    const removed = [changed('t/r/1', puts), changed('t/r/2', puts)];
    expect(inOrder(changes)).toEqual([
      ...keys.map((key) => changed(key, puts, 'v')),
      ...removed,
      ...keys.map((key) => changed(key, removes)),
    ]);
    for (const revision of [puts, removes]) {
      expect(batches.filter((batch) => batch.changes.some((change) => change.revision === revision))).toHaveLength(1);
    }
  });

  promise('a watch sees nothing of what lies beside its prefix', async ({ store }) => {
    const start = await writes(store, put('t/a'), put('t/b'), put('s'));
    using recording = await record(store, 't/a', start + 1);
    await writes(store, put('t/b', 'x'), put('t/.'), remove('s'), put('t'), put('T/a'));
    await writes(store, removeAll('t/b'));
    const revision = await writes(store, put('t/a', 'seen'), put('t/a/b', 'seen'), put('t/b', 'unseen'));
    await recording.recorder.untilChanges(2);
    expect(inOrder(recording.recorder.changes)).toEqual([
      changed('t/a', revision, 'seen'),
      changed('t/a/b', revision, 'seen'),
    ]);
  });

  promise('removing what is not there is no change', async ({ store }) => {
    const start = await writes(store, put('t/a'));
    using recording = await record(store, 't/', start + 1);
    await writes(store, remove('t/never'), removeAll('t/never/'), put('u/a'));
    const revision = await writes(store, put('t/end'));
    await recording.recorder.untilChanges(1);
    expect(recording.recorder.changes).toEqual([changed('t/end', revision, 'v')]);
  });

  promise('a watch over the directory sees head move with each commit that is not quiet', async ({ store }) => {
    const start = await writes(store, put('t/a'));
    using recording = await record(store, 'd/', start + 1);
    const outside = await writes(store, put('t/a'));
    const first = await store.head();
    await committed(store.commit({ ...writing(put('t/b')), quiet: true }));
    const inside = await writes(store, put('d/x'));
    const second = await store.head();
    await recording.recorder.untilChanges(3);
    expect(inOrder(recording.recorder.changes)).toEqual([
      changed(HEAD_KEY, outside, first.epochId),
      changed(HEAD_KEY, inside, second.epochId),
      changed('d/x', inside, 'v'),
    ]);
  });

  promise('a watch delivers a value of a million characters, and several of them', async ({ store }) => {
    const large = 'x'.repeat(1_000_000);
    const start = await writes(store, put('t/a'));
    await writes(store, put('t/past', `${large}0`));
    using recording = await record(store, 't/', start + 1);
    for (let index = 1; index <= 5; index += 1) await writes(store, put(`t/${index}`, `${large}${index}`));
    await recording.recorder.untilChanges(6);
    expect(recording.recorder.changes.map(({ value }) => value?.length)).toEqual(Array(6).fill(1_000_001));
    expect(recording.recorder.changes.map(({ value }) => value?.at(-1))).toEqual(['0', '1', '2', '3', '4', '5']);
  });

  promise('two watches of one store each see everything, also when one opens the other', async ({ store }) => {
    const start = await writes(store, put('t/a'));
    using first = await record(store, 't/', start + 1);
    await writes(store, put('t/b'));
    using second = await record(store, 't/', start + 1);
    await writes(store, put('t/c'));
    await first.recorder.untilChanges(2);
    await second.recorder.untilChanges(2);
    expect(second.recorder.changes).toEqual(first.recorder.changes);
  });
}

/** Revision order is promised, the order of keys within a revision is not. */
function inOrder(changes: readonly WatchedChange[]): WatchedChange[] {
  const key = (change: WatchedChange) => `${String(change.revision).padStart(16, '0')} ${change.key}`;
  return changes.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

function resumePromises(promise: DeclarePromise): void {
  promise('nothing is lost or repeated when a watch is closed and resumed under concurrent writers', async (under) => {
    await interruptedWatch(under.store, (watch) => watch.close());
  });

  promise('nothing is lost or repeated when a watch is severed and resumed under concurrent writers', async (under) => {
    const sever = capability(under.sever, 'sever');
    await interruptedWatch(under.store, sever);
  });

  promise('a severed watch ends as disconnected, and only then', async (under) => {
    const start = await writes(under.store, put('t/a'));
    using recording = await record(under.store, 't/', start + 1);
    capability(under.sever, 'sever')();
    await recording.recorder.untilEnd();
    expect(recording.recorder.ends).toEqual(['disconnected']);
    recording.watch.close();
    using again = await record(under.store, 't/', start + 1);
    const revision = await writes(under.store, put('t/b'));
    await again.recorder.untilChanges(1);
    expect(again.recorder.changes).toEqual([changed('t/b', revision, 'v')]);
    expect(recording.recorder.misconduct).toEqual([]);
  });

  promise('a watch goes on from the newest revision after a reopening', async (under) => {
    const before = await writes(under.store, put('t/a'));
    const store = await capability(under.reopen, 'reopen')();
    using recording = await record(store, 't/', before + 1);
    const revision = await writes(store, put('t/b'));
    await recording.recorder.untilChanges(1);
    expect(recording.recorder.changes).toEqual([changed('t/b', revision, 'v')]);
  });
}

const WRITERS = 8;
const COMMITS_EACH = runs(30);

const LAST_KEY = 't/last';

/** Writers go on while a watch is interrupted every few batches and resumed after the last one it delivered. */
async function interruptedWatch(store: Store, interrupt: (watch: Watch) => void): Promise<void> {
  const start = await writes(store, put('t/a'));
  const following = follow(store, start + 1, interrupt);
  const written = await inParallel(WRITERS, async (writer) => writeALot(store, writer));
  const last = await writes(store, put(LAST_KEY));
  expect(inOrder(await following)).toEqual(inOrder([...written.flat(), changed(LAST_KEY, last, 'v')]));
}

async function follow(store: Store, start: number, interrupt: (watch: Watch) => void): Promise<WatchedChange[]> {
  const seen: WatchedChange[] = [];
  let from = start;
  while (seen.at(-1)?.key !== LAST_KEY) {
    using recording = await record(store, 't/', from);
    const { recorder } = recording;
    await recorder.until(() => recorder.batches.length >= 3 || recorder.changes.at(-1)?.key === LAST_KEY);
    interrupt(recording.watch);
    await recorder.untilEnd();
    expect(recorder.misconduct).toEqual([]);
    seen.push(...recorder.changes);
    from = (recorder.batches.at(-1)?.revision ?? from - 1) + 1;
  }
  return seen;
}

async function writeALot(store: Store, writer: number): Promise<WatchedChange[]> {
  const written: WatchedChange[] = [];
  for (let index = 0; index < COMMITS_EACH; index += 1) {
    const key = `t/${writer}/${index % 3}`;
    const value = index % 10 === 9 ? undefined : `${writer}-${index}`;
    const write = value === undefined ? remove(key) : put(key, value);
    written.push(changed(key, await writes(store, write, put(`u/${writer}`)), value));
  }
  return written;
}

function endPromises(promise: DeclarePromise): void {
  promise('a watch from history that was compacted ends as compacted', async ({ store }) => {
    const first = await writes(store, put('t/a', '1'));
    await writes(store, put('t/a', '2'));
    await store.compact(await writes(store, put('t/a', '3')));
    const recorder = new Recorder();
    store.watch('t/', first, recorder);
    await recorder.untilEnd();
    expect(recorder.ends).toEqual(['compacted']);
    expect(recorder.changes).toEqual([]);
    expect(recorder.misconduct).toEqual([]);
  });

  promise('a compaction does not disturb a watch that is up to date', async ({ store }) => {
    const start = await writes(store, put('t/a', '1'));
    using recording = await record(store, 't/', start + 1);
    const second = await writes(store, put('t/a', '2'));
    await recording.recorder.untilChanges(1);
    await store.compact(second);
    const third = await writes(store, put('t/a', '3'));
    await recording.recorder.untilChanges(2);
    expect(recording.recorder.changes).toEqual([changed('t/a', second, '2'), changed('t/a', third, '3')]);
    using resumed = await record(store, 't/', second + 1);
    await resumed.recorder.untilChanges(1);
    expect(resumed.recorder.changes).toEqual([changed('t/a', third, '3')]);
  });

  promise('close ends a watch exactly once, however often it is called', async ({ store }) => {
    const start = await writes(store, put('t/a'));
    const { recorder, watch } = await record(store, 't/', start + 1);
    watch.close();
    watch.close();
    await recorder.untilEnd();
    watch.close();
    await writes(store, put('t/a', 'unseen'));
    expect(recorder.ends).toEqual(['closed']);
    expect(recorder.changes).toEqual([]);
    expect(recorder.misconduct).toEqual([]);
  });

  promise('a watch closed before it opened ends as closed', async ({ store }) => {
    const recorder = new Recorder();
    store.watch('t/', (await writes(store, put('t/a'))) + 1, recorder).close();
    await recorder.untilEnd();
    expect(recorder.ends).toEqual(['closed']);
    expect(recorder.misconduct).toEqual([]);
  });

  promise('a watch may be closed from within its own batch', async ({ store }) => {
    const start = await writes(store, put('t/a'));
    const recorder = new Recorder();
    const watch = store.watch('t/', start + 1, {
      onOpen: () => recorder.onOpen(),
      onEnd: (reason) => recorder.onEnd(reason),
      onBatch(batch) {
        recorder.onBatch(batch);
        watch.close();
      },
    });
    await recorder.untilOpen();
    await writes(store, put('t/a', '1'));
    await recorder.untilEnd();
    await writes(store, put('t/a', '2'));
    expect(recorder.ends).toEqual(['closed']);
    expect(recorder.batches).toHaveLength(1);
    expect(recorder.misconduct).toEqual([]);
  });

  promise('a batch may commit: its listener is told of that commit in a later batch', async ({ store }) => {
    const start = await writes(store, put('t/a'));
    const recorder = new Recorder();
    const answers: Promise<number>[] = [];
    const watch = store.watch('t/', start + 1, {
      onOpen: () => recorder.onOpen(),
      onEnd: (reason) => recorder.onEnd(reason),
      onBatch(batch) {
        recorder.onBatch(batch);
        if (answers.length < 3) answers.push(writes(store, put(`t/answer${answers.length}`)));
      },
    });
    await recorder.untilOpen();
    await writes(store, put('t/question'));
    await recorder.untilChanges(4);
    watch.close();
    expect(recorder.changes.slice(1).map(({ revision }) => revision)).toEqual(await Promise.all(answers));
    expect((await everything(store, 't/answer')).length).toBe(3);
  });

  promise('the disposal of the store ends its watches as closed', async ({ store }) => {
    const start = await writes(store, put('t/a'));
    const { recorder, watch } = await record(store, 't/', start + 1);
    await store[Symbol.asyncDispose]();
    await recorder.untilEnd();
    watch.close();
    expect(recorder.ends).toEqual(['closed']);
    expect(recorder.misconduct).toEqual([]);
  });
}
