import { expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/controller/kubernetes/client/kube-api.ts';
import { isRefused, outsideOf, sayOutside } from '../../../../src/controller/kubernetes/namespaces/outside.ts';
import { conditionsOf } from '../../../../src/controller/kubernetes/runtime/resource.ts';
import { fleetApp } from '../../../../src/controller/kubernetes/schema/fleet-app.ts';

/* What releases write on a resource on which they may not act. */

const HOLDER = 'fleet/holder';

/** One resource of a namespace that stands like this, whatever its spec is. */
function resource(spec: object = {}) {
  const metadata = { name: 'a', namespace: 'team', uid: 'u', resourceVersion: '1', generation: 2, finalizers: [] };
  const held: { object: KubeObject } = { object: { metadata, spec } };
  let writes = 0;
  const events: string[] = [];
  const never = (): Promise<never> => Promise.reject(new Error('nothing else is asked for'));
  const api = {
    list: never,
    get: never,
    create: never,
    remove: never,
    isLeaving: never,
    namespaceUid: never,
    watch: () => ({ [Symbol.asyncIterator]: () => ({ next: never }) }),
    patch(_type: object, read: KubeObject, { merge }: { merge: Readonly<Record<string, unknown>> }) {
      writes += 1;
      const resourceVersion = String(writes + 1);
      const status = { ...(read['status'] as object | undefined), ...(merge['status'] as object) };
      held.object = { ...read, metadata: { ...read.metadata, resourceVersion }, status };
      return Promise.resolve(held.object);
    },
  };
  const recorder = {
    record(_resource: object, { reason }: { reason: string }) {
      events.push(reason);
      return Promise.resolve();
    },
  };
  async function look(release: string, standing: 'not_granted' | 'held_by_another', refusal?: string): Promise<void> {
    const holder = standing === 'held_by_another' ? HOLDER : undefined;
    const state = outsideOf({ namespace: 'team', standing, holder, refusal }, release);
    const { signal } = new AbortController();
    const saying = { api, informer: { written: () => undefined }, schema: fleetApp, at: 0, signal };
    if (state) await sayOutside(saying, recorder, held.object, state);
  }
  const said = (): readonly string[] =>
    conditionsOf(held.object).map(({ type, status, message }) => `${type}=${status}: ${message}`);
  return { held, events, look, said, writes: () => writes };
}

test('two releases that do not act leave each other their words, and write once', async () => {
  const { look, said, writes, held } = resource();
  for (let looks = 0; looks < 3; looks += 1) {
    await look('fleet/one', 'held_by_another');
    await look('fleet/two', 'held_by_another');
  }
  expect(writes()).toBe(1);
  expect(said()).toEqual([expect.stringContaining('The release fleet/one does not act here: ')]);
  expect([isRefused(held.object, 'fleet/one'), isRefused(held.object, 'fleet/two')]).toEqual([true, false]);
});

test('a spec that this version cannot read keeps no resource from saying what is in the way', async () => {
  const { look, said, events } = resource({ accountRef: 7 });
  await look('fleet/one', 'not_granted');
  await look('fleet/one', 'not_granted');
  expect(said()).toEqual([expect.stringContaining('muster kubernetes rbac team')]);
  expect(events).toEqual(['NamespaceNotGranted']);
});

test('what else refuses the Lease is said in the words of the API server', async () => {
  const { look, said } = resource();
  const says =
    'the API server answered 403: leases.coordination.k8s.io "muster-operator" is forbidden: exceeded quota: few';
  await look('fleet/one', 'not_granted', says);
  expect(said()).toEqual([expect.stringContaining('is forbidden: exceeded quota: few. ')]);
});
