import fc from 'fast-check';
import { expect, test } from 'vitest';
import { packLastSeen } from '../../../src/domain/fleet/last-seen-codec.ts';
import { FleetMemory } from '../../../src/domain/fleet/memory.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { runs } from '../../support/run/effort.ts';
import { rawKey } from '../../support/store/raw-key.ts';

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
    KEYS.lastSeen(ACCOUNT),
    { packed: packLastSeen(new Map([[0, 9]])) },
    false,
    undefined,
  ],
  ['what the account stores', KEYS.stored(ACCOUNT), { at: 1, audit: 1, records: 1, marks: [] }, false, undefined],
  ['the count of apps', KEYS.counters(ACCOUNT), { apps: 1, nextSlot: 1, idempotencyNext: 0 }, false, undefined],
])('whoever waits for a change is told of %s', (_what, key, record, told, appId) => {
  const memory = new FleetMemory({ onUnreadable: (error) => expect.unreachable(String(error)) });
  memory.settled();
  const changes: unknown[] = [];
  memory.onChange((accountId, changed) => changes.push([accountId, changed]));
  const expected = told ? [[ACCOUNT, appId]] : [];
  memory.put({ key: rawKey(key), value: JSON.stringify(record), revision: 5 });
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
  // By their accounts: a set of a million apps is not gathered for it.
  expect(changes).toHaveLength(3);
  expect(new Set(changes)).toEqual(new Set([ACCOUNT, gone, fresh].map((accountId) => [accountId, undefined])));
});

/** Two accounts with apps of their own, and credentials that move between them. */
const ACCOUNTS = [ACCOUNT, 'other678abcdefgh'];
const CREDENTIALS = ['c', 'd', 'e'].map((letter) => letter.repeat(43));
const appStep = fc.record({
  account: fc.nat(1),
  app: fc.nat(4),
  credential: fc.option(fc.nat(2), { nil: undefined }),
  status: fc.constantFrom('pending', 'active', 'revoked'),
  name: fc.constantFrom('', 'ü', 'a "name" that is longer than those before it'),
  gone: fc.boolean(),
});

test('apps are found by account, by id and by the credential of now, whatever comes and goes', () => {
  fc.assert(
    fc.property(fc.array(appStep, { maxLength: 60, size: 'max' }), (steps) => {
      const memory = new FleetMemory({ onUnreadable: (error) => expect.unreachable(String(error)) });
      for (const id of ACCOUNTS) memory.put({ key: KEYS.account(id), value: JSON.stringify(account), revision: 1 });
      memory.settled();
      const model = new Map<string, { accountId: string; appId: string; record: object; revision: number }>();
      const bound = new Map<string, string>();
      const unbind = (key: string): void => {
        for (const [credential, owner] of bound) if (owner === key) bound.delete(credential);
      };
      for (const [index, step] of steps.entries()) {
        const accountId = ACCOUNTS[step.account] ?? '';
        const appId = `${step.account}${step.app}`.padStart(20, 'a');
        const [key, revision] = [KEYS.app(accountId, appId), index + 2];
        unbind(key);
        if (step.gone) {
          memory.remove(key);
          model.delete(key);
          continue;
        }
        const credential = step.credential === undefined ? undefined : CREDENTIALS[step.credential];
        const { name, status } = step;
        const record = { ...app, name, status, slot: index, ...(credential !== undefined && { credential }) };
        memory.put({ key, value: JSON.stringify(record), revision });
        model.set(key, { accountId, appId, record, revision });
        if (credential !== undefined) bound.set(credential, key);
      }
      expect(memory.appCount).toBe(model.size);
      for (const [key, { accountId, appId, record, revision }] of model) {
        const found = memory.appById(appId);
        expect([found?.account.id, found?.app.id]).toEqual([accountId, appId]);
        expect(found?.app.record).toEqual(record);
        expect(memory.account(accountId)?.app(appId)?.revision).toBe(revision);
        expect(memory.revisionOf(key)).toBe(revision);
      }
      for (const credential of CREDENTIALS) {
        expect(memory.appOfCredential(credential)?.app.id).toBe(model.get(bound.get(credential) ?? '')?.appId);
      }
      for (const id of ACCOUNTS) {
        const own = [...model.values()].filter(({ accountId }) => accountId === id);
        const apps = memory.account(id)?.apps() ?? [];
        expect(apps.map((held) => held.id).sort()).toEqual(own.map(({ appId }) => appId).sort());
        const active = apps.filter(({ record }) => record.status === 'active').map((held) => held.id);
        expect([memory.account(id)?.appCount, memory.account(id)?.activeIds()]).toEqual([apps.length, active]);
        for (const held of apps) expect(held.record).toEqual(model.get(KEYS.app(id, held.id))?.record);
        const held = new Map(memory.held(KEYS.app.under(id).slice(0, -5))) as ReadonlyMap<string, number>;
        for (const { appId, revision } of own) expect(held.get(KEYS.app(id, appId))).toBe(revision);
      }
    }),
    { numRuns: runs(60) },
  );
});

