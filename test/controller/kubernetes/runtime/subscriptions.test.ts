import { expect, test } from 'vitest';
import { Subscriptions } from '../../../../src/controller/kubernetes/runtime/subscriptions.ts';

test('who follows an app hears of that app, and of an account of which nobody says which app has changed', () => {
  const followers = new Subscriptions();
  followers.follow('config', 'acme', undefined);
  followers.follow('app', 'acme', 'one');
  followers.follow('other', 'else', 'two');
  expect([...followers.of('acme', 'one')]).toEqual(['app']);
  expect([...followers.of('acme', 'three')]).toEqual([]);
  expect([...followers.of('acme', undefined)]).toEqual(['config', 'app']);
  followers.forget('app');
  expect([...followers.of('acme', undefined)]).toEqual(['config']);
});
