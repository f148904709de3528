import { expect, test } from 'vitest';
import { KEYS } from '../../src/domain/records/keys.ts';
import { guarded, isUnspent } from '../../src/oidc/provider-fault.ts';
import { StoreUnavailable, type Store } from '../../src/store/port.ts';
import { away, lost, MINUTE_MS, refused, refusedFor, renewals } from '../support/offboarding/renewals.ts';
import { rewrite } from '../support/panel/panel-users.ts';
import { onEachBackend } from '../support/store/backends.ts';
import { wrappedStore } from '../support/store/wrapped-store.ts';
import { until } from '../support/time/until.ts';

/* A refused refresh token is a departure only where it is of the person, and not of a session or of a lost answer. */

onEachBackend('a refused refresh token', (backend) => {
  test('of the only session is a departure', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const session = await ann.session('first', 50);
    it.provider['first'] = refused;
    await it.round();
    expect([await it.isThere(session), await ann.accounts()]).toEqual([false, 0]);
  });

  test.each([
    ['without offline access', { clientId: 'muster', offline: false }],
    ['of which no version has noted the grant', {}],
  ])('%s ends its session, and is no departure', async (_name, grant) => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const session = await ann.session('first', 50, grant);
    it.provider['first'] = refused;
    await it.round();
    expect([await it.isThere(session), await ann.accounts()]).toEqual([false, 1]);
  });

  test('keeps what was granted with it through renewals', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const session = await ann.session('first', 50);
    await it.round();
    expect(await it.refreshRecord(session)).toMatchObject({ clientId: 'muster', offline: true });
  });

  test('of another client is not even asked for', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const session = await ann.session('first', 50, { clientId: 'before', offline: true });
    it.provider['first'] = refused;
    await it.round();
    expect([await it.isThere(session), await ann.accounts(), it.asked]).toEqual([true, 1, []]);
  });

  test('ends its session alone where another one of the person is renewed', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const [older, newer] = [await ann.session('older', 55), await ann.session('newer', 50)];
    it.provider['newer'] = refused;
    await it.round();
    expect([await it.isThere(older), await it.isThere(newer), await ann.accounts()]).toEqual([true, false, 1]);
  });

  test('of all sessions is a departure, and is none where the newest has said nothing', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const [older, newer] = [await ann.session('older', 55), await ann.session('newer', 50)];
    it.provider['older'] = refused;
    it.provider['newer'] = refusedFor('invalid_client');
    await it.round();
    expect([await it.isThere(older), await it.isThere(newer), await ann.accounts()]).toEqual([true, true, 1]);
    it.provider['newer'] = refused;
    await it.round();
    expect([await it.isThere(older), await it.isThere(newer), await ann.accounts()]).toEqual([false, false, 0]);
  });

  test('of an earlier sign-in is none where the newest one has no token', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const [older, newer] = [await ann.session('older', 55), await ann.session('newer', 50, null)];
    it.provider['older'] = refused;
    await it.round();
    expect([await it.isThere(older), await it.isThere(newer), await ann.accounts()]).toEqual([false, true, 1]);
  });

  test('of an earlier question is none where a later sign-in is renewed', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const asked = await ann.session('question', 55);
    const newer = await ann.session('newer', 50);
    await signedOut(it, ann.userId, asked);
    it.provider['question'] = refused;
    await it.round();
    expect([await it.isThere(newer), await ann.accounts(), it.asked]).toEqual([true, 1, ['newer']]);
    expect([await it.refreshRecord(asked), (await ann.record()).toAsk]).toEqual([undefined, undefined]);
  });

  test('is heard again while another token of the person has said nothing, and the question stays', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const older = await ann.session('older', 55);
    const asked = await ann.session('question', 50);
    await signedOut(it, ann.userId, asked);
    it.provider['question'] = refused;
    it.provider['older'] = refusedFor('invalid_client');
    await it.round();
    expect([await it.isThere(older), await ann.accounts(), (await ann.record()).toAsk]).toMatchObject([
      true,
      1,
      { sessionId: asked },
    ]);
    it.provider['older'] = refused;
    await it.round();
    expect([await it.isThere(older), await ann.accounts(), (await ann.record()).toAsk]).toEqual([false, 0, undefined]);
  });

  test('is no departure where an answer to it was lost before, and is one where no request was dealt with', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const session = await ann.session('first', 50);
    it.provider['first'] = lost;
    await expect(it.round()).rejects.toThrow('unavailable');
    await it.claimIsOver(session);
    it.provider['first'] = refused;
    await it.round();
    expect([await it.isThere(session), await ann.accounts()]).toEqual([true, 1]);

    const bob = await it.person('bob');
    const kept = await bob.session('second', 50);
    it.provider['second'] = away;
    // Nobody else is due, so that the provider is away.
    await ann.hasAnswer();
    await it.round().catch(() => undefined);
    it.provider['second'] = refused;
    await it.round();
    expect([await it.isThere(kept), await bob.accounts()]).toEqual([false, 0]);
  });

  test.each([
    ['claimed by a replica that nobody heard of again', { claimedUntil: 1 }],
    ['looked after by nobody for hours, as that of a copy of the store', { at: 1 }],
  ])('of a token that was %s is no departure', async (_name, change) => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const session = await ann.session('first', 50);
    await it.rewriteRefresh(session, (record) => ({ ...record, ...change }));
    it.provider['first'] = away;
    await expect(it.round()).rejects.toThrow('unavailable');
    // What is not sure does not become so by a look.
    it.provider['first'] = refused;
    await it.round();
    expect([await it.isThere(session), await ann.accounts()]).toEqual([true, 1]);
  });

  test('is no departure of a person who has signed in meanwhile', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const session = await ann.session('first', 50);
    it.provider['first'] = refused;
    it.before = ann.hasAnswer;
    await it.round();
    expect([await it.isThere(session), await ann.accounts()]).toEqual([true, 1]);
  });

  test.each(['the commit that ends the rights', 'the release of the token, too'])(
    'is a departure also where the store could not take at first %s',
    async (which) => {
      let isAway = false;
      const isOfUser = (key: string): boolean => key.startsWith(KEYS.user.under());
      const isOfToken = (key: string): boolean => key.startsWith(KEYS.refresh.under());
      let commitsOfToken = 0;
      const refusing = (key: string): boolean =>
        isOfUser(key) || (which.startsWith('the release') && isOfToken(key) && (commitsOfToken += 1) > 1);
      await using it = await renewals(backend, (store: Store) =>
        wrappedStore(store, {
          commit: async (change) => {
            if (isAway && change.write.some((write) => 'put' in write && refusing(write.put))) {
              throw new StoreUnavailable('failed', 'It is away.');
            }
            return await store.commit(change);
          },
        }),
      );
      const ann = await it.person();
      const session = await ann.session('first', 50);
      it.provider['first'] = refused;
      isAway = true;
      await expect(it.round()).rejects.toThrow();
      expect(await it.isThere(session)).toBe(true);
      isAway = false;
      await it.claimIsOver(session);
      await it.round();
      expect([await it.isThere(session), await ann.accounts()]).toEqual([false, 0]);
    },
  );
});

