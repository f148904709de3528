import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import fc from 'fast-check';
import * as z from 'zod';
import { describe, expect, test } from 'vitest';
import { isLeftOut } from '../../../src/domain/backup/backup.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { appRemoval, CACHED_GROUPS, KEYS, kindOfKey, userRemoval } from '../../../src/domain/records/keys.ts';
import { record, removalOf, type Declared } from '../../../src/domain/records/registry.ts';
import { CACHED_PREFIX, COMMIT_OPERATIONS_MAX, type Write } from '../../../src/store/port.ts';
import { rawKey } from '../../support/store/raw-key.ts';
import { BESIDE_MAX } from '../../../src/domain/users/made-keys.ts';
import { RATE_PREFIX, rateRecords } from '../../../src/domain/records/rate-records.ts';

/* Each kind of record is declared once, and what depends on the kinds follows from the declarations. */

const KINDS = Object.entries<Declared>(KEYS);
const RECORDS = resolve(import.meta.dirname, '../../../src/domain/records');

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((all, one) => all + one, 0);

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

  test('a backup has the kinds that say so, and nothing that a newer version puts beside those left out', () => {
    for (const [, { pattern, backup }] of KINDS) {
      const isOut = backup === 'left out';
      expect([pattern, isLeftOut(keyOf(pattern))]).toEqual([pattern, isOut]);
      if (isOut && pattern.includes('<')) expect(isLeftOut(`${keyOf(pattern)}/of-a-newer-version`)).toBe(true);
    }
  });

  test('a backup has the answers of owners, and no answer that holds an API key', () => {
    const answers = ['operator', 'operator-acc', 'acc'].map((scope) => KEYS.idempotencyRecord(scope, 'n'));
    expect(answers.map(isLeftOut)).toEqual([true, true, false]);
  });

  test('the cached range has groups for each of its kinds, and the watch of rates sees each of its own', () => {
    const cached = KINDS.map(([, { pattern }]) => keyOf(pattern)).filter((key) => key.startsWith(CACHED_PREFIX));
    expect(cached.length).toBeGreaterThan(10);
    expect(cached.filter((key) => !CACHED_GROUPS.some((group) => key.startsWith(group)))).toEqual([]);
    const rates = Object.values(rateRecords).map(({ pattern }) => pattern);
    expect(rates.filter((pattern) => !pattern.startsWith(RATE_PREFIX))).toEqual([]);
  });

  test('declarations import what lies below them alone', () => {
    const files = readdirSync(RECORDS).filter((file) => file.endsWith('-records.ts'));
    const imports = files.flatMap((file) =>
      [...readFileSync(resolve(RECORDS, file), 'utf8').matchAll(/^import (type )?.* from '([^']+)';$/gm)].map(
        ([, isType, from = '']) => (isType === undefined ? from : `type ${from}`),
      ),
    );
    const allowed = new Set([
      'zod',
      'node:crypto',
      '../limits.ts',
      './registry.ts',
      './shapes.ts',
      './key-access.ts',
      './attempt-records.ts',
      'type ../../store/port.ts',
    ]);
    expect([...new Set(imports)].filter((from) => !allowed.has(from))).toEqual([]);
    expect(imports.length).toBeGreaterThan(30);
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
    const past = { locator: LIMITS.pastCredentialsPerCommitMax, list: 1, current: 1 };
    const change = { status: 1, day: 1, counters: 1, audit: 1 };
    const app = appRemoval('acc', 'app').length + sum(past) + sum(change);
    const leads = { logins: 2, passkeys: LIMITS.passkeysPerUserMax, identities: LIMITS.identitiesPerUserMax };
    // A session with its refresh token; a key with its entry.
    const ended = { sessions: 2 * LIMITS.sessionsPerUserMax, keys: 2 * BESIDE_MAX };
    const user = userRemoval('u').length + sum(leads) + sum(ended) + sum({ operators: 1, attempts: 1, audit: 1 });
    expect([app, user]).toEqual([102, 113]);
    expect(Math.max(app, user)).toBeLessThanOrEqual(COMMIT_OPERATIONS_MAX);
  });

  test('says that values stand for no name, since others would be removed with them', () => {
    expect(() => removalOf('ack/<accountId>/<appId>', { appId: 'app' })).toThrow(RangeError);
    expect(() => removalOf('metered', { appId: 'app' })).toThrow('metered does not begin with appId');
    expect(removalOf('past/<appId>/<hash>', { appId: 'app' })).toEqual({ removeAll: 'past/app/' });
  });
});

test('a kind or a write without what it needs does not compile', () => {
  const facts = { schema: z.looseObject({}), writeClass: 'growth', backup: 'kept', holds: 'a test' } as const;
  // @ts-expect-error A record whose key names an app says what its deletion does.
  record('x/<accountId>/<appId>', facts);
  // @ts-expect-error So does one that is found by the hash of a credential.
  record('x/<credentialHash>', facts);
  // @ts-expect-error A name is one that the registry knows, so that no other spelling goes around that.
  record('x/<accountId>/<app>', facts);
  // @ts-expect-error A record whose key names no app is not removed with one.
  record('x/<accountId>', { ...facts, ownedBy: 'app' });
  // @ts-expect-error A record is removed with its app, or outlives it.
  record('x/<accountId>/<appId>', { ...facts, ownedBy: 'app', outlives: 'It is small.' });
  const { writeClass: _none, ...without } = facts;
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
  // @ts-expect-error What keys begin with is no key.
  const removal: Write = { remove: KEYS.review.under('a', 'b') };
  expect(removal).toEqual({ remove: 'review/a/b/' });
  expect(record('x/<accountId>/<appId>', { ...facts, ownedBy: 'app' })('a', 'b')).toBe('x/a/b');
});
