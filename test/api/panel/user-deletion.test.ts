import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { identityKey } from '../../../src/domain/users/user-state.ts';
import type { Store } from '../../../src/store/port.ts';
import { Authenticator } from '../../support/panel/authenticator.ts';
import {
  ask,
  panelMuster,
  rewrite,
  signedIn,
  type Browser,
  type PanelMuster,
} from '../../support/panel/panel-users.ts';
import { asOperator, enteredUser, GOOD_PASSWORD, tokenOf, Visitor } from '../../support/panel/visitor.ts';
import { tenant, type Muster } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';

const removed = (muster: Pick<Muster, 'ops'>, userId: string) =>
  asOperator(muster, `/users/${userId}`, { method: 'DELETE' });

/** The token of an invitation to an account. */
async function invitation(panel: PanelMuster, owner: Browser, accountId: string): Promise<string> {
  const path = `/accounts/${accountId}/invitations`;
  const made = await ask(panel, owner, path, { method: 'POST', body: { role: 'owner' } });
  return tokenOf(made.body['url']);
}

/** The keys of all records but those that tell what happened. */
async function keysOf(store: Store): Promise<readonly string[]> {
  const keys: string[] = [];
  let after: string | undefined;
  do {
    const page = await store.list({ prefix: '', limit: 1000, after });
    keys.push(...page.entries.map(({ key }) => key));
    after = page.next;
  } while (after !== undefined);
  return keys.filter((key) => !/^(?:audit|chain|seal)\//.test(key));
}

onEachBackend('a user who is deleted', (backend) => {
  test('is out at once, and nothing of him is left but what the audits tell', async () => {
    await using panel = await panelMuster(backend);
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const owner = await signedIn(store, { accounts: [{ accountId, role: 'owner' }] });
    const before = await keysOf(store);
    const { visitor, userId, login } = await enteredUser(muster);
    const begun = await visitor.post('/me/passkeys/options');
    const response = new Authenticator().create(begun.body['options'], visitor.origin);
    expect((await visitor.post('/me/passkeys', { name: 'Laptop', response })).status).toBe(201);
    expect((await visitor.post('/links/accept', { token: await invitation(panel, owner, accountId) })).status).toBe(
      200,
    );
    const wrong = await new Visitor(muster).post('/sign-in/password', { login, password: 'x' });
    expect(wrong.status).toBe(401);
    // What the provider, its roles and the notes of uses would have left.
    const identity = { issuer: 'https://id.example.com', subject: 'ann' };
    await rewrite(panel, KEYS.user(userId), (record) => ({ ...record, identities: [identity] }));
    await rewrite(panel, identityKey(identity), () => ({ userId }));
    await rewrite(panel, KEYS.sessionUses(userId), () => ({ sessions: [] }));
    const session = (await visitor.ask('/me')).body['session'] as { sessionId: string };
    await rewrite(panel, KEYS.refresh(session.sessionId), () => ({ token: 'sealed' }));
    expect((await keysOf(store)).length).toBeGreaterThan(before.length + 7);

    const reset = await asOperator(muster, `/users/${userId}/reset`, { method: 'POST' });
    expect((await ask(panel, owner, `/users/${userId}`, { method: 'DELETE' })).status).toBe(403);
    expect((await removed(muster, userId)).status).toBe(204);
    expect(await visitor.me()).toBe(401);
    const signIn = await new Visitor(muster).post('/sign-in/password', { login, password: GOOD_PASSWORD });
    expect(signIn.status).toBe(401);
    const accept = { token: tokenOf(reset.body['url']), password: GOOD_PASSWORD };
    expect((await new Visitor(muster).post('/links/accept', accept)).status).toBe(400);
    expect((await removed(muster, userId)).status).toBe(404);

    const entries = async (path: string) => (await asOperator(muster, path)).body['entries'] as object[];
    const told = { action: 'member.removed', detail: { from: 'owner', userId } };
    expect(await entries(`/accounts/${accountId}/audit`)).toContainEqual(expect.objectContaining(told));
    const deleted = { action: 'user.deleted', actor: 'operator', detail: { userId } };
    expect(await entries('/audit')).toContainEqual(expect.objectContaining(deleted));
    // The link of the reset works no more, and goes when its hour is over.
    // What counts failed sign-ins by the keyed hashes of names tells of nobody, and is of a fixed size.
    const stays = (key: string): boolean =>
      ['link/', KEYS.signInNames.under()].some((prefix) => key.startsWith(prefix));
    const left = (await keysOf(store)).filter((key) => !before.includes(key) && !stays(key));
    // Records of the account and of the installation, in which the user does not stand any more. The loops write theirs
    // when their time comes.
    const ofOthers = new Set([`d/a/${accountId}/members`, KEYS.newcomer(), KEYS.rewrapped()]);
    expect(left.filter((key) => !ofOthers.has(key))).toEqual([]);
    for (const key of left.filter((one) => one !== KEYS.newcomer())) {
      expect((await store.get(key))?.value).not.toContain(userId);
    }
    expect(await enteredUser(muster, { login })).toMatchObject({ login });
  });

  test('is neither the last operator, nor the last owner of an account, nor the one who asks', async () => {
    await using panel = await panelMuster(backend);
    const { muster, store } = panel;
    const [first, second] = [(await tenant(muster)).accountId, (await tenant(muster)).accountId];
    const op = await signedIn(store, { operator: true });
    const other = await signedIn(store, { operator: true });
    const owned = [first, second].map((accountId) => ({ accountId, role: 'owner' as const }));
    const bob = await signedIn(store, { accounts: owned });
    await signedIn(store, { accounts: [{ accountId: first, role: 'owner' }] });
    const byOp = (of: Browser) => ask(panel, op, `/users/${of.userId}`, { method: 'DELETE' });

    const owner = await byOp(bob);
    const saysSecond = expect.stringContaining(`No other owner of the account ${second} `) as string;
    expect([owner.status, owner.body['error']]).toEqual([409, { code: 'conflict', message: saysSecond }]);
    // He has not left the first account either.
    expect((await ask(panel, bob, '/me')).body['accounts']).toHaveLength(2);
    const self = await byOp(op);
    expect([self.status, self.body['error']]).toMatchObject([
      409,
      { message: expect.stringMatching(/^Nobody deletes himself/) as string },
    ]);
    expect((await byOp(other)).status).toBe(204);
    const last = await removed(muster, op.userId);
    expect([last.status, last.body['error']]).toMatchObject([
      409,
      { message: expect.stringMatching(/^No other operator can sign in/) as string },
    ]);
    expect((await ask(panel, op, '/me')).body).toMatchObject({ operator: true });
  });

  test('and joins an account just before the commit stays whole, and is deleted by the next try', async () => {
    const race = new BeforeCommit('audit/operator/');
    await using panel = await panelMuster(backend, { wrapStore: race.wrapStore });
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const owner = await signedIn(store, { accounts: [{ accountId, role: 'owner' }] });
    const { visitor, userId } = await enteredUser(muster);
    const token = await invitation(panel, owner, accountId);
    race.next = async () => expect((await visitor.post('/links/accept', { token })).status).toBe(200);
    const refused = await removed(muster, userId);
    expect([refused.status, refused.body['error'], race.isDone]).toMatchObject([
      409,
      { code: 'changed_meanwhile' },
      true,
    ]);
    expect(await visitor.me()).toBe(200);
    expect((await removed(muster, userId)).status).toBe(204);
    expect(await visitor.me()).toBe(401);
  });

  test('and leaves an account just before the commit is deleted all the same', async () => {
    const race = new BeforeCommit(KEYS.account.under());
    await using panel = await panelMuster(backend, { wrapStore: race.wrapStore });
    const { accountId } = await tenant(panel.muster);
    const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const bob = await signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    race.next = async () => {
      const path = `/accounts/${accountId}/members/${bob.userId}`;
      expect((await ask(panel, owner, path, { method: 'DELETE' })).status).toBe(204);
    };
    expect([(await removed(panel.muster, bob.userId)).status, race.isDone]).toEqual([204, true]);
    expect((await ask(panel, bob, '/me')).status).toBe(401);
  });

  test('and signs in just before the commit is signed in nowhere', async () => {
    const race = new BeforeCommit('audit/operator/');
    await using panel = await panelMuster(backend, { wrapStore: race.wrapStore });
    const { muster } = panel;
    const { userId, login } = await enteredUser(muster);
    const late = new Visitor(muster);
    race.next = async () =>
      expect((await late.post('/sign-in/password', { login, password: GOOD_PASSWORD })).status).toBe(200);
    expect((await removed(muster, userId)).status).toBe(204);
    expect([race.isDone, await late.me()]).toEqual([true, 401]);
    expect((await keysOf(panel.store)).filter((key) => key.startsWith('d/s/'))).toEqual([]);
  });
});
