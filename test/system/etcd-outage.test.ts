import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openEtcdStore } from '../../src/store/etcd/etcd-store.ts';
import type { Store, StoreTrouble } from '../../src/store/port.ts';
import { present, put, writes } from '../store/conformance/harness.ts';
import { record } from '../store/conformance/recorder.ts';
import { eventually, everyCallEnds } from '../store/etcd/outage-calls.ts';
import { findEtcd, NO_ETCD } from '../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../support/etcd/etcd.ts';

const binary = findEtcd();
const skipped = binary === undefined ? ` [skipped: ${NO_ETCD}]` : '';
const prefix = 'test/';

/** Each call ended with one of the reasons. */
function expectEnds(ends: Record<string, unknown>, ...reasons: StoreTrouble[]): void {
  expect(Object.values(ends)).toEqual(Object.values(ends).map((): unknown => expect.toBeOneOf(reasons)));
}

/* The same with simulated time, and for wires that fail, is in test/store/etcd/outage.test.ts. */
describe.skipIf(binary === undefined)(`an etcd that goes away${skipped}`, () => {
  let cluster: EtcdCluster;
  let store: Store;

  beforeAll(async () => {
    cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
  });
  afterAll(() => cluster[Symbol.asyncDispose]());
  beforeEach(async () => {
    store = await eventually(() => openEtcdStore({ endpoints: cluster.urls, prefix, deadlineMs: 1000 }));
  });
  afterEach(() => store[Symbol.asyncDispose]());

  test('every call ends while it is down, and when it is back every acknowledged write is there', async () => {
    const start = await eventually(() => writes(store, put('t/acknowledged')));
    await cluster.member.kill();
    expectEnds(await everyCallEnds(store), 'unreachable');
    await cluster.member.start();
    await eventually(() => writes(store, put('t/after')));
    await using patient = await openEtcdStore({ endpoints: cluster.urls, prefix, deadlineMs: 60_000 });
    expect(await present(patient, 't/acknowledged')).toMatchObject({ value: 'v' });
    using recording = await record(patient, 't/', start);
    await recording.recorder.untilChanges(2);
  });

  test('every call ends while it is frozen, and all is well when it goes on', async () => {
    cluster.member.freeze();
    expectEnds(await everyCallEnds(store), 'timeout', 'unreachable');
    cluster.member.thaw();
    await eventually(() => writes(store, put('t/after')));
  });
});
