import { expect, test } from 'vitest';
import type { GroupRule } from '../../src/config/panel.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { guarded } from '../../src/oidc/provider-fault.ts';
import { StoreUnavailable, type Store } from '../../src/store/port.ts';
import { away, MINUTE_MS, refused, refusedFor, renewals } from '../support/offboarding/renewals.ts';
import { onEachBackend } from '../support/store/backends.ts';
import { wrappedStore } from '../support/store/wrapped-store.ts';

/* A refused refresh token ends what acts as the person, and no API key: only an answer without the role does. */

onEachBackend('a refused refresh token', (backend) => {
  test('of the only session ends all sessions and the roles of groups, and no key; the next answer lets in', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const session = await ann.session('first', 50);
    const other = await ann.session(null, 50, { method: 'password' });
    const works = await ann.madeKey();
    it.provider['first'] = refused;
    await it.round();
    expect([await it.isThere(session), await it.isThere(other)]).toEqual([false, false]);
    expect([await ann.isRefused(), await works()]).toEqual([true, true]);

    await ann.session('again', 0);
    await it.round();
    expect([await ann.isRefused(), await works(), it.asked]).toEqual([false, true, ['first', 'again']]);
  });

  test.each([
    ['of the newest sign-in, where an earlier one is renewed', { newer: refused }, [true, false], false],
    [
      'of the newest, where the answer to an earlier one has no groups',
      { newer: refused, older: () => ({}) },
      [true, false],
      false,
    ],
    ['of all sign-ins', { newer: refused, older: refused }, [false, false], true],
    ['of an earlier one, where the newest has no token', { older: refused }, [false, false], true],
    ['by another code, such as for the client', { newer: refusedFor('invalid_client') }, [true, true], false],
  ] as const)('%s', async (name, provider, left, isRefused) => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const older = await ann.session('older', 55);
    const newer = await ann.session(name.includes('no token') ? null : 'newer', 50);
    const works = await ann.madeKey();
    Object.assign(it.provider, provider);
    await it.round();
    expect([await it.isThere(older), await it.isThere(newer)]).toEqual(left);
    expect([await ann.isRefused(), await works()]).toEqual([isRefused, true]);
  });

  test('decides nothing while another replica asks with an earlier one, or there is no answer to that', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const [older, newer] = [await ann.session('older', 55), await ann.session('newer', 50)];
    const claimedUntil = it.core.clock.now() + MINUTE_MS;
    await it.rewriteRefresh(older, (record) => ({ ...record, claimedUntil }));
    it.provider['newer'] = refused;
    await it.round();
    expect([await it.isThere(older), await it.isThere(newer), await ann.isRefused()]).toEqual([true, true, false]);
    for (const session of [older, newer]) await it.claimIsOver(session);
    it.provider['older'] = away;
    await expect(it.round()).rejects.toThrow('unavailable');
    expect([await it.isThere(older), await it.isThere(newer), await ann.isRefused()]).toEqual([true, true, false]);
  });

  test('decides nothing where the answer to another one of the person has no meaning', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const [older, newer] = [await ann.session('older', 55), await ann.session('newer', 50)];
    it.provider['older'] = refused;
    it.provider['newer'] = refusedFor('invalid_request');
    await it.round();
    expect([await it.isThere(older), await it.isThere(newer), await ann.isRefused()]).toEqual([true, true, false]);
  });

  test('ends its session alone where the person has signed in meanwhile', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const [session, other] = [await ann.session('first', 50), await ann.session(null, 50, { method: 'password' })];
    it.provider['first'] = refused;
    it.before = ann.hasAnswer;
    await it.round();
    expect([await it.isThere(session), await it.isThere(other), await ann.isRefused()]).toEqual([false, true, false]);
  });

  test('is heard again where the store could not take what follows from it', async () => {
    let isAway = true;
    const isOfUser = (write: object): boolean =>
      'put' in write && String(write.put).startsWith(KEYS.user.under()) && isAway;
    await using it = await renewals(backend, (store: Store) =>
      wrappedStore(store, {
        commit: async (change) => {
          const isRefusal = change.write.some(isOfUser) && change.write.some((write) => 'remove' in write);
          if (isRefusal) throw new StoreUnavailable('failed', 'It is away.');
          return await store.commit(change);
        },
      }),
    );
    const ann = await it.person();
    const session = await ann.session('first', 50);
    it.provider['first'] = refused;
    await expect(it.round()).rejects.toThrow('away');
    expect([await it.isThere(session), await ann.isRefused()]).toEqual([true, false]);
    isAway = false;
    await it.claimIsOver(session);
    await it.round();
    expect([await it.isThere(session), await ann.isRefused()]).toEqual([false, true]);
  });

  test('leaves no access token that is made at the instant of it', async () => {
    await using it = await renewals(backend);
    for (let turn = 0; turn < 5; turn += 1) {
      const ann = await it.person(`ann-${turn}`);
      await ann.session(`token-${turn}`, 50);
      await ann.madeKey();
      it.provider[`token-${turn}`] = refused;
      const made = await Promise.allSettled([it.round(), ...Array.from({ length: 4 }, () => ann.madeToken())]);
      expect([made[0]?.status, await ann.isRefused(), await ann.tokens()]).toEqual(['fulfilled', true, 0]);
    }
  });

  test('is overtaken by no answer that was asked for before, and by one that is asked for later', async () => {
    await using it = await renewals(backend);
    const { core, providerUsers } = it;
    const ann = await it.person();
    await ann.session('first', 50);
    it.provider['first'] = refused;
    await it.round();
    const { identities, mapped } = await ann.record();
    const [identity] = identities;
    if (!identity || mapped?.asked === undefined) throw new Error('The refusal is not there.');
    const origin = { actor: 'muster', requestId: 'x', at: core.clock.now(), deadline: core.clock.monotonic() + 10_000 };
    const answer = (asked: number) => ({ identity, mapped: { ...mapped, at: core.clock.now(), asked } });
    for (const asked of [mapped.asked - 1, mapped.asked]) {
      await providerUsers.renew(origin, ann.userId, answer(asked));
      expect(await ann.isRefused()).toBe(true);
    }
    await providerUsers.renew(origin, ann.userId, answer(mapped.asked + 1));
    expect(await ann.isRefused()).toBe(false);
  });
});

