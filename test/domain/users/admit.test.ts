import { expect, test } from 'vitest';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Origin } from '../../../src/domain/mutation/step.ts';
import { createAcceptLink } from '../../../src/domain/users/accept-link.ts';
import { createProviderUsers, type ProviderUsers } from '../../../src/domain/users/provider-users.ts';
import { createNewcomers } from '../../../src/domain/users/users.ts';
import { identityKey } from '../../../src/domain/users/user-state.ts';
import { expectAbsent } from '../../../src/store/port.ts';
import { outcomes } from '../../support/kubernetes/bound-core.ts';
import { putUser, replacementFor } from '../../support/panel/panel-users.ts';
import { openedCore, type OpenedCore } from '../../support/service/opened-core.ts';
import { onEachBackend, type Backend } from '../../support/store/backends.ts';
import { DuringReads } from '../../support/store/during-reads.ts';

/* A user comes from the provider while another request takes the identity, or the user, away. */

/** The groups give a role in these tests. */
const NOBODY = { everybody: false, invitation: undefined };
const IDENTITY = { issuer: 'https://id.example.com', subject: 'ann' };

const originOf =
  (it: OpenedCore) =>
  (actor: string): Origin => ({
    actor,
    requestId: 'request',
    at: Date.now(),
    deadline: it.core.clock.monotonic() + 60_000,
  });

interface Admission extends AsyncDisposable {
  readonly it: OpenedCore;
  readonly reads: DuringReads;
  readonly users: ProviderUsers;
  /** The user who has the identity at first. */
  readonly userId: string;
  readonly origin: (actor: string) => Origin;
  /** Admits whoever has the identity as an operator. */
  admit(): Promise<string>;
}

async function admission(backend: Backend): Promise<Admission> {
  const reads = new DuringReads();
  const it = await openedCore(backend, { wrapStore: reads.wrapStore });
  const { store } = it.core;
  const users = createProviderUsers(it.domain.userDeps);
  const userId = await putUser(store, { record: { identities: [IDENTITY] } });
  const key = identityKey(IDENTITY);
  await store.commit({ expect: [expectAbsent(key)], write: [put(key, { userId })] });
  const origin = originOf(it);
  return {
    it,
    reads,
    users,
    userId,
    origin,
    async admit() {
      const mapped = { at: Date.now(), operator: true, accounts: [] };
      const admitted = await users.admit(origin, { identity: IDENTITY, name: 'Ann', mapped }, NOBODY);
      return typeof admitted === 'string' ? admitted : admitted.id;
    },
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  };
}

/** More reads than any of the requests makes. */
const READS_MAX = 12;

/** Tries what happens after each read of an admission. @returns the number of reads that were tried */
async function afterEachRead(
  backend: Backend,
  round: { act(one: Admission): Promise<unknown>; judge(one: Admission, admitted: string): Promise<void> },
): Promise<number> {
  for (let read = 1; read <= READS_MAX; read += 1) {
    await using one = await admission(backend);
    one.reads.at(read, () => round.act(one));
    const admitted = await one.admit();
    if (!one.reads.end()) return read - 1;
    await round.judge(one, admitted);
  }
  throw new Error(`An admission reads more than ${READS_MAX} times.`);
}

onEachBackend('a sign-in at the provider', (backend) => {
  test('gives no roles by an identity that was unlinked meanwhile', async () => {
    const tried = await afterEachRead(backend, {
      act: ({ users, origin, userId }) => users.unlink(origin('operator'), replacementFor(userId)),
      async judge({ it, userId }) {
        const user = await (await it.core.fleet.current()).user(userId);
        expect([user?.record.identities, user?.record.mapped]).toEqual([[], undefined]);
      },
    });
    expect(tried).toBeGreaterThan(1);
  });

  test('makes a new user where the former one is deleted meanwhile', async () => {
    const tried = await afterEachRead(backend, {
      act: ({ it, origin, userId }) => it.domain.userDeletion.delete(origin('operator'), userId),
      async judge({ it, userId }, admitted) {
        const reader = await it.core.fleet.current();
        expect(admitted).not.toBe(userId);
        expect(await reader.user(userId)).toBeUndefined();
        expect((await reader.user(admitted))?.record.identities).toEqual([IDENTITY]);
      },
    });
    expect(tried).toBeGreaterThan(1);
  });
});

onEachBackend('a link for the first operator', (backend) => {
  test('is void once a new user is an operator by the groups, whichever read of its use he comes after', async () => {
    for (let read = 1; read <= READS_MAX; read += 1) {
      const reads = new DuringReads();
      await using it = await openedCore(backend, { wrapStore: reads.wrapStore });
      const { userDeps, links } = it.domain;
      const acceptLink = createAcceptLink({ ...userDeps, links });
      // He comes by another replica, which creates users in a turn of its own.
      const elsewhere = createProviderUsers({ ...userDeps, newcomers: createNewcomers(userDeps) });
      const origin = originOf(it);
      const link = await links.forFirstOperator(origin('startup'));
      const mapped = { at: Date.now(), operator: true, accounts: [] };
      reads.at(read, () => elsewhere.admit(origin, { identity: IDENTITY, name: 'Ann', mapped }, NOBODY));
      const answer = { signedIn: undefined, name: 'Bob', login: 'bob@example.com', hashed: 'none' };
      const [accepted] = await outcomes([acceptLink(origin, { ...answer, token: link?.token.reveal() ?? '' })]);
      if (!reads.end()) {
        expect([accepted, read > 2]).toEqual(['done', true]);
        return;
      }
      expect([read, accepted]).toEqual([read, 'invalid_request']);
    }
    throw new Error(`The use of a link reads more than ${READS_MAX} times.`);
  });
});

onEachBackend('the creation of a user', (backend) => {
  test('leaves the record of the operators alone, which their changes expect', async () => {
    await using one = await admission(backend);
    const { store } = one.it.core;
    const before = await store.get(KEYS.operators());
    await one.it.domain.users.create(one.origin('operator'), {
      name: 'Bob',
      login: 'bob@example.com',
      role: 'none',
    });
    expect(await store.get(KEYS.operators())).toEqual(before);
  });
});
