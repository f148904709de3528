import { expect, test } from 'vitest';
import { KubeError } from '../../../../src/controller/kubernetes/client/kube-api.ts';
import { WorkQueue, type Work } from '../../../../src/controller/kubernetes/runtime/work-queue.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

interface Running extends AsyncDisposable {
  readonly queue: WorkQueue;
  readonly clock: FakeClock;
}

/** A queue at work. Its random numbers are 1, so that every pause is as long as it may be. */
function running(work: Work, concurrency = 4): Running {
  const clock = new FakeClock();
  const queue = new WorkQueue({ clock, random: () => 1, concurrency });
  const ending = new AbortController();
  const ended = queue.run(work, ending.signal);
  return {
    queue,
    clock,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await ended;
    },
  };
}

test('a key that is added often is worked on once', async () => {
  const calls: string[] = [];
  await using it = running(async (key) => void calls.push(key));
  for (let i = 0; i < 100; i += 1) it.queue.add('a');
  it.queue.add('b');
  await until(() => it.queue.idle);
  expect(calls).toEqual(['a', 'b']);
});

test('a key that is added while it is worked on is worked on again, and never twice at a time', async () => {
  const calls: PromiseWithResolvers<void>[] = [];
  await using it = running(async () => {
    const call = Promise.withResolvers<void>();
    calls.push(call);
    await call.promise;
    return undefined;
  });
  it.queue.add('a');
  await until(() => calls.length === 1);
  it.queue.add('a');
  it.queue.add('b');
  await until(() => calls.length === 2);
  expect(it.queue.size, 'a and b are worked on, a waits').toBe(3);
  for (const call of calls) call.resolve();
  await until(() => calls.length === 3);
  calls[2]?.resolve();
  await until(() => it.queue.idle);
});

test('no more keys than the concurrency are worked on at a time', async () => {
  let together = 0;
  let most = 0;
  const latch = Promise.withResolvers<void>();
  await using it = running(async () => {
    together += 1;
    most = Math.max(most, together);
    await latch.promise;
    together -= 1;
    return undefined;
  }, 3);
  for (let i = 0; i < 20; i += 1) it.queue.add(`key-${i}`);
  await until(() => together === 3);
  latch.resolve();
  await until(() => it.queue.idle);
  expect(most).toBe(3);
});

test('work that fails comes back, later each time; a success resets the pause', async () => {
  let fails = true;
  let calls = 0;
  await using it = running(async () => {
    calls += 1;
    if (fails) throw new Error('no');
    return undefined;
  });
  it.queue.add('a');
  for (const pauseMs of [1000, 2000, 4000, 8000]) {
    const before = calls + (calls === 0 ? 1 : 0);
    await until(() => calls === before && it.clock.sleeping === 1);
    it.clock.advance(pauseMs - 1);
    await until(() => it.clock.sleeping === 1);
    expect(calls, `before ${pauseMs} ms`).toBe(before);
    if (pauseMs === 8000) fails = false;
    it.clock.advance(1);
    await until(() => calls === before + 1);
  }
  await until(() => it.queue.idle);
  fails = true;
  it.queue.add('a');
  await until(() => calls === 6 && it.clock.sleeping === 1);
  it.clock.advance(1000);
  await until(() => calls === 7);
});

test('the pause is never shorter than the server asks for', async () => {
  let calls = 0;
  await using it = running(async () => {
    calls += 1;
    if (calls === 1) throw new KubeError('throttled', 429, 'later', 30_000);
    return undefined;
  });
  it.queue.add('a');
  await until(() => calls === 1 && it.clock.sleeping === 1);
  it.clock.advance(29_999);
  await until(() => it.clock.sleeping === 1);
  expect(calls).toBe(1);
  it.clock.advance(1001);
  await until(() => calls === 2);
});

test('a key that is due later is worked on at once when it is added', async () => {
  let calls = 0;
  await using it = running(async () => {
    calls += 1;
    return 60_000;
  });
  it.queue.add('a');
  await until(() => calls === 1 && it.clock.sleeping === 1);
  it.queue.add('a');
  await until(() => calls === 2 && it.clock.sleeping === 1);
  it.clock.advance(60_000);
  await until(() => calls === 3);
});

test('a key that changes all the time is worked on ten times at once, then once a second', async () => {
  let calls = 0;
  await using it = running(async () => void (calls += 1));
  const change = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n += 1) {
      it.queue.add('a');
      await until(() => it.queue.idle);
    }
  };
  await change(30);
  expect(calls).toBe(10);
  it.queue.add('b');
  await until(() => it.queue.idle && calls === 11);
  await until(() => it.clock.sleeping === 1);
  it.clock.advance(1000);
  await until(() => calls === 12);
  await change(30);
  expect(calls, 'the turn that was due has taken the place of this second').toBe(12);
  // A key that is forgotten is not faster when it comes back.
  it.queue.forget('a');
  await change(30);
  expect(calls, 'forgotten and come back').toBe(12);
  // After a while without changes it is as at first.
  const before = calls;
  it.clock.advance(60_000);
  await until(() => calls === before + 1 && it.clock.sleeping === 1);
  await change(30);
  expect(calls - before).toBe(10);
});

test('a key that comes back by itself is not held up by its pace, and holds up a change for a second at most', async () => {
  let calls = 0;
  await using it = running(async () => {
    calls += 1;
    return calls <= 30 ? 100 : undefined;
  });
  it.queue.add('a');
  for (let turn = 1; turn <= 30; turn += 1) {
    await until(() => calls === turn && it.clock.sleeping === 1);
    it.clock.advance(100);
  }
  await until(() => calls === 31 && it.clock.sleeping === 1);
  it.queue.add('a');
  await until(() => it.clock.sleeping === 1);
  it.clock.advance(1000);
  await until(() => calls === 32);
});

test('a key that is forgotten does not come back', async () => {
  const calls: string[] = [];
  await using it = running(async (key) => {
    calls.push(key);
    return 1000;
  });
  it.queue.add('a');
  it.queue.add('b');
  await until(() => calls.length === 2 && it.clock.sleeping === 1);
  it.queue.forget('a');
  it.clock.advance(1000);
  await until(() => calls.length === 3);
  expect(calls).toEqual(['a', 'b', 'b']);
});

test('the queue ends when the work under way has ended', async () => {
  const latch = Promise.withResolvers<void>();
  const ending = new AbortController();
  const queue = new WorkQueue({ clock: new FakeClock(), random: () => 1, concurrency: 1 });
  let over = false;
  queue.add('a');
  const ended = queue
    .run(async () => {
      await latch.promise;
      return undefined;
    }, ending.signal)
    .then(() => (over = true));
  await until(() => queue.size === 1);
  ending.abort();
  await new Promise((resolve) => setImmediate(resolve));
  expect(over).toBe(false);
  latch.resolve();
  await ended;
});
