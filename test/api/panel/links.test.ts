import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { panelMuster, rewrite, signedIn, type Browser, type PanelMuster } from '../../support/panel/panel-users.ts';
import {
  asOperator,
  enteredUser,
  GOOD_PASSWORD,
  OTHER_PASSWORD,
  tokenOf,
  Visitor,
} from '../../support/panel/visitor.ts';
import { tenant, type Answer, type Muster, type MusterOptions } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const INVALID = {
  code: 'invalid_request',
  message: 'This link is not valid: it was used, withdrawn, or is too old. Ask for another one.',
};
const told = ({ status, body }: Answer) => [status, body['error']];

async function invited(
  muster: Muster,
  owner: Browser | Visitor,
  accountId: string,
  role: 'owner' | 'viewer' = 'viewer',
): Promise<{ token: string; linkId: string }> {
  const visitor = owner instanceof Visitor ? owner : new Visitor(muster, { browser: owner });
  const made = await visitor.post(`/accounts/${accountId}/invitations`, { role });
  if (made.status !== 201) throw new Error(`POST invitations: ${made.status} ${made.text}`);
  return { token: tokenOf(made.body['url']), linkId: String(made.body['linkId']) };
}

const bob = (token: string, login = 'bob@example.com'): object => ({
  token,
  name: 'Bob',
  login,
  password: GOOD_PASSWORD,
});

/** The actions of an audit, the oldest first. */
async function actionsOf(muster: Muster, accountId?: string): Promise<string[]> {
  const path = accountId === undefined ? '/audit' : `/accounts/${accountId}/audit`;
  const { entries } = (await asOperator(muster, path)).body as { entries: { action: string }[] };
  return entries.map(({ action }) => action);
}

