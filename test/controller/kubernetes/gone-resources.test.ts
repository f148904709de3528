import { describe, expect, test } from 'vitest';
import { pino } from 'pino';
import { KubeError, type KubeObject } from '../../../src/controller/kubernetes/client/kube-api.ts';
import { ROUND_MS, sweepGoneResources, sweepRound } from '../../../src/controller/kubernetes/gone-resources.ts';
import { StaleRead } from '../../../src/domain/mutation/stale-read.ts';
import type { BindingOf, Bindings } from '../../../src/domain/resource-bindings/bindings.ts';
import { foundAt } from '../../support/store/snapshots.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* Which bindings the leader takes for those of resources that are gone. */

const binding = (uid: string, namespace = 'team', kind = 'FleetApp'): BindingOf => ({
  uid,
  ...foundAt(1, { kind, namespace, name: `of-${uid}`, accountId: 'a', generation: 1 }),
});
const object = (uid: string, as = uid): KubeObject => ({
  metadata: { uid: as, name: `of-${uid}`, namespace: 'team', resourceVersion: '1', generation: 1, finalizers: [] },
});

interface World {
  readonly bindings: readonly BindingOf[];
  /** The UIDs of the resources that memory has in `team`; undefined where `team` is not in memory. */
  readonly known?: readonly string[] | undefined;
  /** What the API server answers; nothing by default. */
  readonly get?: (name: string) => Promise<KubeObject | undefined>;
  readonly namespaceUid?: (namespace: string) => Promise<string | undefined>;
  readonly forget?: () => Promise<void>;
  /** The UIDs of resources with a binding, beside those of the bindings. */
  readonly bound?: readonly string[];
  /** Memory has a resource of another UID under the names of this one. */
  readonly another?: string;
  /** All namespaces but `team` are in memory, and have a resource of another UID under the names of this one. */
  readonly otherMemory?: string;
  /** The end of a consent to recover a namespace. */
  readonly consentUntil?: number;
  /** The namespace of that consent. */
  readonly consentFor?: string;
}

const NOW = 1_700_000_000_000;

function sweeping({ bindings, known, get, namespaceUid, forget, bound = [], another, ...world }: World) {
  const clock = new FakeClock(NOW);
  const forgotten: string[] = [];
  const counted: string[] = [];
  const ending = new AbortController();
  const memory = {
    kindsSynced: true,
    find: (_kind: string, name: string) => {
      const uid = name.slice(3);
      if (uid === another) return object(uid, 'another');
      return known?.includes(uid) === true ? object(uid) : undefined;
    },
  };
  const others = {
    kindsSynced: true,
    find: (_kind: string, name: string) =>
      name === `of-${world.otherMemory}` ? object(name.slice(3), 'waits') : undefined,
  };
  let listings = 0;
  const all = async function* (after: string): AsyncGenerator<BindingOf, void> {
    listings += 1;
    yield* bindings.filter(({ uid }) => uid > after);
  };
  const never = (): never => {
    throw new Error('a sweep writes no binding itself');
  };
  const of = async (uid: string) => (bound.includes(uid) ? binding(uid) : undefined);
  const store: Bindings = {
    all,
    get: of,
    save: never,
    noteSecret: never,
    precondition: never,
    handover: never,
    formerOf: never,
  };
  const deps = {
    api: {
      get: (_type: unknown, _namespace: string, name: string) => get?.(name) ?? Promise.resolve(undefined),
      namespaceUid: (namespace: string) => namespaceUid?.(namespace) ?? Promise.resolve('ns'),
    },
    term: { signal: ending.signal },
    bindings: store,
    domain: {
      random: { bytes: (count: number) => Buffer.alloc(count) },
      recoveries: {
        all: async function* () {
          const { consentUntil: until, consentFor: namespace = 'team' } = world;
          if (until !== undefined) yield { namespace, namespaceUid: 'ns', until };
        },
      },
      goneResources: {
        forget: async (_origin: unknown, _bindings: unknown, { uid }: BindingOf) => {
          await forget?.();
          forgotten.push(uid);
        },
      },
    },
    cacheOf: (namespace: string) =>
      namespace === 'team' ? known && memory : world.otherMemory !== undefined ? others : undefined,
    clock,
    deadlines: { requestMs: 1000 },
    log: pino({ level: 'silent' }),
    metrics: { bindingForgotten: (kind: string) => void counted.push(kind) },
  };
  return { deps, clock, ending, forgotten, counted, listings: () => listings };
}

