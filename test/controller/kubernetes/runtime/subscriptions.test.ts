import { expect, test } from 'vitest';
import { Subscriptions } from '../../../../src/controller/kubernetes/runtime/subscriptions.ts';

test('a subscription to an app covers that app, and a change of its account that names no app', () => {
  const subscriptions = new Subscriptions();
  subscriptions.subscribe('config', 'acme', undefined);
  subscriptions.subscribe('app', 'acme', 'one');
  subscriptions.subscribe('other', 'else', 'two');
  expect([...subscriptions.keysOf('acme', 'one')]).toEqual(['app']);
  expect([...subscriptions.keysOf('acme', 'three')]).toEqual([]);
  expect([...subscriptions.keysOf('acme', undefined)]).toEqual(['config', 'app']);
  subscriptions.unsubscribe('app');
  expect([...subscriptions.keysOf('acme', undefined)]).toEqual(['config']);
});
