import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import fc from 'fast-check';
import * as z from 'zod';
import { describe, expect, test } from 'vitest';
import { isLeftOut } from '../../../src/domain/backup/backup.ts';
import { KINDS_WITH_RULES } from '../../../src/domain/backup/restore-rules.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { appRemoval, KEYS, kindOfKey, userRemoval } from '../../../src/domain/records/keys.ts';
import { record, removalOf, type Declared } from '../../../src/domain/records/registry.ts';
import { COMMIT_OPERATIONS_MAX } from '../../../src/store/port.ts';
import { rawKey } from '../../support/store/raw-key.ts';

/* Each kind of record is declared once, and what depends on the kinds follows from the declarations. */

const KINDS = Object.entries<Declared>(KEYS);
const RECORDS = resolve(import.meta.dirname, '../../../src/domain/records');

/** A key of the pattern; ids are what the service makes of them. */
const keyOf = (pattern: string): string => pattern.replaceAll(/<(\w+)>/g, (_, name: string) => `a-${name}`);

describe('the registry of records', () => {
  test('has every file of declarations', async () => {
    const files = readdirSync(RECORDS).filter((file) => file.endsWith('-records.ts'));
    const declared: unknown[] = [];
    for (const file of files) {
      const exported = (await import(resolve(RECORDS, file))) as Readonly<Record<string, unknown>>;
      for (const [name, value] of Object.entries(exported)) {
        if (name.endsWith('Records')) declared.push(...Object.values(value as Readonly<Record<string, unknown>>));
      }
    }
    expect(declared.length).toBeGreaterThan(50);
    expect(new Set(Object.values(KEYS))).toEqual(new Set(declared));
  });

  test.each(KINDS)('%s: its keys are of its kind alone', (_name, kind) => {
    expect(kindOfKey(keyOf(kind.pattern))).toBe(kind);
    expect(kindOfKey(`${keyOf(kind.pattern)}/of-a-newer-version/x/y/z`)).toBeUndefined();
  });

  test('patterns and sentences are said once', () => {
    for (const facts of ['pattern', 'holds'] as const) {
      const all = KINDS.map(([, kind]) => kind[facts]);
      expect(new Set(all).size).toBe(all.length);
    }
  });

  test('keys are what lies in the store', () => {
    expect([
      KEYS.app('acc', 'app'),
      KEYS.audit('acc', 1_700_000_000_000, 'marker'),
      KEYS.seal('acc', 7),
      KEYS.statusChange('2026-01-02', 'acc', 'app'),
      KEYS.idempotencySlot('acc', 7),
      KEYS.rateAnswer('one', 3, 'other'),
      KEYS.day(),
    ]).toEqual([
      'd/a/acc/app/app',
      'audit/acc/0loyw3v28-marker',
      'seal/acc/000000007',
      'life/2026-01-02/acc/app',
      'idem/acc/slot/7',
      'rate-ages/one/3/other',
      'd/day',
    ]);
    expect([
      KEYS.app.under('acc'),
      KEYS.account.under(),
      KEYS.statusChange.under(),
      KEYS.review.under('a', 'b'),
    ]).toEqual(['d/a/acc/app/', 'd/a/', 'life/', 'review/a/b/']);
  });

  test('a prefix is what the keys with its values begin with, and no others', () => {
    const part = fc.stringMatching(/^[a-z0-9]{1,5}$/);
    fc.assert(
      fc.property(part, part, part, part, (account, app, digest, other) => {
        const key = KEYS.review(account, app, digest);
        expect(key.startsWith(KEYS.review.under(account, app))).toBe(true);
        expect(KEYS.review(account, other, digest).startsWith(KEYS.review.under(account, app))).toBe(other === app);
      }),
    );
  });

  test('what a restore does not write as it is has a rule, and nothing else has one', () => {
    const wanted = KINDS.filter(([, { backup }]) => backup === 'own rule').map(([, kind]) => kind.pattern);
    expect(KINDS_WITH_RULES.map(({ pattern }) => pattern).toSorted()).toEqual(wanted.toSorted());
  });

  test('a backup has the kinds that say so, and no keys of API keys', () => {
    for (const [, { pattern, backup }] of KINDS)
      expect([pattern, isLeftOut(keyOf(pattern))]).toEqual([pattern, backup === 'left out']);
    const [operators, ofKeys, ofOwner] = ['operator', 'operator-acc', 'acc'].map((scope) =>
      KEYS.idempotencyRecord(scope, 'n'),
    );
    expect([operators, ofKeys, ofOwner].map((key) => isLeftOut(key ?? ''))).toEqual([true, true, false]);
  });
});

describe('the deletion of an owner', () => {
  test('removes what an app owns', () => {
    expect(appRemoval('acc', 'app')).toEqual([
      { remove: 'd/a/acc/app/app' },
      { remove: 'ack/acc/app' },
      { remove: 'refused/acc/app' },
      { remove: 'opamp/acc/app' },
      { removeAll: 'review/acc/app/' },
      { remove: 'reviews/acc/app' },
    ]);
  });

  test('removes what a user owns', () => {
    expect(userRemoval('u')).toEqual([{ remove: 'd/u/u' }, { remove: 'session-uses/u' }, { remove: 'sign-ins/u' }]);
  });

  test('takes no more than a commit can, at worst', () => {
    // The app's credentials of the past, its account's counters and its audit entry; the status change and the day.
    const app = appRemoval('acc', 'app').length + LIMITS.pastCredentialsPerCommitMax + 6;
    // The sessions with their refresh tokens, what leads to the user, the operators, the failed sign-ins, the entry.
    const user =
      userRemoval('u').length +
      2 * LIMITS.sessionsPerUserMax +
      LIMITS.passkeysPerUserMax +
      LIMITS.identitiesPerUserMax +
      6;
    expect(Math.max(app, user)).toBeLessThanOrEqual(COMMIT_OPERATIONS_MAX);
  });

  test('says that values stand for no name, since others would be removed with them', () => {
    expect(() => removalOf('ack/<accountId>/<appId>', { appId: 'app' })).toThrow(RangeError);
    expect(() => removalOf('metered', { appId: 'app' })).toThrow('metered does not begin with appId');
    expect(removalOf('past/<appId>/<hash>', { appId: 'app' })).toEqual({ removeAll: 'past/app/' });
  });
});

test('a kind without what it needs does not compile', () => {
  const facts = { schema: z.looseObject({}), room: 'growth', backup: 'kept', holds: 'a test' } as const;
  // @ts-expect-error A record whose key names an app says what its deletion does.
  record('x/<accountId>/<appId>', facts);
  // @ts-expect-error A record whose key names no app is not removed with one.
  record('x/<accountId>', { ...facts, ownedBy: 'app' });
  const { room: _none, ...without } = facts;
  // @ts-expect-error A record has a class.
  record('x', without);
  // @ts-expect-error A key has a value for each name.
  record('x/<accountId>', facts)();
  // @ts-expect-error A record is put under a key of a declared kind.
  put('x', {});
  // @ts-expect-error A record is put under a key whose kind is known.
  put(rawKey('d/day'), {});
  // @ts-expect-error A record has the shape of its kind.
  put(KEYS.day(), { day: 1, since: '2026-01-02' });
  expect(record('x/<accountId>/<appId>', { ...facts, ownedBy: 'app' })('a', 'b')).toBe('x/a/b');
});