describe('a binding', () => {
  const two = [binding('1-alive'), binding('2-missing')];
  test.each<[Partial<World>, readonly string[], string]>([
    [{}, ['2-missing'], 'the API server has no such resource'],
    [
      { get: async () => object('2-missing', 'another'), bound: ['another'] },
      ['2-missing'],
      'it has one of another UID, with a binding of its own',
    ],
    [{ get: async () => object('2-missing', 'another') }, [], 'it has one of another UID that waits for a consent'],
    [{ another: '2-missing', bound: ['another'] }, ['2-missing'], 'memory has one with a binding of its own'],
    [
      { bindings: [...two, binding('3')], another: '3' },
      [],
      'one of them is back under another UID: the others may be restored after it',
    ],
    [{ consentUntil: NOW + 1 }, [], 'a consent to recover its namespace holds: more may be restored'],
    [{ consentUntil: NOW + 1, consentFor: 'other' }, ['2-missing'], 'a consent holds for another namespace'],
    [
      { bindings: [...two, binding('3', 'waiting')], otherMemory: '3' },
      ['2-missing'],
      'one of another namespace waits for a consent: that tenant holds up no other',
    ],
    [
      {
        bindings: [...two, binding('3', 'gone')],
        namespaceUid: async () => undefined,
        consentUntil: NOW + 1,
        consentFor: 'other',
      },
      ['2-missing'],
      'a namespace that is gone is kept while another one is restored: its turn may come',
    ],
    [
      { bindings: [...two, binding('3', 'empty')], otherMemory: '', consentUntil: NOW + 1, consentFor: 'other' },
      ['2-missing'],
      'the same of a namespace of which nothing is known by its UID',
    ],
    [{ consentUntil: NOW }, ['2-missing'], 'that consent has ended'],
    [{ get: async () => object('2-missing') }, [], 'it has it, and memory is behind'],
    [{ get: () => Promise.reject(new KubeError('refused', 403, 'no')) }, [], 'it may not be asked'],
    [{ known: [] }, [], 'no resource at all is there: perhaps it is another cluster'],
    [
      { bindings: [...two, binding('3', 'gone')], namespaceUid: async () => undefined },
      ['2-missing', '3'],
      'a namespace that is gone',
    ],
    [{ bindings: [...two, binding('3', 'left')] }, ['2-missing'], 'a namespace that is there, and not followed'],
    [
      {
        bindings: [...two, binding('3', 'x')],
        namespaceUid: () => Promise.reject(new KubeError('refused', 403, 'no')),
      },
      ['2-missing'],
      'a namespace that may not be read',
    ],
    [{ bindings: [...two, binding('3', 'team', 'FleetLater')] }, ['2-missing'], 'a kind of a later version'],
    [{ forget: () => Promise.reject(new StaleRead('changed')) }, [], 'it has changed since, or another one leads'],
  ])('%# → %o (%s)', async (world, expected, _why) => {
    const { deps, forgotten, counted } = sweeping({ bindings: two, known: ['1-alive'], ...world });
    await sweepRound(deps, '');
    expect(forgotten).toEqual(expected);
    expect(counted).toEqual(expected.map(() => 'FleetApp'));
  });
});

test('a round asks the API server at most 200 times, and the next one goes on there', async () => {
  const many = Array.from({ length: 500 }, (_, at) => binding(String(at).padStart(3, '0')));
  const { deps, forgotten } = sweeping({ bindings: many, known: ['000', '200', '450'] });
  const first = await sweepRound(deps, '');
  expect([forgotten.length, first.after]).toEqual([200, '201']);
  const second = await sweepRound(deps, first.after);
  expect(second.after).toBe('401');
});

test('a round is repeated soon while memory is not filled, and else after ten minutes', async () => {
  const world = { bindings: [binding('1')], known: undefined as readonly string[] | undefined };
  const { deps, clock, ending, listings } = sweeping(world);
  const ended = sweepGoneResources(deps);
  // The clock moves on only once the pause after the round has begun.
  await until(() => listings() === 1 && clock.sleeping === 1);
  for (const [pauseMs, count] of [
    [1000, 2],
    [2000, 3],
  ] as const) {
    clock.advance(pauseMs);
    await until(() => listings() === count && clock.sleeping === 1);
  }
  ending.abort();
  await ended;
  const filled = sweeping({ ...world, known: ['1'] });
  const over = sweepGoneResources(filled.deps);
  await until(() => filled.listings() === 1 && filled.clock.sleeping === 1);
  filled.clock.advance(ROUND_MS - 1);
  expect(filled.listings()).toBe(1);
  filled.clock.advance(1);
  await until(() => filled.listings() === 2);
  filled.ending.abort();
  await over;
});