test('an app stays as it was when it was read; reading again finds the changes', () => {
  const memory = new FleetMemory({ onUnreadable: (error) => expect.unreachable(String(error)) });
  const key = KEYS.app(ACCOUNT, APP);
  memory.put({ key: KEYS.account(ACCOUNT), value: JSON.stringify(account), revision: 1 });
  memory.put({ key, value: JSON.stringify({ ...app, name: 'before' }), revision: 2 });
  memory.settled();
  const before = memory.appById(APP)?.app;
  memory.put({ key, value: JSON.stringify({ ...app, name: 'after', status: 'revoked' }), revision: 3 });
  expect(memory.appById(APP)?.app).toMatchObject({ revision: 3, status: 'revoked', record: { name: 'after' } });
  memory.remove(key);
  expect(memory.appById(APP)).toBeUndefined();
  expect(before).toMatchObject({ revision: 2, status: 'pending', record: { name: 'before' } });
});

test('a credential is found in whatever way its text is spelled, and whatever stands before it', () => {
  const memory = new FleetMemory({ onUnreadable: (error) => expect.unreachable(String(error)) });
  const credential = `-_${'Az09'.repeat(10)}x`;
  const value = JSON.stringify({ ...app, name: 'ü \u{1f600}', credential });
  memory.put({ key: KEYS.account(ACCOUNT), value: JSON.stringify(account), revision: 1 });
  for (const spelled of [value, value.replace('"-_', '"\\u002d\\u005f'), ` ${value} `]) {
    memory.put({ key: KEYS.app(ACCOUNT, APP), value: spelled, revision: 2 });
    expect(memory.appOfCredential(credential)?.app.record.credential).toBe(credential);
  }
  memory.remove(KEYS.app(ACCOUNT, APP));
  expect(memory.appOfCredential(credential)).toBeUndefined();
});

test('an account that is held while memory is filled anew never shows the apps of another one', () => {
  const memory = new FleetMemory({ onUnreadable: (error) => expect.unreachable(String(error)) });
  const other = 'other678abcdefgh';
  const fill = (accountId: string, appId: string): void => {
    memory.put({ key: KEYS.account(accountId), value: JSON.stringify(account), revision: 1 });
    memory.put({ key: KEYS.app(accountId, appId), value: JSON.stringify(app), revision: 1 });
  };
  fill(ACCOUNT, APP);
  memory.settled();
  const held = memory.account(ACCOUNT);
  memory.clear();
  // In the same place as the account before.
  fill(other, 'b'.repeat(20));
  memory.settled();
  expect(held?.apps().map(({ id }) => id)).toEqual([APP]);
  expect(held?.app('b'.repeat(20))).toBeUndefined();
});

test('a record of an app that cannot be read takes the app away, until it can be read again', () => {
  const unreadable: unknown[] = [];
  const memory = new FleetMemory({ onUnreadable: (error) => void unreadable.push(error) });
  const key = KEYS.app(ACCOUNT, APP);
  const [credential = ''] = CREDENTIALS;
  const value = JSON.stringify({ ...app, credential });
  memory.put({ key: KEYS.account(ACCOUNT), value: JSON.stringify(account), revision: 1 });
  memory.put({ key, value, revision: 2 });
  memory.put({ key, value: '{"name":""}', revision: 3 });
  expect(unreadable).toHaveLength(1);
  expect([memory.appById(APP), memory.appOfCredential(credential), memory.appCount]).toEqual([undefined, undefined, 0]);
  expect(memory.revisionOf(key)).toBe(3);
  memory.put({ key, value, revision: 4 });
  expect(memory.appOfCredential(credential)?.app.revision).toBe(4);
});
