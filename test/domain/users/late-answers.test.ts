import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { MappedRoles } from '../../../src/domain/users/mapped-roles.ts';
import { createProviderUsers } from '../../../src/domain/users/provider-users.ts';
import { identityKey } from '../../../src/domain/users/user-state.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { expectAbsent } from '../../../src/store/port.ts';
import { RedirectedBrowser } from '../../support/panel/oidc-provider.ts';
import { putUser, replacementFor, rewrite } from '../../support/panel/panel-users.ts';
import { signing } from '../../support/panel/signing.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { call, OPERATOR_TOKEN } from '../../support/service/muster.ts';
import { openedCore } from '../../support/service/opened-core.ts';
import { onEachBackend, type Backend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/*
 * An answer of the provider may arrive long after others that were asked for later. The roles are those of the answer
 * that was asked for last, by the store's revision, since the clocks of two replicas could not tell.
 */

const IDENTITY = { issuer: 'https://id.example.com', subject: 'ann' };
const OPERATOR = { operator: true, accounts: [] };
const NOBODY = { operator: false, accounts: [] };

/** A user with an identity, and the ways in which an answer comes. */
async function person(backend: Backend) {
  const it = await openedCore(backend);
  const { store } = it.core;
  const users = createProviderUsers(it.domain.userDeps);
  const userId = await putUser(store, { record: { identities: [IDENTITY] } });
  const key = identityKey(IDENTITY);
  await store.commit({ expect: [expectAbsent(key)], write: [put(key, { userId })] });
  const originOf = (actor: string) => ({
    actor,
    requestId: 'request',
    at: Date.now(),
    deadline: it.core.clock.monotonic() + 60_000,
  });
  const answers = {
    admit: async (mapped: MappedRoles) =>
      void (await users.admit(
        originOf,
        { identity: IDENTITY, name: 'Ann', mapped },
        { everybody: true, invitation: undefined },
      )),
    renew: (mapped: MappedRoles) => users.renew(originOf('muster'), userId, { identity: IDENTITY, mapped }),
    link: async (mapped: MappedRoles) =>
      void (await users.link(
        originOf(`user:${userId}`),
        { identity: IDENTITY, name: 'Ann', mapped },
        replacementFor(userId),
      )),
  };
  const mapped = async () =>
    (JSON.parse((await store.get(KEYS.user(userId)))?.value ?? '{}') as { mapped: MappedRoles }).mapped;
  /** The store's revision now; something is committed meanwhile. */
  const asked = async (): Promise<number> => {
    const revision = await it.core.fleet.revision();
    await putUser(store);
    return revision;
  };
  return { ...answers, mapped, asked, store, userId, [Symbol.asyncDispose]: () => it[Symbol.asyncDispose]() };
}

onEachBackend('an answer of the provider', (backend) => {
  test.each(['admit', 'renew', 'link'] as const)(
    'that was asked for before another one changes nothing, and one that was asked for after it does (%s)',
    async (way) => {
      await using one = await person(backend);
      const early = await one.asked();
      const late = await one.asked();
      await one.renew({ ...NOBODY, at: 2, asked: late });
      await one[way]({ ...OPERATOR, at: 3, asked: early });
      expect(await one.mapped()).toMatchObject({ operator: false, at: 2, asked: late });
      const last = await one.asked();
      await one[way]({ ...OPERATOR, at: 4, asked: last });
      expect(await one.mapped()).toMatchObject({ operator: true, at: 4, asked: last });
    },
  );

  test('that was asked for at the same revision as another one takes roles, and gives none', async () => {
    await using one = await person(backend);
    const asked = await one.asked();
    await one.renew({ ...NOBODY, at: 2, asked });
    await one.renew({ ...OPERATOR, at: 3, asked });
    expect(await one.mapped()).toMatchObject({ operator: false, at: 2 });

    const later = await one.asked();
    await one.renew({ ...OPERATOR, at: 4, asked: later });
    await one.renew({ ...NOBODY, at: 5, asked: later });
    expect(await one.mapped()).toMatchObject({ operator: false, at: 5 });
  });

  test('is judged by no revision of another store, from which the user was restored', async () => {
    await using one = await person(backend);
    await one.renew({ ...OPERATOR, at: 1, asked: await one.asked() });
    await rewrite(one, KEYS.user(one.userId), (record) => ({
      ...record,
      mapped: { ...OPERATOR, at: 1, asked: Number.MAX_SAFE_INTEGER },
    }));
    await one.renew({ ...NOBODY, at: 2, asked: await one.asked() });
    expect(await one.mapped()).toMatchObject({ operator: false, at: 2 });
  });

  test('of a renewal that a newer sign-in overtakes gives no role back', async () => {
    const clock = new FakeClock(Date.now());
    const race = new BeforeCommit(KEYS.user.under());
    await using it = await signing({ clock, backend, wrapStore: race.wrapStore });
    await it.provider.set({ groups: ['platform'] });
    await it.signIn();
    race.next = async () => {
      await it.provider.set({ groups: [] });
      await it.signIn(new RedirectedBrowser());
    };
    const rounds = async (): Promise<number> => {
      const { text } = await call(`${it.panel.muster.ops}/metrics`, { token: OPERATOR_TOKEN });
      const counts = text.matchAll(/^muster_loop_duration_seconds_count{loop="mapped-roles".*} (\d+)$/gm);
      return counts.reduce((sum, [, count]) => sum + Number(count), 0);
    };
    let before = await rounds();
    clock.advance(50 * 60_000);
    await until(async () => {
      const ended = await rounds();
      if (race.isDone) return true;
      // The round in which the answer comes late is not among these.
      before = ended;
      clock.advance(1000);
      return false;
    });
    // The round in which the answer came late is over.
    await until(async () => (await rounds()) > before);
    expect(race.isDone).toBe(true);
    const { body } = await asOperator(it.panel.muster, '/audit');
    const changed = (body['entries'] as { action: string; detail: Record<string, unknown> }[]).filter(
      ({ action, detail }) => action === 'user.changed' && detail['mapped'] === 'changed',
    );
    expect(changed.map(({ detail }) => detail['operator'])).toEqual([false]);
  });
});
