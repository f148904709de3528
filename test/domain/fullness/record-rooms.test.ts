import { describe, expect, test } from 'vitest';
import { roomOf } from '../../../src/domain/fullness/bounded-store.ts';
import { RECORD_ROOMS, roomOfKey, UNAUDITED_ROOMS } from '../../../src/domain/fullness/record-rooms.ts';
import { ACTION_ROOMS } from '../../../src/domain/mutation/action-rooms.ts';
import { MUTATION_ACTIONS } from '../../../src/domain/mutation/metrics.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';

/** One key of each family of `KEYS`, or the prefix of several; the parts are of the shapes that the service makes. */
function sampleOf(name: string, family: unknown): string {
  if (typeof family === 'string') return family;
  const make = family as (...parts: (string | number)[]) => string;
  const numbers: Readonly<Record<string, readonly (string | number)[]>> = {
    audit: ['acc', 1_700_000_000_000, 'marker'],
    seal: ['acc', 7],
    idempotencySlot: ['acc', 7],
    purged: [1],
    statusChange: ['2026-01-02', 'acc', 'app'],
    accountStatusChange: ['2026-01-02', 'acc'],
    ledger: ['2026-01', 'acc', '02'],
  };
  return make(...(numbers[name] ?? ['one', 'two', 'three']));
}

const SAMPLES = Object.entries(KEYS).map(([name, family]) => [name, sampleOf(name, family)] as const);
/** `rateShared` is what several prefixes begin with. */
const isPrefix = (key: string): boolean => key.endsWith('/') || key === KEYS.rateShared;
const patternOf = (key: string): string | undefined =>
  Object.keys(RECORD_ROOMS).find((pattern) => {
    const [wanted, parts] = [pattern.split('/'), key.split('/')];
    return wanted.length === parts.length && wanted.every((part, index) => part === '*' || part === parts[index]);
  });

describe('A12: the classes of records and mutations', () => {
  test.each(SAMPLES.filter(([, key]) => !isPrefix(key)))('%s has a class', (_, key) => {
    expect(roomOfKey(key), `no class for ${key} in record-rooms.ts`).toBeDefined();
    expect(roomOfKey(key)).toBe(RECORD_ROOMS[patternOf(key) ?? '']);
  });

  test('every prefix leads to records that have a class, and every class is of a record that there is', () => {
    const keys = SAMPLES.map(([, key]) => key).filter((key) => !isPrefix(key));
    const prefixes = SAMPLES.map(([, key]) => key).filter((key) => isPrefix(key));
    const known = Object.keys(RECORD_ROOMS);
    const shape = (key: string): string => key.split('/')[0] ?? '';
    expect(prefixes.filter((prefix) => !known.some((pattern) => shape(pattern) === shape(prefix)))).toEqual([]);
    expect(new Set(keys.map(patternOf))).toEqual(new Set(known));
  });

  test('every mutation has a class; only what the contract names is taken by a full store', () => {
    expect(Object.keys(ACTION_ROOMS).toSorted()).toEqual([...MUTATION_ACTIONS].toSorted());
    const taken = MUTATION_ACTIONS.filter((action) => ACTION_ROOMS[action] !== 'growth');
    expect(taken).toEqual([
      'account.changed',
      'account.released',
      // The controller's own work.
      'resource.forgotten',
      'key.revoked',
      'app.released',
      'app.revoked',
      'app.deleted',
      'code.voided',
      'otel.stored',
      'otel.purged',
      // A read, whose entry goes on to 95 %.
      'backup.begun',
      'usage.exported',
      'audit.exported',
      // Disabled users, lost roles, ended sessions; somebody must sign in to take access away.
      'user.changed',
      'user.reset',
      'user.deleted',
      'password.changed',
      'passkey.removed',
      'identity.unlinked',
      'operator.removed',
      'member.changed',
      'member.removed',
      'session.created',
      'session.ended',
      'link.withdrawn',
    ]);
  });

  test('what changes records of owners without a mutation has a class: none of it is growth', () => {
    expect(UNAUDITED_ROOMS).toEqual({
      bindingConfirmed: 'vital',
      codesExpired: 'upkeep',
      textsRewrapped: 'upkeep',
      refreshTokenKept: 'upkeep',
      rolesConfirmed: 'upkeep',
    });
  });

  test.each([
    ['leases alone', ['leader', 'replica/r'], 'vital'],
    ['a lease beside a seal', ['leader', 'seal/acc/000000001'], 'upkeep'],
    ['a seal beside an acknowledgement', ['ack/acc/app', 'seal/acc/000000001'], 'growth'],
    ['a record that the table does not know', ['novel/x'], 'growth'],
    ['a part too many', ['d/a/acc/app/app/more'], 'growth'],
    ['an app, without a class of the commit', ['leader', 'd/a/acc/app/app'], 'growth'],
    ['removals alone', [], 'vital'],
  ])('a commit has the strictest class of what it puts: %s', (_, keys, room) => {
    const write = [...keys.map((key) => ({ put: key, value: '' })), { remove: 'review/acc/app/e' }];
    expect(roomOf({ write })).toBe(room);
  });

  test.each(['growth', 'upkeep', 'vital'] as const)(
    'a commit that names its class has it, whatever it puts: %s',
    (room) => {
      const write = ['d/a/acc/app/app', 'ack/acc/app', 'leader'].map((key) => ({ put: key, value: '' }));
      expect(roomOf({ write, room })).toBe(room);
    },
  );
});
