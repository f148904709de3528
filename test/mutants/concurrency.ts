import type { Mutant } from './mutant.ts';

const MUTATIONS = 'test/service/replicas/concurrent-mutations.test.ts';
const USERS = 'test/service/replicas/concurrent-users.test.ts';
const BOUNDS = 'test/service/replicas/concurrent-bounds.test.ts';
const ADMIT = 'test/domain/users/admit.test.ts';
const PLAN_READER = 'test/domain/fleet/plan-reader.test.ts';

/** What is judged at one moment and expected at another, or not expected at all. */
export const CONCURRENCY: readonly Mutant[] = [
  {
    name: 'a change of an account expects the account as it is by then, and not as it was judged',
    file: 'src/domain/accounts/accounts.ts',
    search: 'expect: [expectUnchanged(account)],',
    replacement: 'expect: [expectUnchanged(await existing(await deps.fleet.current(), accountId))],',
    rule: 'A12: no acknowledged change of an account is lost to another one.',
    caughtBy: [MUTATIONS],
  },
  {
    name: 'the release of an account expects the account as it is by then, and not as it was judged',
    file: 'src/domain/resource-bindings/bound-accounts.ts',
    search: 'expect: [expectUnchanged(account)],\n      write: [put(KEYS.account(accountId), record)],',
    replacement:
      'expect: [expectUnchanged(await existing(await deps.fleet.current(), accountId))],\n      write: [put(KEYS.account(accountId), record)],',
    rule: 'A12: no acknowledged change of an account is lost to another one.',
    caughtBy: ['test/domain/resource-bindings/meanwhile.test.ts'],
  },
  {
    name: 'an enrollment does not expect the account that it was judged by',
    file: 'src/domain/devices/enrollment.ts',
    search: 'expect: [expectUnchanged(account), expectUnchanged(app), claim.expect,',
    replacement: 'expect: [expectUnchanged(app), claim.expect,',
    rule: 'A12: no enrollment is committed after a disabling.',
    caughtBy: [MUTATIONS],
  },
  {
    name: 'memory changes an account under the hands of whoever holds it',
    file: 'src/domain/fleet/account-memory.ts',
    search: 'memory.view = new AccountView(memory, parseRecord(KEYS.account, entry));',
    replacement:
      'const read = parseRecord(KEYS.account, entry); memory.view = Object.assign(memory.view ?? new AccountView(memory, read), read);',
    rule: 'A12: what is expected is what was judged.',
    caughtBy: [PLAN_READER],
  },
  {
    name: 'a plan that asks for a key twice gets two states of it',
    file: 'src/domain/fleet/plan-reader.ts',
    search: 'if (known) return known as Promise<T>;',
    replacement: "if (known && key === '') return known as Promise<T>;",
    rule: 'A12: what is expected is what was judged.',
    caughtBy: [PLAN_READER],
  },
  {
    name: 'a credential that another app takes over between two reads of the store is refused',
    file: 'src/domain/fleet/store-reader.ts',
    search: 'if (again?.revision === entry.revision) return undefined;',
    replacement: 'return undefined;',
    rule: 'A12: a credential that is valid all the time is not refused.',
    caughtBy: ['test/domain/fleet/fleet.test.ts'],
  },
  {
    name: 'the last two operators may be deleted at once',
    file: 'src/domain/users/user-deletion.ts',
    search: '[user, ...(isOperator ? [operators] : []), ...staying]',
    replacement: '[user]',
    rule: 'P1: the last operator who can sign in stays, also when two go at once.',
    caughtBy: [USERS],
  },
  {
    name: 'a member goes on in an account that is being disabled',
    file: 'src/domain/users/roles.ts',
    search: 'return { ...right, expect: [...right.expect, expectUnchanged(account)] };',
    replacement: 'return right;',
    rule: 'A12: once a disabling was answered, nobody changes the account but an operator.',
    caughtBy: [MUTATIONS],
  },
  {
    name: 'a deletion beside an enrollment removes one credential twice',
    file: 'src/domain/apps/delete-app.ts',
    search: 'for (const hash of past.hashes) hashes.add(hash);',
    replacement: 'for (const hash of past.hashes) write.push({ remove: KEYS.credential(hash) });',
    rule: 'A9: a deletion is carried out, whatever comes beside it.',
    caughtBy: [MUTATIONS],
  },
  {
    name: 'two invitations at once both take the last place',
    file: 'src/domain/users/links.ts',
    search: 'expect: [expectUnchanged(account), expectUnchanged(counters), expectAbsent(drawn.key)],',
    replacement: 'expect: [expectUnchanged(account), expectAbsent(drawn.key)],',
    rule: 'A12: an account has at most 100 open invitations.',
    caughtBy: [BOUNDS],
  },
  {
    name: 'two users who are made at once both take the last place',
    file: 'src/domain/users/user-state.ts',
    search: '      newest,\n      ...(isOperator',
    replacement: '      ...(isOperator',
    rule: 'A12: there are at most 10,000 users.',
    caughtBy: [BOUNDS],
  },
  {
    name: 'a link for the first operator is used beside somebody whom the groups make an operator',
    file: 'src/domain/users/taken-roles.ts',
    search: 'mapped.operator && record.mapped?.operator !== true ? [',
    replacement: 'mapped.operator && record.mapped?.operator !== true && record.name === undefined ? [',
    rule: 'P7: the link of the first operator is good until there is one.',
    caughtBy: ['test/api/panel/provider-users.test.ts'],
  },
  {
    name: 'a creation that was answered while it waited is carried out',
    file: 'src/domain/users/users.ts',
    search: '      refuseLate(deps, origin);\n      return await create();',
    replacement: '      return await create();',
    rule: 'H15: a request that was answered 502 is not carried out afterwards.',
    caughtBy: ['test/domain/users/newcomers.test.ts'],
  },
  {
    name: 'a change of a user expects the user as he is by then, and not as he was judged',
    file: 'src/domain/users/users.ts',
    search: 'expect: [user, ...(isOperator',
    replacement: 'expect: [await existingUser(await deps.fleet.current(), userId), ...(isOperator',
    rule: 'A12: no acknowledged change of a user is lost to another one.',
    caughtBy: [USERS],
  },
  {
    name: 'an acknowledgement does not expect the account that it was judged by',
    file: 'src/domain/devices/acknowledge.ts',
    search: 'expectUnchanged(current.account), ',
    replacement: '',
    rule: 'A12: no acknowledgement is committed after a disabling.',
    caughtBy: ['test/api/device/acknowledge-config.test.ts'],
  },
  {
    name: 'a sign-in gives roles by an identity that was unlinked meanwhile',
    file: 'src/domain/users/provider-users.ts',
    search: 'if (user && hasIdentity(user.record, identity)) return user;',
    replacement: 'if (user) return user;',
    rule: 'P6: whoever has no more the identity gets no role by it.',
    caughtBy: [ADMIT],
  },
  {
    name: 'the creation of a user counts under the record of the operators',
    file: 'src/domain/users/user-state.ts',
    search: 'const isOperator = operator || mapped?.operator === true;',
    replacement: 'const isOperator = true;',
    rule: 'A12: a change of an operator is carried out while users are created.',
    caughtBy: [ADMIT],
  },
  {
    name: 'a link for the first operator is used beside a new user whom the groups make an operator',
    file: 'src/domain/users/user-state.ts',
    search: 'const isOperator = operator || mapped?.operator === true;',
    replacement: 'const isOperator = operator;',
    rule: 'P7: the link of the first operator is good until there is one.',
    caughtBy: [ADMIT],
  },
];
