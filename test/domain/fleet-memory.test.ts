import { expect, test } from 'vitest';
import { FleetMemory } from '../../src/domain/fleet-memory.ts';
import { KEYS } from '../../src/domain/records.ts';
import { packSeen } from '../../src/domain/seen-codec.ts';

const ACCOUNT = 'abcdefgh12345678';
const APP = 'abcdefghij0123456789';
const account = { name: 'a', entitlement: 'enterprise', disabled: false, createdAt: 1 };
const app = {
  name: '',
  status: 'pending',
  statusAt: 1,
  createdAt: 1,
  slot: 0,
  platform: '',
  agentVersion: '',
  connection: 'private',
  codes: [],
  spent: [],
};

test.each<[string, string, object, boolean, string | undefined]>([
  ['its app', KEYS.app(ACCOUNT, APP), app, true, APP],
  ['the account', KEYS.account(ACCOUNT), account, true, undefined],
  ['the configuration', KEYS.otel(ACCOUNT), { revision: 1, tag: 't', at: 1 }, true, undefined],
  [
    'the last contacts, which change every ten seconds',
    KEYS.seen(ACCOUNT),
    { packed: packSeen(new Map([[0, 9]])) },
    false,
    undefined,
  ],
  ['the count of apps', KEYS.tally(ACCOUNT), { apps: 1, nextSlot: 1, idempotencyNext: 0 }, false, undefined],
])('whoever waits for a change is told of %s', (_what, key, record, told, appId) => {
  const memory = new FleetMemory({ onUnreadable: (error) => expect.unreachable(String(error)) });
  const changes: unknown[] = [];
  memory.onChange((accountId, changed) => changes.push([accountId, changed]));
  const expected = told ? [[ACCOUNT, appId]] : [];
  memory.put({ key, value: JSON.stringify(record), revision: 5 });
  memory.settled();
  expect(changes).toEqual(expected);
  memory.remove(key);
  memory.settled();
  expect(changes).toEqual([...expected, ...expected]);
});

test('while memory is filled anew nobody is told anything; then each account of before, and what is new, once', () => {
  const memory = new FleetMemory({ onUnreadable: (error) => expect.unreachable(String(error)) });
  const [gone, fresh] = ['gone5678abcdefgh', 'new45678abcdefgh'];
  const put = (accountId: string): void => {
    memory.put({ key: KEYS.account(accountId), value: JSON.stringify(account), revision: 5 });
    memory.put({ key: KEYS.app(accountId, APP), value: JSON.stringify(app), revision: 5 });
  };
  for (const accountId of [ACCOUNT, gone]) put(accountId);
  memory.settled();
  const changes: unknown[] = [];
  memory.onChange((accountId, appId) => changes.push([accountId, appId]));
  memory.clear();
  put(ACCOUNT);
  // A filling that fails begins anew.
  memory.clear();
  for (const accountId of [ACCOUNT, fresh]) put(accountId);
  expect(changes).toEqual([]);
  memory.settled();
  const ofAccounts = changes.filter((change) => Array.isArray(change) && change[1] === undefined);
  expect(ofAccounts).toHaveLength(3);
  expect(new Set(ofAccounts.map((change) => (change as unknown[])[0]))).toEqual(new Set([ACCOUNT, gone, fresh]));
});
