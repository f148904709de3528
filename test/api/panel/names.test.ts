import { describe, expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { loginKey, loginKeys } from '../../../src/domain/users/user-state.ts';
import { createPasswords } from '../../../src/domain/passwords/password-hash.ts';
import { Secret } from '../../../src/domain/credentials/secret.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { ask, panelMuster, putUser, signedIn } from '../../support/panel/panel-users.ts';
import {
  asOperator,
  enteredUser,
  GOOD_PASSWORD,
  OTHER_PASSWORD,
  tokenOf,
  Visitor,
} from '../../support/panel/visitor.ts';
import { createApp, tenant, type Answer, type Muster } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';

/* Names of people, accounts and keys, and names to sign in with: what is refused, and which are one. */

const codeOf = ({ status, body }: Answer): unknown => [status, (body['error'] as { code?: string } | undefined)?.code];

describe('a name', () => {
  const BAD = ['Ann\u202eexe', 'A\u200bnn', 'A\u0000nn', '\u2066Ann', 'A\u200dnn', '\u3164', ' '];

  test('of an account, a key or a person is refused with what is not seen, and taken trimmed', async () => {
    await using panel = await panelMuster();
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const operator = await signedIn(store, { operator: true });
    let count = 0;
    const creations: Readonly<Record<string, (name: string) => Promise<Answer>>> = {
      'an account': (name) =>
        asOperator(muster, '/accounts', { method: 'POST', body: { name, entitlement: 'standard' } }),
      'an account again': (name) => asOperator(muster, `/accounts/${accountId}`, { method: 'PATCH', body: { name } }),
      'an API key': (name) =>
        asOperator(muster, `/accounts/${accountId}/api-keys`, {
          method: 'POST',
          body: { name: name.trim() === '' ? '\u202e' : name },
        }),
      'an API key in the panel': (name) =>
        ask(panel, operator, `/accounts/${accountId}/api-keys`, {
          method: 'POST',
          body: { name: name.trim() === '' ? '\u202e' : name },
        }),
      'a user': (name) =>
        asOperator(muster, '/users', { method: 'POST', body: { name, login: `user-${(count += 1)}@example.com` } }),
      'a user again': (name) => asOperator(muster, `/users/${operator.userId}`, { method: 'PATCH', body: { name } }),
      oneself: (name) => ask(panel, operator, '/me', { method: 'PATCH', body: { name } }),
    };
    for (const [what, create] of Object.entries(creations)) {
      for (const name of BAD) {
        const answer = await create(name);
        expect([what, name, codeOf(answer)]).toEqual([what, name, [400, 'invalid_request']]);
        expect(answer.text).not.toContain(name === ' ' ? '  ' : name);
      }
      const good = await create(' Zoë नमस्ते क्\u200dष ');
      expect([what, good.status < 300, good.text]).toEqual([
        what,
        true,
        expect.stringContaining('"Zoë नमस्ते क्\u200dष"'),
      ]);
    }
    // An app's name is the owner's own (A1).
    const { apiKey } = await tenant(muster);
    for (const name of [...BAD, ' x ']) expect((await createApp(muster, apiKey, name)).appId).toMatch(/^[a-z0-9]{20}$/);
  });
});

onEachBackend('names to sign in with', (backend) => {
  const create = (muster: Muster, login: string): Promise<Answer> =>
    asOperator(muster, '/users', { method: 'POST', body: { name: 'Somebody', login } });
  const signIn = (muster: Muster, login: string, password = GOOD_PASSWORD): Promise<Answer> =>
    new Visitor(muster).post('/sign-in/password', { login, password });

  test('are one whatever their case, width and composition, and the blanks around them', async () => {
    await using muster = await backend.fresh();
    await enteredUser(muster, { login: ' Zoë@Example.com ' });
    for (const login of ['zoë@example.com', 'ZOE\u0308@EXAMPLE.COM', ' zoë@ｅｘample.com']) {
      expect([login, codeOf(await create(muster, login))]).toEqual([login, [409, 'conflict']]);
      expect([login, (await signIn(muster, login)).status]).toEqual([login, 200]);
    }
    expect((await create(muster, 'zoe@example.com')).status).toBe(201);
    expect((await signIn(muster, 'zoe@example.com')).status).toBe(401);
  });

  test('that are none are refused, of the operator and of whoever opens a link', async () => {
    await using panel = await panelMuster(backend);
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const owner = await signedIn(store, { accounts: [{ accountId, role: 'owner' }] });
    const body = { role: 'viewer' };
    const invited = await ask(panel, owner, `/accounts/${accountId}/invitations`, { method: 'POST', body });
    const token = tokenOf((invited.body['link'] as { url: string } | undefined)?.url ?? invited.body['url']);
    const accept = (login: string): Promise<Answer> =>
      new Visitor(muster).post('/links/accept', { token, name: 'Bob', login, password: GOOD_PASSWORD });
    for (const login of ['', ' ', 'a\u202eb', 'a\u200db', 'henryⅣ', '♚', 'דנהa', '\u0000']) {
      expect([login, codeOf(await create(muster, login))]).toEqual([login, [400, 'invalid_request']]);
      expect([login, codeOf(await accept(login))]).toEqual([login, [400, 'invalid_request']]);
    }
    expect((await accept('דנה@example.com')).status).toBe(200);
    expect(codeOf(await create(muster, 'דנה@EXAMPLE.com'))).toEqual([409, 'conflict']);
  });

  /** Puts a user as an earlier version would have: under the one key that it knew. */
  async function putFormer(store: Store, login: string, password: string): Promise<string> {
    const random = { bytes: (count: number) => Buffer.alloc(count, 7) };
    using place = createPasswords({ random }).enter({ known: 'them' }) ?? expect.unreachable('nobody waits');
    const hash = await place.hash(new Secret(password));
    const userId = await putUser(store, { record: { login, password: { hash, at: 1 } } });
    const [former = expect.unreachable('a name has a key')] = loginKeys(login);
    const { outcome } = await store.commit({ expect: [expectAbsent(former)], write: [put(former, { userId })] });
    expect(outcome).toBe('committed');
    return userId;
  }

  test('two of earlier users that are one now each lead to their own user; a new one is refused', async () => {
    await using panel = await panelMuster(backend);
    const { muster, store } = panel;
    // In lower case the first is composed to the second, which an earlier comparison did not see.
    const [first, second] = ['H\u0331', '\u1e96'];
    expect(loginKeys(first)).toHaveLength(2);
    expect(loginKey(first)).toBe(loginKey(second));
    const one = await putFormer(store, first, GOOD_PASSWORD);
    expect(codeOf(await create(muster, second))).toEqual([409, 'conflict']);
    const two = await putFormer(store, second, OTHER_PASSWORD);
    expect([(await signIn(muster, first)).status, (await signIn(muster, second, OTHER_PASSWORD)).status]).toEqual([
      200, 200,
    ]);
    expect([(await signIn(muster, second)).status, (await signIn(muster, first, OTHER_PASSWORD)).status]).toEqual([
      401, 401,
    ]);
    expect(codeOf(await create(muster, first))).toEqual([409, 'conflict']);
    // The deletion of one leaves the name of the other, and that is taken until it goes as well.
    expect((await asOperator(muster, `/users/${one}`, { method: 'DELETE' })).status).toBe(204);
    expect((await signIn(muster, second, OTHER_PASSWORD)).status).toBe(200);
    expect(codeOf(await create(muster, first))).toEqual([409, 'conflict']);
    expect((await asOperator(muster, `/users/${two}`, { method: 'DELETE' })).status).toBe(204);
    expect((await store.list({ prefix: 'login/', limit: 10 })).entries.map(({ key }) => key)).not.toContain(
      loginKey(first),
    );
    expect((await create(muster, first)).status).toBe(201);
    expect(await store.get(KEYS.user(two))).toBeUndefined();
  });
});
