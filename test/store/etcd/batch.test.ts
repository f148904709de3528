import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesOf, divide } from '../../../src/store/etcd/batch.ts';
import { COMMIT_OPERATIONS_MAX, HEAD_KEY, type Change, type Expectation, type Write } from '../../../src/store/port.ts';
import { absent, at, put, remove, removeAll } from '../conformance/harness.ts';

const change = (expect: readonly Expectation[], ...write: Write[]): Change => {
  const [first = absent('never'), ...others] = expect;
  return { expect: [first, ...others], write };
};
const quiet = (loud: Change): Change => ({ ...loud, quiet: true });
const candidate = (of: Change) => ({ change: of, bytes: bytesOf(of) });
const numbered = (count: number, of: (index: number) => Change) =>
  Array.from({ length: count }, (_, index) => candidate(of(index)));
const creating = (index: number): Change => change([absent(`t/${index}`)], put(`t/${index}`));

describe('the changes that share a request of etcd', () => {
  const A = 't/a';
  const B = 't/b';
  test.each<[boolean, string, Change, Change]>([
    [true, 'keys that have nothing to do with each other', change([absent(A)], put(A)), change([absent(B)], put(B))],
    [true, 'a key that both only rely on', change([at('k', 7)], put(A)), change([at('k', 7)], put(B))],
    [true, 'head, which is put once for all', change([], put(A)), change([], remove(B))],
    [false, 'two that put one key', change([], put(A)), change([], put(A))],
    [false, 'one that puts and one that removes it', change([], put(A)), change([], remove(A))],
    [false, 'one writes what the other relies on', change([], put(A)), change([absent(A)], put(B))],
    [false, 'each writes what the other relies on', change([absent(B)], put(A)), change([absent(A)], put(B))],
    [false, 'a removal of what the other relies on', change([], remove(A)), change([at(A, 7)], put(B))],
    [false, 'a put under a prefix that is removed', change([], removeAll('t/')), change([], put(A))],
    [
      false,
      'a key relied on under a prefix that is removed',
      change([], removeAll('t/')),
      change([at(A, 7)], put('u')),
    ],
    [false, 'a removal under a prefix that is removed', change([], removeAll('t/')), change([], remove(A))],
    [false, 'a prefix within a prefix', change([], removeAll('t/')), change([], removeAll('t/a/'))],
    [false, 'the same prefix', change([], removeAll('t/')), change([], removeAll('t/'))],
    [false, 'the key that equals the prefix', change([], removeAll(A)), change([], put(A))],
    [true, 'a prefix beside', change([], removeAll('t/')), change([absent('t0')], put('t'))],
    [false, 'head moved by one and relied on by the other', change([], put(A)), change([at(HEAD_KEY, 7)], put(B))],
    [true, 'head relied on beside one that is quiet', quiet(change([], put(A))), change([at(HEAD_KEY, 7)], put(B))],
    [false, 'a full etcd takes only one of them', quiet(change([], remove(A))), quiet(change([], put(B)))],
    [true, 'a full etcd takes both', quiet(change([], remove(A))), quiet(change([], removeAll('u/')))],
  ])('%s: %s', (together, _, one, other) => {
    for (const pair of [
      [candidate(one), candidate(other)],
      [candidate(other), candidate(one)],
    ]) {
      const [first, second] = pair;
      expect(divide(pair)).toEqual(together ? { group: pair, rest: [] } : { group: [first], rest: [second] });
    }
  });

  test('forty share one request, and the others follow in the order in which they came', () => {
    const all = numbered(100, creating);
    expect(divide(all)).toEqual({ group: all.slice(0, 40), rest: all.slice(40) });
  });

  test('the first is sent whatever it is, even if etcd will refuse it', () => {
    const large = candidate(change([], put('t/large', 'x'.repeat(3_000_000))));
    const small = candidate(creating(0));
    expect(divide([large, small])).toEqual({ group: [large], rest: [small] });
    expect(divide([small, large])).toEqual({ group: [small], rest: [large] });
  });

  test('a request has at most a MiB, in bytes and not in characters', () => {
    const all = numbered(10, (index) => change([], put(`t/${index}`, '€'.repeat(70_000))));
    expect(divide(all).group).toHaveLength(4);
  });

  test.each([
    [88, 39, 'members and head and the largest member come to 128'],
    [89, 38, 'one operation more, one member less'],
    [COMMIT_OPERATIONS_MAX, 1, 'the largest change goes alone'],
  ])('a member of %i operations joins those that make %i (%s)', (operations, members) => {
    const write = Array.from({ length: operations }, (_, index) => put(`u/${index}`));
    const wide = candidate(change([], ...write));
    expect(divide([wide, ...numbered(60, creating)]).group).toHaveLength(members);
    const [first = absent('u/0'), ...others] = write.map((_, index) => absent(`u/${index}`));
    const deep = candidate({ expect: [first, ...others], write: [] });
    expect(divide([deep, ...numbered(60, creating)]).group).toHaveLength(members);
  });

  test('no change overtakes one that waits for the same key', () => {
    const [a, again, third, b] = [
      change([], put('a')),
      change([], put('a', '2')),
      change([], put('c')),
      change([], put('b')),
    ];
    const readsBoth = change([absent('a'), absent('c')], put('d'));
    const waiting = [a, again, readsBoth, third, b].map(candidate);
    const [first, second, reader, writer, last] = waiting;
    // The third to write could join, but for the change before it, which expects what it writes.
    expect(divide(waiting)).toEqual({ group: [first, last], rest: [second, reader, writer] });
  });

  test('where all changes expect one key, not all are examined', () => {
    const hot = numbered(1000, () => change([], put('t/hot')));
    const all = [...hot, ...numbered(1, creating)];
    expect(divide(all)).toEqual({ group: hot.slice(0, 1), rest: all.slice(1) });
  });

  test('every change is sent in the end, once', () => {
    const anyKey = fc.constantFrom('a', 'a/1', 'a/2', 'b', 'c');
    const anyWrite = fc.oneof(
      anyKey.map((key) => put(key)),
      anyKey.map((key) => remove(key)),
      anyKey.map((key) => removeAll(key)),
    );
    const anyChange = fc.tuple(fc.array(anyKey.map(absent)), anyWrite).map(([expect, write]) => change(expect, write));
    const property = fc.property(fc.array(anyChange, { maxLength: 60 }), (changes) => {
      const ridden = [];
      let waiting = changes.map(candidate);
      while (waiting.length > 0) {
        const { group, rest } = divide(waiting);
        expect(group[0]).toBe(waiting[0]);
        ridden.push(...group);
        waiting = rest;
      }
      expect(new Set(ridden).size).toBe(changes.length);
    });
    fc.assert(property);
  });
});
