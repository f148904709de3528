import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { ask, panelMuster, putUser, signedIn } from '../../support/panel/panel-users.ts';
import { asOperator, enteredUser, GOOD_PASSWORD, Visitor } from '../../support/panel/visitor.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';

const LAST_OPERATOR = 'No other operator can sign in: make somebody else an operator first, and let them sign in.';

onEachBackend('users, by the operator API', (backend) => {
  test('are created, listed by name, renamed, disabled and made operators; an absent one is not found', async () => {
    await using muster = await backend.fresh();
    const create = (name: string, more: object = {}) =>
      asOperator(muster, '/users', { method: 'POST', body: { name, login: `${name}@example.com`, ...more } });
    expect((await create('Zoe')).status).toBe(201);
    const created = await create('Ann', { operator: true });
    const { userId } = created.body['user'] as { userId: string };
    const list = async () => (await asOperator(muster, '/users')).body['users'] as { name: string }[];
    expect((await list()).map(({ name }) => name)).toEqual(['Ann', 'Zoe']);
    const change = (id: string, body: object) => asOperator(muster, `/users/${id}`, { method: 'PATCH', body });
    expect((await change(userId, { name: 'Yves' })).body).toMatchObject({
      name: 'Yves',
      operator: true,
      disabled: false,
    });
    expect((await list()).map(({ name }) => name)).toEqual(['Yves', 'Zoe']);
    const last = await change(userId, { operator: false });
    expect([last.status, last.body['error']]).toMatchObject([409, { code: 'conflict', message: LAST_OPERATOR }]);
    expect((await change(userId, { disabled: true })).status).toBe(409);
    // One who has a link alone does not count: it may never be used.
    expect((await create('Op', { operator: true })).status).toBe(201);
    expect((await change(userId, { operator: false })).status).toBe(409);
    await enteredUser(muster, { name: 'Opal', login: 'opal@example.com', operator: true });
    expect((await change(userId, { operator: false, disabled: true })).body).toMatchObject({
      operator: false,
      disabled: true,
    });
    for (const id of ['a'.repeat(16), 'x']) expect((await change(id, { name: 'x' })).status).toBe(404);
    expect((await asOperator(muster, `/users/${'a'.repeat(16)}/reset`, { method: 'POST' })).status).toBe(404);
    for (const body of [{}, { name: 'x' }, { name: '', login: 'x' }, { name: 'x', login: 'x', admin: true }]) {
      expect((await asOperator(muster, '/users', { method: 'POST', body })).status).toBe(400);
    }
  });

  test('of two operators who take each other’s right at once one stays', async () => {
    await using muster = await backend.fresh();
    const [ann, bob] = [
      await enteredUser(muster, { operator: true }),
      await enteredUser(muster, { login: 'bob@example.com', operator: true }),
    ];
    const demote = (by: typeof ann, of: typeof ann) =>
      by.visitor.ask(`/users/${of.userId}`, { method: 'PATCH', body: { operator: false } });
    const both = await Promise.all([demote(ann, bob), demote(bob, ann)]);
    expect(both.filter(({ status }) => status === 200)).toHaveLength(1);
    const { users } = (await asOperator(muster, '/users')).body as { users: { operator: boolean }[] };
    expect(users.filter(({ operator }) => operator)).toHaveLength(1);
  });

  test.each([{ operator: false }, { disabled: true }])(
    'of the last two, changed at once by %j, one stays',
    async (body) => {
      const race = new BeforeCommit(KEYS.user.under());
      await using muster = await backend.fresh({ wrapStore: race.wrapStore });
      const ann = await enteredUser(muster, { operator: true });
      const bob = await enteredUser(muster, { login: 'bob@example.com', operator: true });
      const change = (userId: string) => asOperator(muster, `/users/${userId}`, { method: 'PATCH', body });
      race.next = async () => expect((await change(bob.userId)).status).toBe(200);
      const late = await change(ann.userId);
      expect([race.isDone, late.body['error']]).toMatchObject([true, { message: LAST_OPERATOR }]);
    },
  );

  test('an operator does the same in the panel; whoever is none may not, and a link of his works no more', async () => {
    await using panel = await panelMuster(backend);
    const { muster, store } = panel;
    const op = await signedIn(store, { operator: true });
    const other = await signedIn(store, { operator: true });
    const owner = await signedIn(store);
    const body = { name: 'Ann', login: 'ann@example.com' };
    expect((await ask(panel, owner, '/users', { method: 'POST', body })).status).toBe(403);
    const created = await ask(panel, op, '/users', { method: 'POST', body });
    expect(created.status).toBe(201);
    const { link } = created.body as { link: { url: string } };
    const token = new URL(link.url).hash.slice(1);
    const removed = await ask(panel, other, `/users/${op.userId}`, { method: 'PATCH', body: { operator: false } });
    expect(removed.status).toBe(200);
    expect((await new Visitor(muster).post('/links/accept', { token, password: GOOD_PASSWORD })).status).toBe(400);
  });

  test('an operator whose only way is switched off does not count as another one', async () => {
    await using panel = await panelMuster(backend, { env: { MUSTER_PANEL_PASSWORDS: 'off' } });
    const { muster, store } = panel;
    const passkey = { id: 'k', publicKey: '', name: '', createdAt: 1 };
    const [identities, password] = [[{ issuer: 'https://id.example.com', subject: 'eve' }], undefined];
    const bob = await putUser(store, { operator: true, record: { password, passkeys: [passkey] } });
    // One has a password alone, the other one the identity of a provider that is here no more.
    await putUser(store, { operator: true });
    await putUser(store, { operator: true, record: { password, identities } });
    const demote = () => asOperator(muster, `/users/${bob}`, { method: 'PATCH', body: { operator: false } });
    expect((await demote()).body['error']).toEqual({ code: 'conflict', message: LAST_OPERATOR });
    await putUser(store, { operator: true, record: { password, passkeys: [{ ...passkey, id: 'l' }] } });
    expect((await demote()).status).toBe(200);
  });

  test('where the panel is off, no link is made, and no user', async () => {
    await using muster = await backend.fresh({ env: { MUSTER_PANEL_LISTEN: 'off' } });
    const created = await asOperator(muster, '/users', { method: 'POST', body: { name: 'Ann', login: 'ann' } });
    expect([created.status, created.body['error']]).toMatchObject([
      400,
      { message: expect.stringMatching(/The panel is off/) as string },
    ]);
    expect((await asOperator(muster, '/users')).body).toEqual({ users: [] });
    expect((await asOperator(muster, `/users/${'a'.repeat(16)}/reset`, { method: 'POST' })).status).toBe(400);
  });
});
