import type { Mutant } from '../mutant.ts';

/** What the table of callers holds beside the other lists: keys, members, and records of somebody else. */
export const CALLERS: readonly Mutant[] = [
  {
    name: 'a key of less access does what a full one does',
    file: 'src/domain/key-validity/key-restriction.ts',
    search: "access === 'full' || access === use;",
    replacement: "access === 'full' || use !== undefined;",
    rule: 'CONTRACT#callers: the columns of API keys.',
    caughtBy: ['test/api/openapi/callers/walk.test.ts'],
  },
  {
    name: 'a viewer does what an owner does',
    file: 'src/domain/users/roles.ts',
    search: 'RANK[role] >= RANK[needed]',
    replacement: 'RANK[role] >= RANK.viewer && needed !== undefined',
    rule: 'CONTRACT#callers: the columns of viewers.',
    caughtBy: ['test/api/openapi/callers/walk.test.ts'],
  },
  {
    name: 'a person of another account is told that an account is there',
    file: 'src/domain/users/roles.ts',
    search: "if (!right) throw new Refusal('not_found');",
    replacement: "if (!right) throw new Refusal(account ? 'forbidden' : 'not_found');",
    rule: 'CONTRACT#callers: the answer is the same whether the account is there or not.',
    caughtBy: ['test/api/openapi/callers/walk.test.ts'],
  },
  {
    name: 'an account lists the keys of users elsewhere',
    file: 'src/domain/users/made-keys.ts',
    search: "if (isStranger) throw new Refusal('not_found');",
    replacement: '',
    rule: 'CONTRACT#callers: a record of another account is as one that is not there.',
    caughtBy: ['test/api/openapi/callers/walk.test.ts'],
  },
  {
    name: 'an account tells that a user is there who is no member of it',
    file: 'src/domain/users/members.ts',
    search: 'if (!account || (!user && isDeletion)) throw',
    replacement: 'if (!account || !user) throw',
    rule: 'CONTRACT#callers: a record of another account is as one that is not there.',
    caughtBy: ['test/api/openapi/callers/walk.test.ts'],
  },
  {
    name: 'a person ends the session of somebody else',
    file: 'src/domain/sessions/sessions.ts',
    search: 'if (!session || session.record.userId !== userId) throw',
    replacement: 'if (!session) throw',
    rule: 'CONTRACT#callers: a record of somebody else is as one that is not there.',
    caughtBy: ['test/api/openapi/callers/walk.test.ts'],
  },
  {
    name: 'a person ends the access token of somebody else',
    file: 'src/domain/access-tokens/access-tokens.ts',
    search: 'if (token?.record.userId !== userId) throw',
    replacement: 'if (!token) throw',
    rule: 'CONTRACT#callers: a record of somebody else is as one that is not there.',
    caughtBy: ['test/api/openapi/callers/walk.test.ts'],
  },
];