/** The provider tells of a logout, and the question is due. */
async function signedOut(it: Awaited<ReturnType<typeof renewals>>, userId: string, ...sessionIds: string[]) {
  const { core, departures } = it;
  const at = core.clock.now() - MINUTE_MS;
  const deadline = core.clock.monotonic() + 10_000;
  await departures.endSessions({ actor: 'muster', requestId: 'x', at, deadline }, userId, new Set(sessionIds));
  await until(() => sessionIds.every((id) => core.fleet.memory.session(id) === undefined));
}

onEachBackend('a role that the settings give', (backend) => {
  test.each([
    ['goes where there are no rules at all, and the API keys stay', [], true],
    ['goes with the API keys where it is no more among the rules', [{ group: 'platform', role: 'operator' }], false],
  ] as const)('%s', async (_name, rules, stays) => {
    await using it = await renewals(backend);
    const ann = await it.person();
    await ann.session('first', 50);
    const works = await ann.madeKey();
    it.rules = rules;
    await it.round();
    expect([await ann.accounts(), await works()]).toEqual([0, stays]);
  });
});

onEachBackend('a question to the provider', (backend) => {
  test('is asked with the newest of the ended sessions that has a token', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const [older, newer] = [await ann.session('older', 55), await ann.session('newer', 50, null)];
    await signedOut(it, ann.userId, older, newer);
    expect((await ann.record()).toAsk).toMatchObject({ sessionId: older });
    expect(await it.refreshRecord(older)).toBeDefined();
    it.provider['older'] = refused;
    await it.round();
    expect([await ann.accounts(), (await ann.record()).toAsk]).toEqual([0, undefined]);
  });

  test('stays that of the later sign-in, whichever session ends last', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const [older, newer] = [await ann.session('older', 55), await ann.session('newer', 50)];
    await signedOut(it, ann.userId, newer);
    await signedOut(it, ann.userId, older);
    expect((await ann.record()).toAsk).toMatchObject({ sessionId: newer });
    expect([await it.refreshRecord(newer), await it.refreshRecord(older)]).toEqual([expect.anything(), undefined]);
  });

  test('of another provider, or of a token that is damaged, is closed', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const session = await ann.session('first', 50);
    await signedOut(it, ann.userId, session);
    const elsewhere = { issuer: 'https://before.example.com', subject: 'ann' };
    const { identities, toAsk } = await ann.record();
    const changed = { identities: [...identities, elsewhere], toAsk: { ...toAsk, identity: elsewhere } };
    await rewrite({ store: it.core.store }, KEYS.user(ann.userId), (user) => ({ ...user, ...changed }));
    await it.round();
    expect([(await ann.record()).toAsk, await ann.accounts()]).toEqual([undefined, 1]);

    const damaged = await ann.session('second', 50);
    await signedOut(it, ann.userId, damaged);
    await it.rewriteRefresh(damaged, (record) => ({ ...record, token: 'damaged' }));
    await it.round();
    expect([(await ann.record()).toAsk, await ann.accounts()]).toEqual([undefined, 1]);
  });

  test('waits for a provider that refuses the client, and is closed after many answers without a meaning', async () => {
    await using it = await renewals(backend);
    const ann = await it.person();
    const session = await ann.session('first', 50);
    await signedOut(it, ann.userId, session);
    it.provider['first'] = refusedFor('invalid_client');
    for (let round = 0; round < 40; round += 1) await it.round();
    expect((await ann.record()).toAsk).toBeDefined();
    it.provider['first'] = refusedFor('invalid_request');
    for (let round = 0; round < 29; round += 1) await it.round();
    expect((await ann.record()).toAsk).toBeDefined();
    await it.round();
    expect([(await ann.record()).toAsk, await ann.accounts()]).toEqual([undefined, 1]);
  });
});