onEachBackend('links', (backend) => {
  test('the operator makes a user, whose first link sets his password and signs him in, once', async () => {
    await using muster = await backend.fresh();
    const body = { name: 'Ann Example', login: 'ann@example.com', operator: true };
    const created = await asOperator(muster, '/users', { method: 'POST', body });
    expect(created.body).toMatchObject({
      user: { name: 'Ann Example', operator: true, hasPassword: false },
      link: { url: expect.stringMatching(/^http:\/\/localhost:\d+\/link#mst_link_operator_\w{43}$/) as string },
    });
    const again = await asOperator(muster, '/users', { method: 'POST', body: { ...body, login: 'ANN@example.com' } });
    expect(told(again)).toMatchObject([
      409,
      { code: 'conflict', message: 'login: another user has this name to sign in with.' },
    ]);
    const token = tokenOf((created.body['link'] as { url: string }).url);
    const visitor = new Visitor(muster);
    expect((await visitor.post('/links/read', { token })).body).toMatchObject({
      kind: 'first',
      login: 'ann@example.com',
      userName: 'Ann Example',
      needsLogin: false,
      needsPassword: true,
    });
    const weak = await visitor.post('/links/accept', { token, password: 'ann@example.com' });
    expect(told(weak)).toMatchObject([
      400,
      { message: expect.stringMatching(/^password is little more than your own name/) as string },
    ]);
    expect((await visitor.post('/links/accept', { token, password: GOOD_PASSWORD })).status).toBe(200);
    expect((await visitor.ask('/me')).body).toMatchObject({ operator: true, session: { method: 'link' } });
    expect(told(await visitor.post('/links/read', { token }))).toEqual([400, INVALID]);
    expect(told(await visitor.post('/links/accept', { token, password: GOOD_PASSWORD }))).toEqual([400, INVALID]);
    expect((await actionsOf(muster)).toSorted()).toEqual([
      'link.created',
      'link.used',
      'session.created',
      'user.created',
    ]);
    expect(muster.logged.join('')).not.toContain(token);
  });

  test('an invitation makes a new user a member; it is listed until then, and can be withdrawn', async () => {
    await using panel = await panelMuster(backend);
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const ann = await signedIn(store, { name: 'Ann', accounts: [{ accountId, role: 'owner' }] });
    const owner = new Visitor(muster, { browser: ann });
    const list = async () => (await owner.ask(`/accounts/${accountId}/invitations`)).body['invitations'] as object[];
    const [used, withdrawn] = [
      await invited(muster, owner, accountId),
      await invited(muster, owner, accountId, 'owner'),
    ];
    expect(await list()).toHaveLength(2);
    expect(await list()).toContainEqual(
      expect.objectContaining({ linkId: withdrawn.linkId, role: 'owner', by: `user:${ann.userId}` }),
    );
    const withdraw = () => owner.ask(`/accounts/${accountId}/invitations/${withdrawn.linkId}`, { method: 'DELETE' });
    expect([(await withdraw()).status, (await withdraw()).status]).toEqual([204, 404]);
    const visitor = new Visitor(muster);
    expect(told(await visitor.post('/links/accept', bob(withdrawn.token)))).toEqual([400, INVALID]);
    expect((await visitor.post('/links/read', { token: used.token })).body).toMatchObject({
      kind: 'invitation',
      accountName: 'tenant',
      role: 'viewer',
      needsLogin: true,
      needsPassword: true,
    });
    for (const field of ['name', 'login'] as const) {
      const missing = await visitor.post('/links/accept', { ...bob(used.token), [field]: undefined });
      expect(told(missing)).toMatchObject([400, { message: expect.stringMatching(`^${field}: `) as string }]);
    }
    const taken = await visitor.post('/links/accept', bob(used.token, `${ann.userId}@EXAMPLE.com`));
    expect(told(taken)).toMatchObject([409, { message: expect.stringMatching(/^login: another user/) as string }]);
    const accepted = await visitor.post('/links/accept', bob(used.token));
    expect([accepted.status, accepted.body]).toEqual([200, { accountId }]);
    expect((await visitor.ask('/me')).body).toMatchObject({ name: 'Bob', accounts: [{ accountId, role: 'viewer' }] });
    expect(await list()).toEqual([]);
    expect(await actionsOf(muster, accountId)).toEqual(
      expect.arrayContaining(['link.created', 'link.withdrawn', 'member.added']),
    );
  });

  test('whoever is signed in accepts as himself; a greater role stays', async () => {
    await using panel = await panelMuster(backend);
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const owner = await signedIn(store, { accounts: [{ accountId, role: 'owner' }] });
    const carol = new Visitor(muster, { browser: await signedIn(store, { name: 'Carol' }) });
    const { token } = await invited(muster, owner, accountId);
    expect((await carol.post('/links/read', { token })).body).toMatchObject({
      signedInAs: 'Carol',
      needsLogin: false,
      needsPassword: false,
    });
    expect((await carol.post('/links/accept', { token })).body).toEqual({ accountId });
    expect((await carol.ask('/me')).body).toMatchObject({ accounts: [{ accountId, role: 'viewer' }] });
    const own = await invited(muster, owner, accountId, 'viewer');
    const self = new Visitor(muster, { browser: owner });
    expect((await self.post('/links/accept', { token: own.token })).status).toBe(200);
    expect((await self.ask('/me')).body).toMatchObject({ accounts: [{ accountId, role: 'owner' }] });
  });

  test('of two who accept one link at once one is let in, and nothing is left of the other', async () => {
    await using panel = await panelMuster(backend);
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const owner = await signedIn(store, { accounts: [{ accountId, role: 'owner' }] });
    const { token } = await invited(muster, owner, accountId);
    const both = await Promise.all(
      ['bob@example.com', 'eve@example.com'].map((login) =>
        new Visitor(muster).post('/links/accept', bob(token, login)),
      ),
    );
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
    expect(both.map(({ body }) => body['error'])).toContainEqual(INVALID);
    const { users } = (await asOperator(muster, '/users')).body as { users: { name: string }[] };
    expect(users.filter(({ name }) => name === 'Bob')).toHaveLength(1);
  });

  test.each(['is no owner any more', 'is disabled'])('an invitation of somebody who %s does not work', async (why) => {
    await using panel = await panelMuster(backend);
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const ann = await signedIn(store, { accounts: [{ accountId, role: 'owner' }] });
    const other = await signedIn(store, { accounts: [{ accountId, role: 'owner' }] });
    const own = await invited(muster, ann, accountId);
    const valid = await invited(muster, other, accountId);
    const path = `/accounts/${accountId}/members/${ann.userId}`;
    if (why === 'is disabled') {
      await asOperator(muster, `/users/${ann.userId}`, { method: 'PATCH', body: { disabled: true } });
    } else {
      expect((await new Visitor(muster, { browser: other }).ask(path, { method: 'DELETE' })).status).toBe(204);
    }
    expect(told(await new Visitor(muster).post('/links/accept', bob(own.token)))).toEqual([400, INVALID]);
    expect((await new Visitor(muster).post('/links/accept', bob(valid.token))).status).toBe(200);
  });

  test('an invitation that falls just before the commit by which it lets in does not work', async () => {
    const race = new BeforeCommit(KEYS.user.under());
    await using panel = await panelMuster(backend, { wrapStore: race.wrapStore });
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const falls: readonly ((ann: Browser, linkId: string) => Promise<unknown>)[] = [
      (ann, linkId) =>
        new Visitor(muster, { browser: ann }).ask(`/accounts/${accountId}/invitations/${linkId}`, { method: 'DELETE' }),
      ({ userId }) => rewrite(panel, KEYS.user(userId), (record) => ({ ...record, disabled: true })),
    ];
    for (const fall of falls) {
      const ann = await signedIn(store, { accounts: [{ accountId, role: 'owner' }] });
      const { token, linkId } = await invited(muster, ann, accountId);
      race.next = () => fall(ann, linkId);
      const late = await new Visitor(muster).post('/links/accept', bob(token));
      expect([race.isDone, ...told(late)]).toEqual([true, 400, INVALID]);
    }
  });

  test('an account has a bounded number of open invitations', async () => {
    await using panel = await panelMuster(backend);
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const owner = new Visitor(muster, { browser: await signedIn(store, { accounts: [{ accountId, role: 'owner' }] }) });
    const links: { token: string; linkId: string }[] = [];
    for (let i = 0; i < LIMITS.invitationsPerAccountMax; i += 1) links.push(await invited(muster, owner, accountId));
    const more = () => owner.post(`/accounts/${accountId}/invitations`, { role: 'viewer' });
    expect(told(await more())).toMatchObject([409, { message: expect.stringMatching(/withdraw one first/) as string }]);
    await owner.ask(`/accounts/${accountId}/invitations/${links[0]?.linkId}`, { method: 'DELETE' });
    expect((await more()).status).toBe(201);
  });

  test('of two resets at once the one that is committed last is good, and the other one void', async () => {
    const race = new BeforeCommit('link/');
    await using muster = await backend.fresh({ wrapStore: race.wrapStore });
    const { userId } = await enteredUser(muster);
    const reset = async (): Promise<string> =>
      tokenOf((await asOperator(muster, `/users/${userId}/reset`, { method: 'POST' })).body['url']);
    let overtaking = '';
    race.next = async () => (overtaking = await reset());
    const last = await reset();
    const read = async (token: string) => told(await new Visitor(muster).post('/links/read', { token }));
    expect([race.isDone, await read(overtaking), (await read(last))[0]]).toEqual([true, [400, INVALID], 200]);
  });

  test('a reset sets the password, ends every session, voids older links and stands in the audit of each account', async () => {
    await using muster = await backend.fresh();
    const accounts = [(await tenant(muster)).accountId, (await tenant(muster)).accountId];
    const { visitor, userId, login } = await enteredUser(muster);
    const op = await enteredUser(muster, { login: 'op@example.com', operator: true });
    for (const accountId of accounts) {
      const { token } = await invited(muster, op.visitor, accountId);
      expect((await visitor.post('/links/accept', { token })).status).toBe(200);
    }
    expect(await visitor.me()).toBe(200);
    const reset = async () =>
      tokenOf((await asOperator(muster, `/users/${userId}/reset`, { method: 'POST' })).body['url']);
    const [older, token] = [await reset(), await reset()];
    const other = new Visitor(muster);
    const read = await other.post('/links/read', { token });
    expect(read.body).toMatchObject({ kind: 'reset', login, needsPassword: true });
    expect(told(await other.post('/links/accept', { token: older, password: OTHER_PASSWORD }))).toEqual([400, INVALID]);
    // A session that acts meanwhile either acted before the reset, or is refused.
    const [accepted, acting] = await Promise.all([
      other.post('/links/accept', { token, password: OTHER_PASSWORD }),
      visitor.ask('/me', { method: 'PATCH', body: { name: 'Ann the second' } }),
    ]);
    expect(accepted.status).toBe(200);
    expect([200, 401]).toContain(acting.status);
    expect([await visitor.me(), await other.me()]).toEqual([401, 200]);
    const signIn = (password: string) => new Visitor(muster).post('/sign-in/password', { login, password });
    expect((await signIn(GOOD_PASSWORD)).status).toBe(401);
    expect((await signIn(OTHER_PASSWORD)).status).toBe(200);
    for (const accountId of accounts) expect(await actionsOf(muster, accountId)).toContain('user.reset');
    expect((await actionsOf(muster)).filter((action) => action === 'user.reset')).toHaveLength(1);
  });

  test('a disabled user is let in by no link, and a first link is void once he has another way in', async () => {
    await using muster = await backend.fresh();
    const created = await asOperator(muster, '/users', { method: 'POST', body: { name: 'Ann', login: 'ann' } });
    const { user, link } = created.body as { user: { userId: string }; link: { url: string } };
    const change = (body: object) => asOperator(muster, `/users/${user.userId}`, { method: 'PATCH', body });
    const accept = (token: string) => new Visitor(muster).post('/links/accept', { token, password: GOOD_PASSWORD });
    const reset = await asOperator(muster, `/users/${user.userId}/reset`, { method: 'POST' });
    await change({ disabled: true });
    expect(told(await accept(tokenOf(reset.body['url'])))).toEqual([400, INVALID]);
    await change({ disabled: false });
    expect((await accept(tokenOf(reset.body['url']))).status).toBe(200);
    expect(told(await accept(tokenOf(link.url)))).toEqual([400, INVALID]);
  });

  test('each kind of link ends after its time', async () => {
    const clock = new FakeClock();
    await using panel = await panelMuster(backend, { clock });
    const { muster } = panel;
    const { accountId } = await tenant(muster);
    const op = await enteredUser(muster, { login: 'op@example.com', operator: true });
    const { userId } = await enteredUser(muster);
    const statusOf = async (token: string): Promise<number> =>
      (await new Visitor(muster).post('/links/read', { token })).status;
    const reset = tokenOf((await asOperator(muster, `/users/${userId}/reset`, { method: 'POST' })).body['url']);
    const { token } = await invited(muster, op.visitor, accountId);
    clock.advance(LIMITS.resetMs - 1);
    expect([await statusOf(reset), await statusOf(token)]).toEqual([200, 200]);
    clock.advance(1);
    expect([await statusOf(reset), await statusOf(token)]).toEqual([400, 200]);
    clock.advance(LIMITS.invitationMs - LIMITS.resetMs - 1);
    expect(await statusOf(token)).toBe(200);
    clock.advance(1);
    expect(await statusOf(token)).toBe(400);
  });

  test('what is no token, and that of nobody, is told alike', async () => {
    await using muster = await backend.fresh();
    for (const token of ['', 'x', `mst_link_${'0'.repeat(43)}`, `mst_link_operator_${'0'.repeat(43)}`]) {
      expect(told(await new Visitor(muster).post('/links/read', { token }))).toEqual([400, INVALID]);
    }
  });

  test('failures of others behind an address keep no valid link from it; each address asks so often a minute', async () => {
    const env = { MUSTER_SIGN_INS_PER_ADDRESS: '3' };
    await using muster = await backend.fresh({ env, clock: new FakeClock() });
    const body = { name: 'Ann', login: 'ann@example.com' };
    const created = await asOperator(muster, '/users', { method: 'POST', body });
    const token = tokenOf((created.body['link'] as { url: string }).url);
    const accept = (text: string) =>
      new Visitor(muster).post('/links/accept', { token: text, password: GOOD_PASSWORD });
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1) statuses.push((await accept(`mst_link_operator_${'0'.repeat(43)}`)).status);
    expect(statuses).toEqual([400, 400, 400, 429, 429]);
    const read = async (): Promise<number> => (await new Visitor(muster).post('/links/read', { token: 'x' })).status;
    const rest = LIMITS.signInAsksPerAddressPerMinute;
    for (let i = 0; i < rest; i += 50) {
      const some = await Promise.all(Array.from({ length: Math.min(50, rest - i) }, read));
      expect(new Set(some)).toEqual(new Set([400]));
    }
    expect(await read()).toBe(429);
    // Links that are read leave it those that are used.
    expect((await accept(token)).status).toBe(200);
  });
});

onEachBackend('the link of the first operator', (backend) => {
  async function started(
    options: MusterOptions = {},
  ): Promise<PanelMuster & { link: () => Promise<string | undefined> }> {
    const panel = await panelMuster(backend, options);
    const link = async () => (await panel.muster.service.firstLink())?.reveal();
    return { ...panel, [Symbol.asyncDispose]: () => panel[Symbol.asyncDispose](), link };
  }

  test('makes an operator, is in no line of the log, and is void after the next start and with the first operator', async () => {
    await using panel = await started();
    const { muster } = panel;
    const [earlier, url] = [await panel.link(), await panel.link()];
    expect(url).toMatch(/^http:\/\/localhost:\d+\/link#mst_link_operator_\w{43}$/);
    const accept = (of: string | undefined, login: string) =>
      new Visitor(muster).post('/links/accept', bob(tokenOf(of), login));
    expect(told(await accept(earlier, 'a'))).toEqual([400, INVALID]);
    const visitor = new Visitor(muster);
    expect((await visitor.post('/links/read', { token: tokenOf(url) })).body).toMatchObject({
      kind: 'first',
      needsLogin: true,
    });
    expect((await visitor.post('/links/accept', bob(tokenOf(url)))).status).toBe(200);
    expect((await visitor.ask('/me')).body).toMatchObject({ operator: true, name: 'Bob' });
    expect(await panel.link()).toBeUndefined();
    expect(muster.logged.join('')).not.toContain('mst_link_');
  });

  test('is void once there is an operator, and after ten minutes', async () => {
    const clock = new FakeClock();
    await using panel = await started({ clock });
    const { muster } = panel;
    const read = async (of: string | undefined): Promise<number> =>
      (await new Visitor(muster).post('/links/read', { token: tokenOf(of) })).status;
    const first = await panel.link();
    clock.advance(LIMITS.firstLinkMs - 1);
    expect(await read(first)).toBe(200);
    clock.advance(1);
    expect(await read(first)).toBe(400);
    const second = await panel.link();
    expect(await read(second)).toBe(200);
    await asOperator(muster, '/users', { method: 'POST', body: { name: 'Op', login: 'op', operator: true } });
    expect(await read(second)).toBe(400);
    expect((await entriesOf(panel.store, KEYS.link.under())).length).toBeGreaterThan(0);
  });

  test('is made for a listener on a loopback address alone', async () => {
    await using panel = await started({ env: { MUSTER_PANEL_LISTEN: 'off' } });
    expect(await panel.link()).toBeUndefined();
  });
});
