import { expect } from 'vitest';
import { ABSENT, HEAD_KEY, HOLD_TTL_MS_MAX, type Held, type Store } from '../../../src/store/port.ts';
import { until } from '../../support/time/until.ts';
import type { DeclarePromise } from './harness.ts';
import { at, capability, inParallel, present, put, remove, writes } from './harness.ts';
import { record } from './recorder.ts';
import { rawKey } from '../../support/store/raw-key.ts';

/** Nothing here waits until it is over. */
const TTL_MS = 20_000;
/** A holder is told by its next renewal, after a third of it. */
const SHORT_TTL_MS = 2000;

/** A hold that has to succeed. */
export async function held(hold: Promise<Held | 'taken'>): Promise<Held> {
  const settled = await hold;
  if (settled === 'taken') throw new Error('expected the key to be free; it is taken');
  return settled;
}

/** Whether a write that carries the fencing token goes through. */
async function passesFence(store: Store, revision: number): Promise<boolean> {
  const { outcome } = await store.commit({ expect: [at('t/leader', revision)], write: [put('t/work')] });
  return outcome === 'committed';
}

export function holdPromises(promise: DeclarePromise): void {
  promise('a held key is an entry like others, and head does not know of it', async ({ store }) => {
    const start = await writes(store, put('t/start'));
    const head = await store.head();
    using recording = await record(store, 't/', start + 1);
    const { revision, lost } = await held(store.hold(rawKey('t/leader'), 'me', TTL_MS));
    expect(await store.get('t/leader')).toEqual({ key: 't/leader', value: 'me', revision });
    expect(await store.head()).toEqual(head);
    await recording.recorder.untilChanges(1);
    expect(recording.recorder.changes).toEqual([{ key: 't/leader', revision, value: 'me' }]);
    expect(lost.aborted).toBe(false);
  });

  promise('a key that exists is taken, held or not, and stays as it is', async ({ store }) => {
    const revision = await writes(store, put('t/plain', 'plain'));
    const { revision: heldRevision } = await held(store.hold(rawKey('t/leader'), 'first', TTL_MS));
    expect(await store.hold(rawKey('t/plain'), 'second', TTL_MS)).toBe('taken');
    expect(await store.hold(rawKey('t/leader'), 'second', TTL_MS)).toBe('taken');
    expect(await present(store, 't/plain')).toMatchObject({ value: 'plain', revision });
    expect(await present(store, 't/leader')).toMatchObject({ value: 'first', revision: heldRevision });
  });

  promise('of many that want to hold a key at once, one does', async ({ store }) => {
    const holds = await inParallel(12, async (index) => store.hold(rawKey('t/leader'), `${index}`, TTL_MS));
    const [winner, ...others] = holds.filter((hold) => hold !== 'taken');
    expect(others).toEqual([]);
    expect(await present(store, 't/leader')).toMatchObject({
      value: `${holds.findIndex((hold) => hold === winner)}`,
      revision: winner?.revision,
    });
  });

  promise('what is released is gone at once, not lost, and free for the next; twice is once', async ({ store }) => {
    const first = await held(store.hold(rawKey('t/leader'), 'first', TTL_MS));
    const head = await store.head();
    await Promise.all([first.release(), first.release()]);
    expect(await store.get('t/leader')).toBeUndefined();
    expect(await store.head()).toEqual(head);
    const second = await held(store.hold(rawKey('t/leader'), 'second', TTL_MS));
    await first.release();
    expect(await first.rewrite('late')).toBe('lost');
    expect(first.lost.aborted).toBe(false);
    expect(await present(store, 't/leader')).toMatchObject({ value: 'second', revision: second.revision });
    expect(await second.rewrite('still second')).toBe('written');
  });

  promise('what expects the revision of a hold is refused once that is over', async ({ store }) => {
    const first = await held(store.hold(rawKey('t/leader'), 'same', TTL_MS));
    expect(await passesFence(store, first.revision)).toBe(true);
    await first.release();
    expect(await passesFence(store, first.revision)).toBe(false);
    const second = await held(store.hold(rawKey('t/leader'), 'same', TTL_MS));
    expect(await passesFence(store, first.revision)).toBe(false);
    expect(await passesFence(store, second.revision)).toBe(true);
  });

  promise('a rewrite puts another value under the same expiry, and moves the revision', async ({ store }) => {
    const holder = await held(store.hold(rawKey('t/leader'), 'old', TTL_MS));
    const [before, head] = [holder.revision, await store.head()];
    expect(await holder.rewrite('new')).toBe('written');
    expect(holder.revision).toBeGreaterThan(before);
    expect(await present(store, 't/leader')).toMatchObject({ value: 'new', revision: holder.revision });
    expect(await store.head()).toEqual(head);
    expect([await passesFence(store, before), await passesFence(store, holder.revision)]).toEqual([false, true]);
    await holder.release();
    expect(await store.get('t/leader')).toBeUndefined();
    expect(holder.lost.aborted).toBe(false);
  });

  promise('rewrites at once are written one after the other', async ({ store }) => {
    const holder = await held(store.hold(rawKey('t/leader'), 'first', TTL_MS));
    using recording = await record(store, 't/leader', holder.revision + 1);
    const results = await inParallel(5, async (index) => holder.rewrite(`${index}`));
    expect(new Set(results)).toEqual(new Set(['written']));
    await recording.recorder.untilChanges(5);
    expect(recording.recorder.changes.map(({ value }) => value)).toEqual(['0', '1', '2', '3', '4']);
    expect(recording.recorder.changes.at(-1)?.revision).toBe(holder.revision);
  });

  promise('a holder whose key somebody removed learns of it, by itself and by a rewrite', async ({ store }) => {
    const idle = await held(store.hold(rawKey('t/idle'), 'v', SHORT_TTL_MS));
    const busy = await held(store.hold(rawKey('t/busy'), 'v', TTL_MS));
    await writes(store, remove('t/idle'), remove('t/busy'));
    expect(await busy.rewrite('again')).toBe('lost');
    expect(busy.lost.aborted).toBe(true);
    await until(() => idle.lost.aborted);
    expect(await store.get('t/busy')).toBeUndefined();
    await held(store.hold(rawKey('t/idle'), 'another', TTL_MS));
  });

  promise(
    'a held key that somebody overwrote is theirs: the holder is told, and removes nothing',
    async ({ store }) => {
      const idle = await held(store.hold(rawKey('t/idle'), 'v', SHORT_TTL_MS));
      const busy = await held(store.hold(rawKey('t/busy'), 'v', TTL_MS));
      const revision = await writes(store, put('t/idle', 'theirs'), put('t/busy', 'theirs'));
      expect(await busy.rewrite('again')).toBe('lost');
      await until(() => idle.lost.aborted);
      await Promise.all([idle.release(), busy.release()]);
      for (const key of ['t/idle', 't/busy']) {
        expect(await store.get(key)).toEqual({ key, value: 'theirs', revision });
        expect(await store.hold(rawKey(key), 'again', TTL_MS)).toBe('taken');
      }
    },
  );

  promise('commits of other keys, and those that conflict, lose no hold', async ({ store }) => {
    const holder = await held(store.hold(rawKey('t/leader'), 'v', TTL_MS));
    await writes(store, put('t/leader/x'), put('t/leade'));
    const conflict = await store.commit({ expect: [at('t/leader', ABSENT)], write: [remove('t/leader')] });
    expect(conflict.outcome).toBe('conflict');
    expect(await holder.rewrite('w')).toBe('written');
    expect(holder.lost.aborted).toBe(false);
  });

  promise('a store that is closed ends its holds, and tells the holders', async (under) => {
    const holder = await held(under.store.hold(rawKey('t/leader'), 'before', TTL_MS));
    const released = await held(under.store.hold(rawKey('t/released'), 'before', TTL_MS));
    await released.release();
    const store = await capability(under.reopen, 'reopen')();
    expect([holder.lost.aborted, released.lost.aborted]).toEqual([true, false]);
    expect(await holder.rewrite('late')).toBe('lost');
    await holder.release();
    expect(await store.get('t/leader')).toBeUndefined();
    await held(store.hold(rawKey('t/leader'), 'after', TTL_MS));
  });

  promise('what one handle holds is taken for another', async (under) => {
    const other = await capability(under.again, 'again')();
    const holder = await held(under.store.hold(rawKey('t/leader'), 'one', TTL_MS));
    expect(await other.hold(rawKey('t/leader'), 'other', TTL_MS)).toBe('taken');
    await holder.release();
    await held(other.hold(rawKey('t/leader'), 'other', TTL_MS));
  });

  promise('what no commit may write is not held either, nor for no time', async ({ store }) => {
    for (const [key, value, ttlMs] of [
      [HEAD_KEY, 'v', TTL_MS],
      ['', 'v', TTL_MS],
      ['t/é', 'v', TTL_MS],
      ['t/a', '\ud800', TTL_MS],
      ['t/a', 'v', 0],
      ['t/a', 'v', Number.NaN],
      ['t/a', 'v', HOLD_TTL_MS_MAX + 1],
    ] as const) {
      await expect(store.hold(rawKey(key), value, ttlMs)).rejects.toThrow(RangeError);
    }
    const holder = await held(store.hold(rawKey('t/a'), 'v', HOLD_TTL_MS_MAX));
    await expect(holder.rewrite('\ud800')).rejects.toThrow(RangeError);
    expect(await present(store, 't/a')).toMatchObject({ value: 'v' });
  });
}
