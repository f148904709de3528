import { expect, test } from 'vitest';
import { OPERATIONS } from '../../../src/api/panel/routes.ts';
import { operationRequest } from '../../support/panel/operation-request.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { openEvents } from '../../support/panel/event-stream.ts';
import { ask, panelMuster, rewrite, signedIn } from '../../support/panel/panel-users.ts';
import { withPasskey } from '../../support/panel/passkeys.ts';
import {
  asOperator,
  codeOf,
  enteredUser,
  GOOD_PASSWORD,
  OTHER_PASSWORD,
  tokenOf,
  Visitor,
} from '../../support/panel/visitor.ts';
import { tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';

/* MUSTER_PANEL_SECOND_FACTOR: whoever has none may only add one. */

const policy = (value: string) => ({ env: { MUSTER_PANEL_SECOND_FACTOR: value } });

const SECOND_FACTOR = { secondFactor: 'provider' } as const;

const isLetIn = async (visitor: Visitor): Promise<boolean> => {
  const asked = await visitor.ask('/me/sessions');
  if (asked.status !== 200) expect([asked.status, codeOf(asked)]).toEqual([403, 'second_factor_required']);
  return asked.status === 200;
};

onEachBackend('a second factor that the installation asks for', (backend) => {
  test('without one every operation is refused but those that set it up', async () => {
    await using panel = await panelMuster(backend, policy('all'));
    const { accountId } = await tenant(panel.muster);
    const operator = await signedIn(panel.store, { operator: true });
    const open: string[] = [];
    for (const operation of OPERATIONS.filter(({ access }) => access !== 'anyone')) {
      const { path, request } = operationRequest(operation, accountId);
      const session = operation.id === 'signOut' ? await signedIn(panel.store, operator.userId) : operator;
      const asked = await ask(panel, session, path, request);
      if (codeOf(asked) !== 'second_factor_required') open.push(operation.id);
    }
    expect(open.sort()).toEqual([
      'addPasskey',
      'beginPasskey',
      'beginPasskeyProof',
      'listPasskeys',
      'proveByPasskey',
      'proveByPassword',
      'proveByProvider',
      'readMe',
      'readProof',
      'signOut',
    ]);
  });

  test('a passkey is added and lets the session in; a sign-in with it has both, and a removed one is none', async () => {
    await using muster = await backend.fresh(policy('all'));
    const { visitor, login } = await enteredUser(muster);
    expect((await visitor.ask('/me')).body['session']).toMatchObject({ secondFactorRequired: true });
    expect(await isLetIn(visitor)).toBe(false);
    const authenticator = await withPasskey(visitor);
    expect(await isLetIn(visitor)).toBe(true);
    expect((await visitor.ask('/me')).body['session']).toMatchObject({ secondFactorRequired: false });
    const other = new Visitor(muster);
    const first = await other.post('/sign-in/password', { login, password: GOOD_PASSWORD });
    await other.post('/sign-in/passkey', { response: authenticator.get(first.body['options'], other.origin) });
    expect(await isLetIn(other)).toBe(true);
    expect((await other.ask(`/me/passkeys/${authenticator.id}`, { method: 'DELETE' })).status).toBe(204);
    expect([await isLetIn(other), await isLetIn(visitor)]).toEqual([false, false]);
    await withPasskey(other);
    expect(await isLetIn(other)).toBe(true);
  });

  test('a session of before the policy proves by a passkey that is there already', async () => {
    await using panel = await panelMuster(backend, policy('all'));
    const { visitor, userId } = await enteredUser(panel.muster);
    const authenticator = await withPasskey(visitor);
    const old = new Visitor(panel.muster, { browser: await signedIn(panel.store, userId) });
    expect(await isLetIn(old)).toBe(false);
    const begun = await old.post('/me/proof/passkey/options');
    const response = authenticator.get(begun.body['options'], old.origin);
    expect((await old.post('/me/proof/passkey', { response })).status).toBe(204);
    expect(await isLetIn(old)).toBe(true);
  });

  test('of operators alone: others go on, and whoever becomes one is asked at once; a reset is the way out', async () => {
    await using muster = await backend.fresh(policy('operators'));
    const { visitor, userId } = await enteredUser(muster);
    expect(await isLetIn(visitor)).toBe(true);
    const made = await asOperator(muster, `/users/${userId}`, { method: 'PATCH', body: { operator: true } });
    expect([made.status, await isLetIn(visitor)]).toEqual([200, false]);
    await withPasskey(visitor);
    expect(await isLetIn(visitor)).toBe(true);
    // The passkey is lost.
    const reset = await asOperator(muster, `/users/${userId}/reset`, { method: 'POST', body: {} });
    const lost = new Visitor(muster);
    const accepted = await lost.post('/links/accept', { token: tokenOf(reset.body['url']), password: OTHER_PASSWORD });
    expect([accepted.status, await isLetIn(lost)]).toEqual([200, false]);
    await withPasskey(lost);
    expect(await isLetIn(lost)).toBe(true);
  });

  test('an invitation is accepted by nobody who lacks one, and by its user with one', async () => {
    await using panel = await panelMuster(backend, policy('all'));
    const { accountId } = await tenant(panel.muster);
    const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] }, SECOND_FACTOR);
    const made = await ask(panel, owner, `/accounts/${accountId}/invitations`, {
      method: 'POST',
      body: { role: 'owner' },
    });
    const token = tokenOf(made.body['url']);
    const { visitor } = await enteredUser(panel.muster);
    const refused = await visitor.post('/links/accept', { token });
    expect([refused.status, codeOf(refused)]).toEqual([403, 'second_factor_required']);
    expect((await visitor.ask('/me')).body['accounts']).toEqual([]);
    await withPasskey(visitor);
    expect((await visitor.post('/links/accept', { token })).body).toEqual({ accountId });
    expect((await visitor.ask('/me')).body['accounts']).toMatchObject([{ accountId, role: 'owner' }]);
  });

  test('a stream of events ends with it, and another user’s goes on', async () => {
    await using panel = await panelMuster(backend, policy('all'));
    const { accountId } = await tenant(panel.muster);
    const member = { accounts: [{ accountId, role: 'viewer' }] } as const;
    const passkey = { id: 'a', publicKey: 'b', name: 'Laptop', createdAt: 1 };
    const ann = await signedIn(
      panel.store,
      { ...member, record: { passkeys: [passkey] } },
      { secondFactor: 'passkey' },
    );
    const bob = await signedIn(panel.store, member, SECOND_FACTOR);
    using lost = await openEvents(panel, ann, `?account=${accountId}`);
    using kept = await openEvents(panel, bob, `?account=${accountId}`);
    await rewrite(panel, KEYS.user(ann.userId), (record) => ({ ...record, name: 'Ann B.' }));
    await lost.has('hint', { account: '', topic: 'me' });
    expect(lost.isOver).toBe(false);
    await rewrite(panel, KEYS.user(ann.userId), (record) => ({ ...record, passkeys: [] }));
    await lost.has('ended');
    await rewrite(panel, KEYS.account(accountId), (record) => ({ ...record, name: 'Acme' }));
    await kept.has('hint', { account: accountId, topic: 'account' });
    expect(kept.isOver).toBe(false);
  });

  test('off asks nobody', async () => {
    await using muster = await backend.fresh(policy('off'));
    const { visitor } = await enteredUser(muster, { operator: true });
    expect(await isLetIn(visitor)).toBe(true);
  });
});
