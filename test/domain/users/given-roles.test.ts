import { randomUUID } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { openEvents } from '../../support/panel/event-stream.ts';
import {
  ask,
  panelMuster,
  putUser,
  rewrite,
  signedIn,
  type Browser,
  type UserOptions,
} from '../../support/panel/panel-users.ts';
import { meOf, signing } from '../../support/panel/signing.ts';
import { asOperator, codeOf, enteredUser, GOOD_PASSWORD, tokenOf, Visitor } from '../../support/panel/visitor.ts';
import { call, Muster, tenant, type Answer } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* CONTRACT.md#p1: the roles `support` and `auditor` of people: how they are given, counted, and taken. */

const withRole = (installationRole: 'support' | 'auditor', more: UserOptions = {}): UserOptions => ({
  ...more,
  record: { ...more.record, installationRole },
});
const LAST_OPERATOR = 'No other operator can sign in: make somebody else an operator first, and let them sign in.';

interface Entry {
  readonly action: string;
  readonly actor: string;
  readonly detail: Readonly<Record<string, unknown>>;
}
const entriesOf = async (muster: Pick<Muster, 'ops'>): Promise<readonly Entry[]> =>
  (await asOperator(muster, '/audit?limit=1000')).body['entries'] as Entry[];

onEachBackend('roles on the installation', (backend) => {
  test('an operator can be disabled and renamed where there are more than may be, and nobody becomes one', async () => {
    await using panel = await panelMuster(backend);
    const [ann, bob] = [await putUser(panel.store, { operator: true }), await putUser(panel.store, { operator: true })];
    const eve = await putUser(panel.store);
    const others = Array.from({ length: LIMITS.operatorsMax }, () => randomUUID());
    await rewrite(panel, KEYS.operators(), () => ({ members: [...others, ann, bob] }));
    const change = async (userId: string, body: object) =>
      (await asOperator(panel.muster, `/users/${userId}`, { method: 'PATCH', body })).status;
    expect(await change(ann, { disabled: true })).toBe(200);
    expect(await change(bob, { name: 'Bob' })).toBe(200);
    expect(await change(eve, { operator: true })).toBe(409);
    const operators = await panel.store.get(KEYS.operators());
    expect(JSON.parse(operators?.value ?? '')).toEqual({ members: [...others, ann, bob] });
  });

  test('are given and taken by the operator API, one at a time, and `operator` says the same of that role', async () => {
    await using muster = await backend.fresh();
    const create = (login: string, more: object) =>
      asOperator(muster, '/users', { method: 'POST', body: { name: 'Ann', login, ...more } });
    const created = await create('ann', { role: 'support' });
    expect([created.status, created.body['user']]).toMatchObject([
      201,
      { role: 'support', operator: false, mappedRole: 'none', mappedOperator: false },
    ]);
    expect((await create('bob', { role: 'auditor', operator: false })).status).toBe(201);
    expect((await create('eve', { role: 'support', operator: true })).status).toBe(400);
    expect((await create('eve', { role: 'billing' })).status).toBe(400);
    await enteredUser(muster, { login: 'op@example.com', operator: true });
    const { userId } = created.body['user'] as { userId: string };
    const change = (body: object) => asOperator(muster, `/users/${userId}`, { method: 'PATCH', body });
    const steps: readonly (readonly [body: object, role: string, operator: boolean])[] = [
      [{ operator: false }, 'support', false],
      [{ name: 'Anna' }, 'support', false],
      [{ role: 'auditor' }, 'auditor', false],
      [{ role: 'operator' }, 'operator', true],
      [{ role: 'operator', operator: true }, 'operator', true],
      [{ role: 'support', operator: false }, 'support', false],
      [{ operator: true }, 'operator', true],
      [{ operator: false }, 'none', false],
      [{ role: 'auditor' }, 'auditor', false],
      [{ role: 'none' }, 'none', false],
    ];
    for (const [body, role, operator] of steps) {
      const changed = await change(body);
      expect([body, changed.status, changed.body]).toMatchObject([body, 200, { role, operator }]);
    }
    const contradictory = await change({ role: 'none', operator: true });
    expect([contradictory.status, codeOf(contradictory)]).toEqual([400, 'invalid_request']);
    const told = (await entriesOf(muster)).filter(
      ({ action, detail }) => detail['userId'] === userId && action !== 'link.created',
    );
    expect(told.map(({ action, detail }) => [action, detail['from'], detail['role']])).toEqual([
      ['user.created', undefined, 'support'],
      ['user.changed', undefined, undefined],
      ['role.taken', 'support', 'auditor'],
      ['operator.added', 'auditor', 'operator'],
      ['operator.removed', 'operator', 'support'],
      ['operator.added', 'support', 'operator'],
      ['operator.removed', 'operator', 'none'],
      ['role.given', 'none', 'auditor'],
      ['role.taken', 'auditor', 'none'],
    ]);
  });

  test('are told by /me with the operations that they open, and a change gives the session another token', async () => {
    await using panel = await panelMuster(backend);
    const [op, ann] = [await signedIn(panel.store, { operator: true }), await signedIn(panel.store)];
    const me = (by: Browser) => ask(panel, by, '/me');
    expect((await me(op)).body).toMatchObject({ operator: true, role: 'operator', open: [] });
    expect((await me(ann)).body).toMatchObject({ operator: false, role: 'none', open: [] });
    const given = await ask(panel, op, `/users/${ann.userId}`, { method: 'PATCH', body: { role: 'support' } });
    expect(given.status).toBe(200);
    const told = await me(ann);
    expect(told.body).toMatchObject({ operator: false, role: 'support', accounts: [] });
    expect(told.body['open']).toEqual(
      expect.arrayContaining([
        { operation: 'listUsers' },
        { operation: 'revokeApp' },
        { operation: 'changeUser', only: ['disabled: true'] },
      ]) as unknown,
    );
    expect(told.headers.getSetCookie()).toHaveLength(1);
    expect((await me(ann)).status).toBe(401);
  });

  test('are given with a fresh proof alone, and support gives none', async () => {
    await using panel = await panelMuster(backend);
    const stale = await signedIn(
      panel.store,
      { operator: true },
      { proof: { at: Date.now() - 3_600_000, by: 'password' } },
    );
    const [fresh, support] = [
      await signedIn(panel.store, stale.userId),
      await signedIn(panel.store, withRole('support')),
    ];
    const { userId } = await signedIn(panel.store);
    const give = (by: Browser, body: object = { role: 'support' }) =>
      ask(panel, by, `/users/${userId}`, { method: 'PATCH', body });
    expect([codeOf(await give(stale)), codeOf(await give(support))]).toEqual(['proof_required', 'forbidden']);
    expect((await give(fresh)).status).toBe(200);
    const make = (by: Browser) =>
      ask(panel, by, '/users', { method: 'POST', body: { name: 'Eve', login: 'eve', role: 'auditor' } });
    expect([codeOf(await make(stale)), codeOf(await make(support))]).toEqual(['proof_required', 'forbidden']);
    expect((await make(fresh)).status).toBe(201);
  });

  test('a role that is taken is no more from the answer on, and a change that was under way is refused', async () => {
    const race = new BeforeCommit('d/a/');
    await using panel = await panelMuster(backend, { wrapStore: race.wrapStore });
    const { accountId, keyId } = await tenant(panel.muster);
    const support = await signedIn(panel.store, withRole('support'));
    const take = (userId: string) =>
      asOperator(panel.muster, `/users/${userId}`, { method: 'PATCH', body: { role: 'auditor' } });
    const key = `/accounts/${accountId}/api-keys/${keyId}`;
    const narrow = (by: Browser) => ask(panel, by, key, { method: 'PATCH', body: { access: 'read' } });
    race.next = async () => expect((await take(support.userId)).status).toBe(200);
    const late = await narrow(support);
    expect([race.isDone, late.status]).toEqual([true, 403]);
    const other = await signedIn(panel.store, withRole('support'));
    expect((await narrow(other)).status).toBe(200);
  });

  test('a change that a role on the account was enough for does not pass by a role that has other fields alone', async () => {
    const race = new BeforeCommit('d/a/');
    await using panel = await panelMuster(backend, { wrapStore: race.wrapStore });
    const { accountId } = await tenant(panel.muster);
    const both = await signedIn(panel.store, withRole('support', { accounts: [{ accountId, role: 'owner' }] }));
    await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const batch = (change: string, apps: readonly string[]) =>
      ask(panel, both, `/accounts/${accountId}/apps/batch`, { method: 'POST', body: { change, apps } });
    race.next = () => rewrite(panel, KEYS.members(accountId), () => ({ members: [] }));
    const late = await batch('create', ['edge']);
    expect(race.isDone).toBe(true);
    expect(late.status === 200 ? late.body['outcomes'] : codeOf(late)).toEqual('forbidden');
    const { body } = await asOperator(panel.muster, `/accounts/${accountId}/apps`);
    expect(body['apps']).toEqual([]);
    expect((await batch('revoke', ['k3v9x0q2m7t5b8n1c4d6'])).status).toBe(200);
  });

  test('an operator who becomes support loses what that right gave: keys, links, and what is not for support', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const [op, other] = [
      await signedIn(panel.store, { operator: true }),
      await signedIn(panel.store, { operator: true }),
    ];
    const post = (path: string, body: object = {}) => ask(panel, op, path, { method: 'POST', body });
    const { apiKey } = (await post(`/accounts/${accountId}/api-keys`, { name: 'x' })).body as { apiKey: string };
    const made = await post('/users', { name: 'Eve', login: 'eve' });
    const token = tokenOf((made.body['link'] as { url: string }).url);
    const works = async () => (await call(`${panel.muster.api}/v1/apps`, { token: apiKey })).status;
    expect(await works()).toBe(200);
    const lowered = await ask(panel, other, `/users/${op.userId}`, { method: 'PATCH', body: { role: 'support' } });
    expect([lowered.status, lowered.body['role']]).toEqual([200, 'support']);
    expect(await works()).toBe(401);
    expect((await new Visitor(panel.muster).post('/links/accept', { token, password: GOOD_PASSWORD })).status).toBe(
      400,
    );
    const users = await ask(panel, op, '/users');
    expect([users.status, (await post('/users', { name: 'x', login: 'x' })).status]).toEqual([200, 403]);
  });

  test('support disables operators, but not the last one who can sign in', async () => {
    await using panel = await panelMuster(backend);
    const support = await signedIn(panel.store, withRole('support'));
    const [first, last] = [
      await signedIn(panel.store, { operator: true }),
      await signedIn(panel.store, { operator: true }),
    ];
    const disable = ({ userId }: Browser) =>
      ask(panel, support, `/users/${userId}`, { method: 'PATCH', body: { disabled: true } });
    expect((await disable(first)).status).toBe(200);
    expect((await ask(panel, first, '/me')).status).toBe(401);
    const refused = await disable(last);
    expect([refused.status, refused.body['error']]).toEqual([409, { code: 'conflict', message: LAST_OPERATOR }]);
    // Support and auditors are no operators: one of them is not the other one who stays.
    const path = `/users/${last.userId}`;
    expect((await asOperator(panel.muster, path, { method: 'PATCH', body: { role: 'support' } })).status).toBe(409);
  });

  test('what support does is bounded by no quota, and stands in the audit as the deed of the installation', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, keyId } = await tenant(panel.muster);
    const support = await signedIn(panel.store, withRole('support'));
    const path = `/accounts/${accountId}/api-keys/${keyId}`;
    expect((await ask(panel, support, path, { method: 'DELETE' })).status).toBe(204);
    const { entries } = (await asOperator(panel.muster, `/accounts/${accountId}/audit`)).body as { entries: Entry[] };
    expect(entries.at(-1)).toMatchObject({ action: 'key.revoked', actor: `user:${support.userId}` });
    const stored = await panel.store.list({ prefix: `audit/${accountId}/`, limit: 100 });
    expect(stored.entries.some(({ value }) => value.includes('"asOperator":true'))).toBe(true);
  });

  test.each(['support', 'auditor'] as const)('%s needs the second factor wherever operators do', async (role) => {
    await using panel = await panelMuster(backend, { env: { MUSTER_PANEL_SECOND_FACTOR: 'operators' } });
    const [held, plain] = [await signedIn(panel.store, withRole(role)), await signedIn(panel.store)];
    const proved = await signedIn(panel.store, held.userId, { secondFactor: 'provider' });
    const sessions = (by: Browser): Promise<Answer> => ask(panel, by, '/me/sessions');
    expect(codeOf(await sessions(held))).toBe('second_factor_required');
    expect([(await sessions(proved)).status, (await sessions(plain)).status]).toEqual([200, 200]);
  });

  test('a stream follows any account and the users, and ends when the role does', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, apiKey } = await tenant(panel.muster);
    const [auditor, plain] = [await signedIn(panel.store, withRole('auditor')), await signedIn(panel.store)];
    using refused = await openEvents(panel, plain, `?account=${accountId}`);
    expect(refused.status).toBe(404);
    using stream = await openEvents(panel, auditor, `?account=${accountId}`);
    await stream.has('ready');
    const made = await call(`${panel.muster.api}/v1/apps`, { method: 'POST', token: apiKey, body: { name: 'edge' } });
    expect(made.status).toBe(201);
    await stream.has('hint', { account: accountId, topic: 'apps' });
    await enteredUser(panel.muster);
    await stream.has('hint', { account: '', topic: 'users' });
    const taken = { method: 'PATCH', body: { role: 'none' } };
    expect((await asOperator(panel.muster, `/users/${auditor.userId}`, taken)).status).toBe(200);
    await stream.has('ended');
    await until(() => stream.isOver);
  });

  test('groups of the provider give them for an hour, and the greater one of all counts', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const roleWith = async (...groups: string[]) => {
      await it.provider.set({ user: 'ann', groups });
      const { token } = await it.signIn();
      return { role: (await meOf(it, token)).body['role'], token };
    };
    expect((await roleWith('review')).role).toBe('auditor');
    expect((await roleWith('review', 'helpdesk')).role).toBe('support');
    expect((await roleWith('review', 'helpdesk', 'platform')).role).toBe('operator');
    const { role, token } = await roleWith('helpdesk');
    expect(role).toBe('support');
    const { userId } = (await meOf(it, token)).body as { userId: string };
    const { users } = (await asOperator(it.panel.muster, '/users')).body as { users: { userId: string }[] };
    expect(users.find((user) => user.userId === userId)).toMatchObject({ role: 'none', mappedRole: 'support' });
    const later = await signedIn(it.panel.store, userId);
    expect((await ask(it.panel, later, '/users')).status).toBe(200);
    await rewrite(it.panel, KEYS.user(userId), (record) => ({
      ...record,
      mapped: { ...(record['mapped'] as object), at: clock.now() - 3_600_001 },
    }));
    expect((await ask(it.panel, later, '/users')).status).toBe(403);
  });
});

describe('a role that is taken at one replica', () => {
  test('is refused by the other one from the answer on', async () => {
    const shared = { store: `etcd:${inject('etcd')}`, env: { MUSTER_ETCD_PREFIX: `/${randomUUID()}/` } };
    await using one = await panelMuster({ fresh: (options) => Muster.start({ ...options, ...shared }) });
    await using other = await Muster.start(shared);
    for (const installationRole of ['support', 'auditor'] as const) {
      const person = await signedIn(one.store, withRole(installationRole));
      const asked = () => ask({ muster: other }, person, '/users');
      expect((await asked()).status).toBe(200);
      const taken = { method: 'PATCH', body: { role: 'none' } };
      expect((await asOperator(one.muster, `/users/${person.userId}`, taken)).status).toBe(200);
      expect((await asked()).status).toBe(403);
    }
  });
});
