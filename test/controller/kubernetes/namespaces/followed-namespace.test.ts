import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Slots } from '../../../../src/concurrency/slots.ts';
import { KubeError, type KubeApi, type KubeObject } from '../../../../src/controller/kubernetes/client/kube-api.ts';
import { FollowedNamespace } from '../../../../src/controller/kubernetes/namespaces/followed-namespace.ts';
import { KindInformers } from '../../../../src/controller/kubernetes/runtime/kind-informers.ts';
import { NamespaceCache } from '../../../../src/controller/kubernetes/runtime/namespace-cache.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

/* The claim of one namespace, in simulated time: what is tried when, and when the operator may act. */

const ONE = 'fleet/one';
const OTHER = 'fleet/other';
const FORBIDDEN = new KubeError('refused', 403, 'the API server answered 403: leases is forbidden');
const EXISTS = new KubeError('exists', 409, 'the API server answered 409: it exists');

const leaseOf = (holderIdentity: string | null, resourceVersion = '1'): KubeObject => ({
  metadata: {
    name: 'muster-operator',
    namespace: 'team',
    uid: 'lease',
    resourceVersion,
    generation: 0,
    finalizers: [],
  },
  spec: { holderIdentity },
});

/**
 * A namespace whose Lease is this, on a server that answers each attempt to take it. By chance 1: the longest pauses.
 */
async function following(first: KubeObject | undefined, take: (attempt: number) => KubeObject) {
  const clock = new FakeClock();
  let lease = first;
  let attempts = 0;
  let terminating = false;
  const never = (): Promise<never> => Promise.reject(new Error('nothing else is asked for'));
  const taken = (): Promise<KubeObject> => {
    attempts += 1;
    try {
      return Promise.resolve(take(attempts));
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error('no error'));
    }
  };
  const api: KubeApi = {
    list: never,
    watch: () => ({ [Symbol.asyncIterator]: () => ({ next: never }) }),
    get: never,
    create: taken,
    patch: taken,
    remove: never,
    isLeaving: never,
    namespaceUid: never,
  };
  const metrics = { informerListed: () => undefined, informerFailed: () => undefined };
  const deps = {
    api,
    clock,
    metrics,
    log: pino({ level: 'silent' }),
    random: () => 1,
    release: ONE,
    claims: new Slots(1),
  };
  const kinds = new KindInformers(deps, { namespace: undefined, onChange: () => undefined });
  const cache = new NamespaceCache(deps, {
    namespace: 'team',
    kinds,
    add: () => undefined,
    onRefused: () => undefined,
  });
  const leases = {
    synced: true,
    get: () => lease,
    written: (answer: KubeObject) => {
      lease = answer;
    },
  };
  const followed = new FollowedNamespace(deps, { cache, leases, terminating: () => terminating });
  const ending = new AbortController();
  const ended = followed.run(ending.signal);
  await until(() => clock.sleeping === 1);
  return {
    followed,
    clock,
    attempts: () => attempts,
    /** The watch of the Leases brings this. */
    async leaseBecomes(now: KubeObject | undefined) {
      const before = lease;
      lease = now;
      followed.leaseChanged(now, before);
      await until(() => clock.sleeping === 1);
    },
    async terminates() {
      terminating = true;
      followed.look();
      await until(() => clock.sleeping === 1);
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await ended;
    },
  };
}

const taking = (): KubeObject => leaseOf(ONE, '2');

test.each<[string, KubeObject | undefined, number, string]>([
  ['none is there', undefined, 1, 'followed'],
  ["it is nobody's", leaseOf(null), 1, 'followed'],
  ['it is its own, from before', leaseOf(ONE), 0, 'followed'],
  ["it is another one's", leaseOf(OTHER), 0, 'held_by_another'],
])(
  'where %s, the Lease is asked for %3$i times, and the namespace is %4$s',
  async (_what, lease, attempts, standing) => {
    await using it = await following(lease, taking);
    expect([it.attempts(), it.followed.standing, it.followed.held]).toEqual([
      attempts,
      standing,
      standing === 'followed',
    ]);
  },
);

test('a Lease of another release is not taken, however long it is not renewed', async () => {
  await using it = await following(leaseOf(OTHER), taking);
  for (let days = 0; days < 30; days += 1) {
    it.clock.advance(86_400_000);
    await until(() => it.clock.sleeping === 1);
  }
  expect([it.attempts(), it.followed.standing, it.followed.holder]).toEqual([0, 'held_by_another', OTHER]);
});

test('without its Role it is tried again at growing pauses, of 30 s at most, and taken up then', async () => {
  let granted = false;
  await using it = await following(undefined, () => {
    if (!granted) throw FORBIDDEN;
    return taking();
  });
  for (const [index, pauseMs] of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].entries()) {
    expect([it.attempts(), it.followed.standing]).toEqual([index + 1, 'not_granted']);
    it.clock.advance(pauseMs - 1);
    expect(it.attempts()).toBe(index + 1);
    it.clock.advance(1);
    await until(() => it.attempts() === index + 2 && it.clock.sleeping === 1);
  }
  granted = true;
  it.clock.advance(30_000);
  await until(() => it.followed.held);
  expect(it.followed.standing).toBe('followed');
});

test('one that loses the race does not act', async () => {
  await using it = await following(undefined, () => {
    throw EXISTS;
  });
  expect(it.followed.held).toBe(false);
  await it.leaseBecomes(leaseOf(OTHER));
  expect(it.followed.holder).toBe(OTHER);
});

test('a holder whose Lease is deleted stops at once, and leaves it to others for half a minute', async () => {
  await using it = await following(leaseOf(ONE), taking);
  const work = Promise.withResolvers<void>();
  let stopped = false;
  const worked = it.followed.work(new AbortController().signal, async (signal) => {
    signal.addEventListener('abort', () => (stopped = true), { once: true });
    await work.promise;
  });
  await it.leaseBecomes(undefined);
  expect([it.followed.held, stopped, it.attempts()]).toEqual([false, true, 0]);
  work.resolve();
  await worked;
  it.clock.advance(29_999);
  expect(it.attempts()).toBe(0);
  it.clock.advance(1);
  await until(() => it.followed.held);
  expect(it.attempts()).toBe(1);
});

test.each([
  [ONE, true, 'terminating'],
  [OTHER, false, 'held_by_another'],
])(
  'in a namespace that is deleted, and its Lease of %s with it, the operator acts: %s',
  async (holder, held, standing) => {
    await using it = await following(leaseOf(holder), taking);
    await it.terminates();
    await it.leaseBecomes(undefined);
    expect([it.followed.held, it.followed.standing, it.attempts()]).toEqual([held, standing, 0]);
  },
);
