import { expect, test } from 'vitest';
import { Subscriptions } from '../../../../src/controller/kubernetes/runtime/subscriptions.ts';

test('who follows an app hears of that app, and of an account of which nobody says which app has changed', () => {
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