onEachBackend('a role that the settings give', (backend) => {
  const leftBy = async (rules: readonly GroupRule[]) => {
    await using it = await renewals(backend);
    const ann = await it.person();
    await ann.session('first', 50);
    const works = await ann.madeKey();
    it.rules = rules;
    await it.round();
    return { accounts: (await ann.record()).mapped?.accounts, works: await works() };
  };

  test('goes where there are no rules at all, and the API keys stay', async () => {
    expect(await leftBy([])).toEqual({ accounts: [], works: true });
  });

  test('goes with the API keys where it is no more among the rules', async () => {
    expect(await leftBy([{ group: 'platform', role: 'operator' }])).toEqual({ accounts: [], works: false });
  });
});

onEachBackend('a round of renewals', (backend) => {
  test('is stopped by the fault of no person, and ends what the provider was silent about', async () => {
    await using it = await renewals(backend);
    // Eight, who are older, are asked about together.
    for (let n = 0; n < 8; n += 1) {
      const failing = await it.person(`failing-${n}`, { minutesAgo: 55 });
      await failing.session(`failing-${n}`, 55);
      it.provider[`failing-${n}`] = () => {
        throw new TypeError('a fault of our own');
      };
    }
    const silent = await it.person('silent', { minutesAgo: 70 });
    const over = await silent.session('silent', 70);
    const damaged = await it.person('damaged');
    const unread = await damaged.session('damaged', 50);
    await it.rewriteRefresh(unread, (record) => ({ ...record, token: 'damaged' }));
    const ann = await it.person();
    const session = await ann.session('first', 50);
    it.provider['first'] = refused;
    await it.round();
    expect([await it.isThere(session), await ann.isRefused(), await it.isThere(over)]).toEqual([false, true, false]);
    expect([await it.isThere(unread), await damaged.isRefused(), it.errors.length]).toEqual([true, false, 8]);
  });
});

const fault = (fields: object): Error => Object.assign(new Error('x'), fields);

test.each([
  ['a refusal', fault({ error: 'invalid_grant', status: 400 }), true],
  ['503 with an HTML body, as of Envoy', fault({ cause: new Response('<html>', { status: 503 }) }), false],
  ['the words of a refusal by a server in trouble', fault({ error: 'invalid_grant', status: 503 }), false],
  ['a token that is malformed', fault({ error: 'invalid_request', status: 400 }), false],
])('a refusal is %s: %s', async (_name, cause, isFinal) => {
  const failed = guarded('refused', () => Promise.reject(cause));
  await expect(failed).rejects.toMatchObject({ isFinal });
});
