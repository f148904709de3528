import { expect, test } from 'vitest';
import { Secret } from '../../src/domain/credentials/secret.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { createRefreshTokens } from '../../src/domain/sessions/refresh-tokens.ts';
import { createProviderDepartures } from '../../src/domain/users/provider-departures.ts';
import { createProviderUsers } from '../../src/domain/users/provider-users.ts';
import { guarded, isUnspent, ProviderFault } from '../../src/oidc/provider-fault.ts';
import { createRenewRoles } from '../../src/oidc/renew-roles.ts';
import { StoreUnavailable, type Store } from '../../src/store/port.ts';
import { putUser, rewrite, signedIn } from '../support/panel/panel-users.ts';
import { openedCore } from '../support/service/opened-core.ts';
import { onEachBackend, type Backend } from '../support/store/backends.ts';
import { wrappedStore } from '../support/store/wrapped-store.ts';
import { until } from '../support/time/until.ts';

/* A refused refresh token is a departure only where it is of the person, and not of a session or of a lost answer. */

const IDENTITY = { issuer: 'https://id.example.com', subject: 'ann' };
const MINUTE_MS = 60_000;
const OWNER = { operator: false, accounts: [{ accountId: 'a1b2c3d4e5f6g7h8', role: 'owner' as const }] };
const refused = (): never => {
  throw new ProviderFault('refused', Object.assign(new Error('refused'), { error: 'invalid_grant' }), true);
};

/** The answers of the provider by the text of the token. */
type Provider = Record<string, () => void>;

async function person(backend: Backend, wrapStore?: (store: Store) => Store) {
  const it = await openedCore(backend, wrapStore ? { wrapStore } : {});
  const { core, domain } = it;
  const { store, clock } = core;
  const at = clock.now() - 50 * MINUTE_MS;
  const userId = await putUser(store, { record: { identities: [IDENTITY], mapped: { ...OWNER, at } } });
  const refreshTokens = createRefreshTokens(core);
  const session = async (token: string, minutesAgo: number) => {
    const createdAt = clock.now() - minutesAgo * MINUTE_MS;
    const record = { method: 'provider' as const, identity: IDENTITY, createdAt };
    const { sessionId } = await signedIn(store, userId, record);
    await refreshTokens.keep(sessionId, new Secret(token), { clientId: 'muster', offline: true });
    await until(() => core.fleet.memory.session(sessionId) !== undefined);
    return sessionId;
  };
  const provider: Provider = {};
  let during = async (): Promise<void> => undefined;
  const round = createRenewRoles({
    ...core,
    ...domain,
    refreshTokens,
    providerUsers: createProviderUsers(domain.userDeps),
    departures: createProviderDepartures(domain.userDeps),
    clientId: 'muster',
    groupsClaim: 'groups',
    groups: () => [{ group: 'owners', role: 'owner', accountId: 'a1b2c3d4e5f6g7h8' }],
    client: {
      async renew(token) {
        await during();
        provider[token.reveal()]?.();
        const claims = { groups: ['owners'] };
        return { ...IDENTITY, sid: undefined, claims, authenticatedAt: undefined, methods: [], refreshToken: token };
      },
    },
  });
  return {
    session,
    provider,
    round: () => round(new AbortController().signal),
    isThere: async (sessionId: string) => (await store.get(KEYS.session(sessionId))) !== undefined,
    /** While the provider is asked, a sign-in has its answer. */
    signInDuring: async (round: () => Promise<void>) => {
      during = () =>
        rewrite({ store }, KEYS.user(userId), (record) => ({ ...record, mapped: { ...OWNER, at: at + 1 } }));
      await round();
    },
    /** A minute later, as the claim of a token has it. */
    claimIsOver: (sessionId: string) =>
      rewrite({ store }, KEYS.refresh(sessionId), ({ claimedUntil: _over, ...record }) => record),
    accounts: async () => {
      const { value = '{}' } = (await store.get(KEYS.user(userId))) ?? {};
      return (JSON.parse(value) as { mapped: typeof OWNER }).mapped.accounts.length;
    },
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  };
}

const lost = (): never => {
  throw new ProviderFault('unavailable', { name: 'TimeoutError' });
};

onEachBackend('a refused refresh token', (backend) => {
  test('of the only session is a departure', async () => {
    await using one = await person(backend);
    const session = await one.session('first', 50);
    one.provider['first'] = refused;
    await one.round();
    expect([await one.isThere(session), await one.accounts()]).toEqual([false, 0]);
  });

  test('ends its session alone where another one of the person is renewed', async () => {
    await using one = await person(backend);
    const [older, newer] = [await one.session('older', 55), await one.session('newer', 50)];
    one.provider['newer'] = refused;
    await one.round();
    expect([await one.isThere(older), await one.isThere(newer), await one.accounts()]).toEqual([true, false, 1]);
  });

  test('of all sessions is a departure, and is none where the newest has said nothing', async () => {
    await using one = await person(backend);
    const [older, newer] = [await one.session('older', 55), await one.session('newer', 50)];
    one.provider['older'] = refused;
    one.provider['newer'] = () => {
      throw new ProviderFault('refused', { error: 'invalid_client' }, true);
    };
    await one.round();
    expect([await one.isThere(older), await one.isThere(newer), await one.accounts()]).toEqual([true, true, 1]);
    one.provider['newer'] = refused;
    await one.round();
    expect([await one.isThere(older), await one.isThere(newer), await one.accounts()]).toEqual([false, false, 0]);
  });

  test('is no departure where an answer to it was lost before, and is one where no request was dealt with', async () => {
    await using one = await person(backend);
    const session = await one.session('first', 50);
    one.provider['first'] = lost;
    await expect(one.round()).rejects.toThrow('unavailable');
    await one.claimIsOver(session);
    one.provider['first'] = refused;
    await one.round();
    expect([await one.isThere(session), await one.accounts()]).toEqual([true, 1]);

    await using other = await person(backend);
    const kept = await other.session('first', 50);
    other.provider['first'] = () => {
      throw new ProviderFault('unavailable', undefined, true);
    };
    await expect(other.round()).rejects.toThrow('unavailable');
    other.provider['first'] = refused;
    await other.round();
    expect([await other.isThere(kept), await other.accounts()]).toEqual([false, 0]);
  });

  test('is no departure of a person who has signed in meanwhile', async () => {
    await using one = await person(backend);
    const session = await one.session('first', 50);
    one.provider['first'] = refused;
    await one.signInDuring(one.round);
    expect([await one.isThere(session), await one.accounts()]).toEqual([true, 1]);
  });

  test('is a departure also where the store could not take it at first', async () => {
    let isAway = false;
    await using one = await person(backend, (store) =>
      wrappedStore(store, {
        commit: async (change) => {
          const isOfUser = change.write.some((write) => 'put' in write && write.put.startsWith(KEYS.user.under()));
          if (isAway && isOfUser) throw new StoreUnavailable('failed', 'It is away.');
          return await store.commit(change);
        },
      }),
    );
    const session = await one.session('first', 50);
    one.provider['first'] = refused;
    isAway = true;
    await expect(one.round()).rejects.toThrow();
    expect(await one.isThere(session)).toBe(true);
    isAway = false;
    await one.claimIsOver(session);
    await one.round();
    expect([await one.isThere(session), await one.accounts()]).toEqual([false, 0]);
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
