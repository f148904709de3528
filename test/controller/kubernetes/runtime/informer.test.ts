import { pino } from 'pino';
import { expect, test } from 'vitest';
import { KubeError, type KubeApi, type WatchEvent } from '../../../../src/controller/kubernetes/client/kube-api.ts';
import { Informer } from '../../../../src/controller/kubernetes/runtime/informer.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

/* The answers that an informer accepts from the API server, and how soon it asks again. */

const TYPE = { group: '', version: 'v1', plural: 'secrets' };
const SECOND_MS = 1000;

interface Following extends AsyncDisposable {
  readonly informer: Informer;
  readonly clock: FakeClock;
  /** Watches that were asked for. */
  readonly watches: () => number;
  /** Every line that it logged, of level debug and above. */
  readonly logged: readonly { readonly level: number; readonly msg: string }[];
}

/** An informer on a server with nothing in it, whose watches are these. By chance 1: every pause is at its longest. */
async function following(
  watch: (count: number, signal: AbortSignal) => AsyncIterable<WatchEvent>,
  isLeaving: KubeApi['isLeaving'] = () => Promise.resolve(false),
): Promise<Following> {
  const clock = new FakeClock();
  const never = (): Promise<never> => Promise.reject(new Error('an informer reads'));
  let watches = 0;
  const api: KubeApi = {
    list: () => Promise.resolve({ items: [], resourceVersion: '1', next: undefined }),
    watch: (_type, _namespace, _request, signal) => watch((watches += 1), signal),
    get: never,
    create: never,
    patch: never,
    remove: never,
    isLeaving,
    namespaceUid: never,
  };
  const metrics = { informerListed: () => undefined, informerFailed: () => undefined };
  const logged: Following['logged'][number][] = [];
  const write = (line: string): void => void logged.push(JSON.parse(line) as Following['logged'][number]);
  const deps = { api, clock, metrics, log: pino({ level: 'debug' }, { write }), random: () => 1 };
  const informer = new Informer(deps, { type: TYPE, namespace: 'team', onChange: () => undefined });
  const ending = new AbortController();
  const ended = informer.run(ending.signal);
  await until(() => watches === 1);
  return {
    informer,
    clock,
    watches: () => watches,
    logged,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await ended;
    },
  };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

test('a watch that opens counts as an answer of the server, before its first event', async () => {
  const silence = Promise.withResolvers<void>();
  await using it = await following(async function* (count, signal) {
    yield { type: 'OPENED' };
    await (count === 1 ? silence.promise : aborted(signal));
    if (count === 1) throw new KubeError('unavailable', 0, 'the watch has been silent for too long');
  });
  it.clock.advance(170 * SECOND_MS);
  expect(it.informer.ageMs).toBe(170 * SECOND_MS);
  silence.resolve();
  await until(() => it.clock.sleeping === 1);
  expect(it.informer.ageMs, 'that it ended is no word').toBe(170 * SECOND_MS);
  it.clock.advance(SECOND_MS);
  await until(() => it.watches() === 2 && it.informer.ageMs === 0);
});

test('a server that opens every watch and ends it at once is asked at growing intervals', async () => {
  await using it = await following(async function* () {
    yield { type: 'OPENED' };
  });
  for (const [index, pauseMs] of [500, 1000, 2000, 4000].entries()) {
    await until(() => it.clock.sleeping === 1);
    it.clock.advance(pauseMs - 1);
    expect(it.watches()).toBe(index + 1);
    it.clock.advance(1);
    await until(() => it.watches() === index + 2);
  }
});

test('a server whose watches bring an event is asked again soon', async () => {
  await using it = await following(async function* () {
    yield { type: 'OPENED' };
    yield { type: 'BOOKMARK', resourceVersion: '2' };
    throw new KubeError('unavailable', 0, 'the connection broke');
  });
  for (let count = 1; count < 5; count += 1) {
    await until(() => it.clock.sleeping === 1);
    it.clock.advance(500);
    await until(() => it.watches() === count + 1);
  }
});

const REFUSED = new KubeError('refused', 403, 'the API server answered 403: secrets is forbidden');
const BROKEN = new KubeError('unavailable', 500, 'the API server answered 500: no');

test('an outage tells nothing of rights: what was refused is refused until the server answers otherwise', async () => {
  await using it = await following(async function* (count, signal) {
    if (count === 1) throw REFUSED;
    if (count === 2) throw BROKEN;
    yield { type: 'OPENED' };
    await aborted(signal);
  });
  await until(() => it.clock.sleeping === 1);
  expect(it.informer.refused).toBe(true);
  it.clock.advance(30 * SECOND_MS);
  await until(() => it.watches() === 2 && it.clock.sleeping === 1);
  expect(it.informer.refused).toBe(true);
  it.clock.advance(30 * SECOND_MS);
  await until(() => !it.informer.refused);
  expect(it.watches()).toBe(3);
});

test.each<[string, KubeError, KubeApi['isLeaving'], boolean]>([
  ['403 where the namespace is being deleted', REFUSED, () => Promise.resolve(true), true],
  ['403 where it stays', REFUSED, () => Promise.resolve(false), false],
  ['403 where the namespace may not be read', REFUSED, () => Promise.reject(REFUSED), false],
  ['500 where it is being deleted', BROKEN, () => Promise.resolve(true), false],
])('%s: is it a word of the server, and no trouble?', async (_what, error, isLeaving, heard) => {
  await using it = await following(async function* () {
    yield* [];
    await Promise.reject(error);
  }, isLeaving);
  await until(() => it.clock.sleeping === 1);
  it.clock.advance(20 * SECOND_MS);
  await until(() => it.watches() === 2 && it.clock.sleeping === 1);
  expect(it.informer.ageMs).toBe(heard ? 0 : 20 * SECOND_MS);
});

test('a namespace that is not there is warned of once, also where another failure came first', async () => {
  await using it = await following(
    async function* (count) {
      yield* [];
      await Promise.reject(count === 1 ? BROKEN : REFUSED);
    },
    () => Promise.resolve(true),
  );
  for (let count = 2; count <= 4; count += 1) {
    await until(() => it.clock.sleeping === 1);
    it.clock.advance(30 * SECOND_MS);
    await until(() => it.watches() === count);
  }
  await until(() => it.clock.sleeping === 1);
  const [warn, debug] = [pino.levels.values['warn'], pino.levels.values['debug']];
  const absent = it.logged.filter(({ msg }) => msg.includes('or there is none'));
  expect(absent.map(({ level }) => level)).toEqual([warn, debug, debug]);
});