onEachBackend('a round of renewals', (backend) => {
  test('asks about whoever waits longest, also where others always fail', async () => {
    await using it = await renewals(backend);
    // Eight, who are older and of whom no answer comes, are asked together.
    for (let n = 0; n < 8; n += 1) {
      const failing = await it.person(`failing-${n}`, { minutesAgo: 55 });
      await failing.session(`failing-${n}`, 55);
      it.provider[`failing-${n}`] = away;
    }
    const ann = await it.person();
    const session = await ann.session('first', 50);
    it.provider['first'] = refused;
    await expect(it.round()).rejects.toThrow('unavailable');
    await it.round().catch(() => undefined);
    expect([await it.isThere(session), await ann.accounts()]).toEqual([false, 0]);
  });

  test('is not stopped by the fault of one person', async () => {
    await using it = await renewals(backend, (store: Store) =>
      wrappedStore(store, {
        commit: async (change) => {
          const isHis = change.write.some((write) => 'put' in write && write.put.includes('failing'));
          if (isHis) throw new TypeError('a fault');
          return await store.commit(change);
        },
      }),
    );
    const silent = await it.person('silent', { minutesAgo: 70 });
    await silent.session('silent', 70);
    const ann = await it.person();
    const session = await ann.session('first', 50);
    it.provider['first'] = refused;
    it.provider['silent'] = () => {
      throw new TypeError('a fault of our own');
    };
    await it.round();
    expect([await it.isThere(session), await ann.accounts()]).toEqual([false, 0]);
  });
});

const fault = (fields: object): Error => Object.assign(new Error('x'), fields);

test.each([
  ['a connection that was refused', fault({ code: 'ECONNREFUSED' }), true],
  ['503, which a proxy says also where it lost the answer', fault({ status: 503 }), false],
  ['503 in HTML', fault({ cause: fault({ cause: new Response('<html>', { status: 503 }) }) }), false],
  ['429, which is said before a request is dealt with', fault({ status: 429 }), true],
  ['a gateway that waited in vain: the provider may have answered', fault({ status: 504 }), false],
  ['a client that is not known', fault({ error: 'invalid_client', status: 401 }), true],
  ['a challenge of HTTP', fault({ code: 'OAUTH_WWW_AUTHENTICATE_CHALLENGE', status: 401 }), true],
  ['a refusal', fault({ error: 'invalid_grant', status: 400 }), true],
  ['a refusal that a server in trouble says', fault({ error: 'invalid_grant', status: 500 }), false],
  ['a time that ran out', fault({ name: 'TimeoutError' }), false],
])('a token is as it was after %s: %s', async (_name, cause, isAsItWas) => {
  const failed = guarded('refused', () => Promise.reject(cause), isUnspent);
  await expect(failed).rejects.toMatchObject({ isUnspent: isAsItWas });
});

test.each([
  ['a refusal', fault({ error: 'invalid_grant', status: 400 }), true],
  ['503 with an HTML body, as of Envoy', fault({ cause: new Response('<html>', { status: 503 }) }), false],
  ['the words of a refusal by a server in trouble', fault({ error: 'invalid_grant', status: 503 }), false],
  ['a token that is malformed', fault({ error: 'invalid_request', status: 400 }), false],
])('a refusal is %s: %s', async (_name, cause, isFinal) => {
  const failed = guarded('refused', () => Promise.reject(cause), isUnspent);
  await expect(failed).rejects.toMatchObject({ isFinal });
});
