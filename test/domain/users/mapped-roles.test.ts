import { describe, expect, test } from 'vitest';
import type { GroupRule } from '../../../src/config/panel.ts';
import { versioned } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import {
  hasRoles,
  isOvertaken,
  mappedRoles,
  rolesOf,
  sameRoles,
  type MappedRoles,
} from '../../../src/domain/users/mapped-roles.ts';

const WHEN = { at: 1_767_225_600_000, asked: 7 };
const [ACME, OTHER] = ['a1b2c3d4e5f6g7h8', 'z1b2c3d4e5f6g7h8'];
const RULES: readonly GroupRule[] = [
  { group: 'platform', role: 'operator' },
  { group: 'helpdesk', role: 'support' },
  { group: 'review', role: 'auditor' },
  { group: 'owners', role: 'owner', accountId: ACME },
  { group: 'staff', role: 'viewer', accountId: ACME },
  { group: 'staff', role: 'viewer', accountId: OTHER },
];
const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `g${index}`);

describe('the roles that groups give', () => {
  test.each<[says: string, claim: unknown, expected: unknown]>([
    ['no group, no role', [], { operator: false, accounts: [], ...WHEN }],
    ['an unknown group gives none', ['strangers'], { operator: false, accounts: [], ...WHEN }],
    ['a group gives the role of operator', ['platform'], { operator: true, accounts: [], ...WHEN }],
    ['support', ['helpdesk'], { operator: false, installationRole: 'support', accounts: [], ...WHEN }],
    ['auditor', ['review'], { operator: false, installationRole: 'auditor', accounts: [], ...WHEN }],
    [
      'the greater of both',
      ['review', 'helpdesk'],
      { operator: false, installationRole: 'support', accounts: [], ...WHEN },
    ],
    ['an operator has none of them', ['review', 'platform', 'helpdesk'], { operator: true, accounts: [], ...WHEN }],
    [
      'a group may give roles on several accounts',
      ['staff'],
      {
        operator: false,
        accounts: [
          { accountId: ACME, role: 'viewer' },
          { accountId: OTHER, role: 'viewer' },
        ],
        ...WHEN,
      },
    ],
    [
      'the greater of two roles counts, in whatever order they come',
      ['staff', 'owners'],
      {
        operator: false,
        accounts: [
          { accountId: ACME, role: 'owner' },
          { accountId: OTHER, role: 'viewer' },
        ],
        ...WHEN,
      },
    ],
    ['the name of an account is no group of it', [ACME, 'acme'], { operator: false, accounts: [], ...WHEN }],
    ['case makes a difference', ['Platform'], { operator: false, accounts: [], ...WHEN }],
    ['as many groups as there may be', many(LIMITS.groupsMax), { operator: false, accounts: [], ...WHEN }],
    ['one too many', many(LIMITS.groupsMax + 1), 'groups_too_many'],
    ['a group of 256 characters', ['x'.repeat(256)], { operator: false, accounts: [], ...WHEN }],
    ['a group of 257', ['x'.repeat(257)], 'groups_too_many'],
    ['a group that is no text', ['platform', 7], 'groups_too_many'],
    ['no claim', undefined, 'groups_missing'],
    ['null', null, 'groups_missing'],
    ['a text', 'platform', 'groups_missing'],
    ['an object', { 0: 'platform' }, 'groups_missing'],
  ])('%s', (_says, claim, expected) => {
    expect(mappedRoles(claim, RULES, WHEN)).toEqual(expected);
  });

  test('without rules no claim is asked for', () => {
    expect(mappedRoles(undefined, [], WHEN)).toEqual({ operator: false, accounts: [], unruled: true, ...WHEN });
  });

  test('two computations are compared without their instants', () => {
    const one = { operator: false, accounts: [{ accountId: ACME, role: 'viewer' as const }], at: 1 };
    expect(sameRoles(one, { ...one, at: 2 })).toBe(true);
    expect(sameRoles(one, { ...one, operator: true })).toBe(false);
    expect(sameRoles(one, { ...one, accounts: [] })).toBe(false);
    expect(sameRoles(undefined, { operator: false, accounts: [], at: 3 })).toBe(true);
  });

  test('a role on the installation is a role, and another one is another', () => {
    const none = { operator: false, accounts: [], at: 1 };
    const [support, auditor] = [
      { ...none, installationRole: 'support' as const },
      { ...none, installationRole: 'auditor' as const },
    ];
    expect([none, support, auditor].map(hasRoles)).toEqual([false, true, true]);
    expect([sameRoles(support, { ...support, at: 2 }), sameRoles(support, auditor), sameRoles(none, auditor)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('of two answers that were asked for at once, the later one gives no greater role on the installation', () => {
    const answer = (role?: 'operator' | 'support' | 'auditor'): MappedRoles => ({
      operator: role === 'operator',
      ...(role !== undefined && role !== 'operator' && { installationRole: role }),
      accounts: [],
      ...WHEN,
    });
    const known = (mapped: MappedRoles) =>
      versioned(
        { key: KEYS.user('ann'), value: '', revision: 9 },
        { name: 'Ann', login: '', createdAt: 1, disabled: false, identities: [], passkeys: [], mapped },
      );
    const roles = [undefined, 'auditor', 'support', 'operator'] as const;
    for (const [rank, role] of roles.entries())
      for (const [other, given] of roles.entries())
        expect([role, given, isOvertaken(known(answer(role)), answer(given))]).toEqual([role, given, other > rank]);
  });

  test.each([
    ['give a role', undefined, false],
    ['give none once the provider has refused the user', WHEN.at, true],
    ['give one by a later answer, also where an earlier version has left the refusal', WHEN.at - 1, false],
  ])('%s', (_name, providerRefusedAt, isWithout) => {
    const mapped = { operator: true, accounts: [], ...WHEN };
    const user = { name: 'Ann', login: '', createdAt: 1, disabled: false, identities: [], passkeys: [], mapped };
    const roles = rolesOf({ ...user, ...(providerRefusedAt !== undefined && { providerRefusedAt }) });
    expect(roles).toEqual(isWithout ? undefined : mapped);
  });
});
