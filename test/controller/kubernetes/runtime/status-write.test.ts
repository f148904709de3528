import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { kubeErrorOf, type KubeObject } from '../../../../src/controller/kubernetes/client/kube-api.ts';
import { FailingResources, TOLD_AFTER_MS } from '../../../../src/controller/kubernetes/failures/failing-resources.ts';
import { isFalse, isTrue } from '../../../../src/controller/kubernetes/runtime/conditions.ts';
import type { ResourceEvent } from '../../../../src/controller/kubernetes/runtime/kind.ts';
import { conditionsOf } from '../../../../src/controller/kubernetes/runtime/resource.ts';
import {
  tellFailure,
  writeStatus,
  type FailedAttempt,
  type StatusFrame,
} from '../../../../src/controller/kubernetes/runtime/status-write.ts';
import { StoreUnavailable } from '../../../../src/store/port.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/* What a resource says of an attempt that failed, and how often it says so. */

const TYPE = { group: 'muster.dev', version: 'v1beta1', plural: 'fleetapps' };
const REFUSED = kubeErrorOf(403, 'Forbidden', 'no right');
const OUTAGE = new StoreUnavailable('timeout', 'no answer');

/** An API server that holds one object, of which only the status is written. */
function frameOf(options: { patch?: () => Error | undefined } = {}) {
  const clock = new FakeClock();
  const failing = new FailingResources(clock);
  const ending = new AbortController();
  const events: ResourceEvent[] = [];
  const writes: unknown[] = [];
  const held: { object: KubeObject } = {
    object: {
      metadata: { name: 'one', namespace: 'team', uid: 'u', resourceVersion: '1', generation: 3, finalizers: [] },
    },
  };
  const frame: StatusFrame = {
    api: {
      patch(_type, read, { merge }) {
        const error = options.patch?.();
        if (error) return Promise.reject(error);
        writes.push(merge);
        const metadata = { ...read.metadata, resourceVersion: `${writes.length + 1}` };
        const written = merge['status'] as Readonly<Record<string, unknown>>;
        held.object = { metadata, status: { ...(read['status'] as object | undefined), ...written } };
        return Promise.resolve(held.object);
      },
    },
    informer: { written: () => undefined },
    context: {
      clock,
      log: pino({ level: 'silent' }),
      signal: ending.signal,
      event: (event) => void events.push(event),
    },
    statusWritten: () => undefined,
    attemptFailed: (failure) => failing.failed('key', failure),
  };
  const fail = (error: unknown, more: Partial<FailedAttempt> = {}): Promise<void> =>
    tellFailure(frame, { type: TYPE, object: held.object, known: undefined, atStatus: false, ...more }, error);
  const said = (): readonly string[] =>
    conditionsOf(held.object).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
  return { clock, failing, ending, events, writes, held, frame, fail, said };
}

describe('a failure', () => {
  test('that stays is told of at once, by status and event', async () => {
    const { fail, said, events, held } = frameOf();
    await fail(REFUSED);
    expect(said()).toEqual(['Ready=False ApiServerRefused']);
    expect(held.object['status']).toMatchObject({ observedGeneration: 3, conditions: [{ observedGeneration: 3 }] });
    expect(events).toEqual([expect.objectContaining({ type: 'Warning', reason: 'ApiServerRefused' })]);
  });

  test('that is the same again is told of once', async () => {
    const { fail, clock, events, writes } = frameOf();
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await fail(REFUSED);
      clock.advance(60_000);
    }
    expect(writes).toHaveLength(1);
    expect(events).toHaveLength(1);
  });

  test('that may pass leaves the status as it is until it has lasted', async () => {
    const { fail, said, clock, frame, held } = frameOf();
    await writeStatus(frame, TYPE, held.object, { status: {}, conditions: [isTrue('Ready', 'Active', 'yes')] });
    await fail(OUTAGE);
    expect(said()).toEqual(['Ready=True Active']);
    clock.advance(TOLD_AFTER_MS);
    await fail(OUTAGE);
    expect(said()).toEqual(['Ready=False StoreUnavailable']);
  });

  test('comes with all that the facts tell', async () => {
    const { fail, said, held } = frameOf();
    const enrolled = isTrue('Enrolled', 'Enrolled', 'yes');
    await fail(REFUSED, { known: (ready) => ({ status: { appId: 'a1' }, conditions: [ready, enrolled] }) });
    expect(held.object['status']).toMatchObject({ appId: 'a1' });
    expect(said()).toEqual(['Ready=False ApiServerRefused', 'Enrolled=True Enrolled']);
  });

  test('without facts leaves fields as they are, and takes every other condition back', async () => {
    const { fail, said, frame, held } = frameOf();
    const conditions = [
      isTrue('Ready', 'Synced', 'yes'),
      isTrue('Synced', 'Synced', 'yes'),
      isFalse('Entitled', 'No', 'n'),
    ];
    await writeStatus(frame, TYPE, held.object, { status: { revision: 7 }, conditions });
    await fail(REFUSED);
    expect(held.object['status']).toMatchObject({ revision: 7 });
    expect(said()).toEqual(['Ready=False ApiServerRefused', 'Synced=Unknown Unknown', 'Entitled=Unknown Unknown']);
  });

  test('is gone from the status with the next success', async () => {
    const { fail, said, frame, held } = frameOf();
    await fail(REFUSED);
    await writeStatus(frame, TYPE, held.object, { status: {}, conditions: [isTrue('Ready', 'Active', 'yes')] });
    expect(said()).toEqual(['Ready=True Active']);
  });

  test('at the end of the leader’s term is not told of: the next leader finds it, where it is one', async () => {
    const { fail, ending, writes, events } = frameOf();
    ending.abort();
    await fail(REFUSED);
    expect([writes, events]).toEqual([[], []]);
  });
});

describe('a status that cannot be written', () => {
  test.each([
    [REFUSED, ['ApiServerRefused'], 'a refusal leaves the event'],
    [kubeErrorOf(503, '', 'later'), [], 'an API server that is away takes no event'],
    [kubeErrorOf(409, 'Conflict', ''), [], 'the newer object is told of by the next attempt'],
  ])('%o → events %j (%s)', async (error, reasons, _why) => {
    const { fail, events } = frameOf({ patch: () => error });
    await expect(fail(REFUSED)).resolves.toBeUndefined();
    expect(events.map(({ reason }) => reason)).toEqual(reasons);
  });

  test('is not tried a second time where it was the status that failed', async () => {
    let tried = 0;
    const { fail, events } = frameOf({
      patch() {
        tried += 1;
        return REFUSED;
      },
    });
    await fail(REFUSED, { atStatus: true });
    expect(tried).toBe(0);
    expect(events).toHaveLength(1);
  });
});
