import { describe, expect, test } from 'vitest';
import { writeClassOfChange } from '../../../src/domain/fullness/write-class.ts';
import { UNAUDITED_CLASSES } from '../../../src/domain/fullness/unaudited-classes.ts';
import { ACTION_CLASSES, MUTATION_ACTIONS } from '../../../src/domain/mutation/actions.ts';
import { rawKey, rawPut } from '../../support/store/raw-key.ts';
import { expectAbsent } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { boundedStore } from '../../support/store/bounded-store.ts';

describe('A12: the classes of commits', () => {
  test('of the mutations only those that the contract names are taken by a full store', () => {
    const taken = MUTATION_ACTIONS.filter((action) => ACTION_CLASSES[action] !== 'growth');
    expect(taken).toEqual([
      'account.changed',
      'account.released',
      // The controller's own work.
      'resource.forgotten',
      'resource.recovered',
      // A key can lose each of these once alone.
      'key.changed',
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
      // It is written with its night.
      'night.metered',
      // Disabled users, lost roles, ended sessions; somebody must sign in to take access away.
      'user.changed',
      'user.reset',
      'user.deleted',
      'password.changed',
      'passkey.removed',
      'identity.unlinked',
      'operator.removed',
      'role.taken',
      'member.changed',
      'member.removed',
      'session.created',
      'session.ended',
      'access-token.revoked',
      'link.withdrawn',
    ]);
  });

  test('what changes records of owners without a mutation has a class: none of it is growth', () => {
    expect(UNAUDITED_CLASSES).toEqual({
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
    ['an app, without a class of the commit', ['leader', 'd/a/acc/app/app'], 'growth'],
    ['removals alone', [], 'vital'],
  ])('a commit has the strictest class of what it puts: %s', (_, keys, writeClass) => {
    const write = [...keys.map((key) => ({ put: rawKey(key), value: '' })), { remove: rawKey('review/acc/app/e') }];
    expect(writeClassOfChange({ write })).toBe(writeClass);
  });

  test.each(['growth', 'upkeep', 'vital'] as const)(
    'a commit that names its class has it, whatever it puts: %s',
    (writeClass) => {
      const write = ['d/a/acc/app/app', 'ack/acc/app', 'leader'].map((key) => ({ put: rawKey(key), value: '' }));
      expect(writeClassOfChange({ write, writeClass })).toBe(writeClass);
    },
  );

  test.each(['novel/x', 'd/a/acc/app/app/more', 'metered/x', ''])(
    'a record of no declared kind is not written: %j',
    async (key) => {
      await using opened = await openSqliteStore(':memory:');
      const store = boundedStore(opened);
      const change = (put: string) => ({ expect: [expectAbsent('never')] as const, write: [rawPut(put, {})] });
      await expect(store.commit(change(key))).rejects.toThrow(`No kind of record is declared for the key ${key}.`);
      expect(await store.commit(change(KEYS.metered()))).toMatchObject({ outcome: 'committed' });
    },
  );
});
