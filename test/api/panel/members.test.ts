import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { ask, panelMuster, putUser, rewrite, signedIn, type Browser } from '../../support/panel/panel-users.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';

const lastOwner = (accountId: string) => ({
  code: 'conflict',
  message: `No other owner of the account ${accountId} can sign in: make somebody else an owner first.`,
});

onEachBackend('the members of an account', (backend) => {
  test('are listed owners first, with the role that somebody gave and the one of their groups', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const role = (given: 'owner' | 'viewer') => [{ accountId, role: given }];
    const ann = await signedIn(panel.store, { name: 'Ann', accounts: role('viewer') });
    const bob = await putUser(panel.store, { name: 'Bob', accounts: role('owner') });
    const mapped = { operator: false, accounts: [{ accountId, role: 'owner' as const }], at: 1 };
    const carol = await putUser(panel.store, { name: 'Carol', record: { mapped } });
    await putUser(panel.store, { name: 'Stranger' });
    const listed = await ask(panel, ann, `/accounts/${accountId}/members`);
    expect(listed.body['members']).toMatchObject([
      { userId: bob, name: 'Bob', role: 'owner', given: 'owner', mapped: null },
      { userId: carol, name: 'Carol', role: 'owner', given: null, mapped: 'owner', since: null },
      { userId: ann.userId, name: 'Ann', role: 'viewer', given: 'viewer', mapped: null },
    ]);
  });

  test('an owner changes roles and ends memberships, at once; a viewer may not, and a stranger learns nothing', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const viewer = await signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    const stranger = await signedIn(panel.store);
    const path = `/accounts/${accountId}/members/${viewer.userId}`;
    const change = (by: typeof owner, role: string) => ask(panel, by, path, { method: 'PATCH', body: { role } });
    for (const [by, status] of [
      [viewer, 403],
      [stranger, 404],
    ] as const) {
      expect((await change(by, 'owner')).status).toBe(status);
      expect((await ask(panel, by, path, { method: 'DELETE' })).status).toBe(status);
      expect((await ask(panel, by, `/accounts/${accountId}/invitations`)).status).toBe(status);
    }
    expect((await change(owner, 'admin')).status).toBe(400);
    expect((await change(owner, 'owner')).status).toBe(204);
    // The change gives the session another token; the role counts by then.
    expect((await ask(panel, viewer, `/accounts/${accountId}/invitations`)).status).toBe(200);
    expect((await change(owner, 'viewer')).status).toBe(204);
    expect((await ask(panel, viewer, `/accounts/${accountId}/invitations`)).status).toBe(403);
    expect((await ask(panel, owner, path, { method: 'DELETE' })).status).toBe(204);
    expect((await ask(panel, viewer, `/accounts/${accountId}/members`)).status).toBe(404);
    expect((await ask(panel, owner, path, { method: 'DELETE' })).status).toBe(404);
    const { entries } = (await asOperator(panel.muster, `/accounts/${accountId}/audit`)).body as {
      entries: { action: string; actor: string }[];
    };
    expect(entries.filter(({ actor }) => actor === `user:${owner.userId}`).map(({ action }) => action)).toEqual([
      'member.changed',
      'member.changed',
      'member.removed',
    ]);
  });

  test('the last owner stays, also where two leave at once', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const [ann, bob] = [
      await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] }),
      await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] }),
    ];
    const leave = (who: typeof ann) =>
      ask(panel, who, `/accounts/${accountId}/members/${who.userId}`, { method: 'DELETE' });
    const both = await Promise.all([leave(ann), leave(bob)]);
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 409]);
    expect(both.map(({ body }) => body['error'])).toContainEqual(lastOwner(accountId));
    const left = both[0].status === 409 ? ann : bob;
    const demote = await ask(panel, left, `/accounts/${accountId}/members/${left.userId}`, {
      method: 'PATCH',
      body: { role: 'viewer' },
    });
    expect([demote.status, demote.body['error']]).toEqual([409, lastOwner(accountId)]);
  });

  test('an owner who is disabled, and one without a way to sign in, do not count as another one', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const accounts = [{ accountId, role: 'owner' }] as const;
    const ann = await signedIn(panel.store, { accounts });
    const disabled = await signedIn(panel.store, { accounts, record: { disabled: true } });
    await signedIn(panel.store, { accounts, record: { password: undefined } });
    const leave = () => ask(panel, ann, `/accounts/${accountId}/members/${ann.userId}`, { method: 'DELETE' });
    const refused = await leave();
    expect([refused.status, refused.body['error']]).toEqual([409, lastOwner(accountId)]);
    const enabled = await asOperator(panel.muster, `/users/${disabled.userId}`, {
      method: 'PATCH',
      body: { disabled: false },
    });
    expect(enabled.status).toBe(200);
    expect((await leave()).status).toBe(204);
  });

  test('the other owner who is disabled just before the commit is none', async () => {
    const race = new BeforeCommit(KEYS.user.under());
    await using panel = await panelMuster(backend, { wrapStore: race.wrapStore });
    const { accountId } = await tenant(panel.muster);
    const accounts = [{ accountId, role: 'owner' }] as const;
    const [ann, bob] = [await signedIn(panel.store, { accounts }), await signedIn(panel.store, { accounts })];
    race.next = async () =>
      await asOperator(panel.muster, `/users/${bob.userId}`, { method: 'PATCH', body: { disabled: true } });
    const left = await ask(panel, ann, `/accounts/${accountId}/members/${ann.userId}`, { method: 'DELETE' });
    expect([left.status, left.body['error'], race.isDone]).toEqual([409, lastOwner(accountId), true]);
  });

  test('two memberships that are ended at once have both ended', async () => {
    const race = new BeforeCommit(KEYS.user.under());
    await using panel = await panelMuster(backend, { wrapStore: race.wrapStore });
    const { accountId } = await tenant(panel.muster);
    const viewer = () => putUser(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    const [ann, bob] = [await viewer(), await viewer()];
    const owner = await signedIn(panel.store, { operator: true, accounts: [{ accountId, role: 'owner' }] });
    const end = async (userId: string): Promise<number> =>
      (await ask(panel, owner, `/accounts/${accountId}/members/${userId}`, { method: 'DELETE' })).status;
    race.next = async () => expect(await end(bob)).toBe(204);
    expect([await end(ann), race.isDone]).toEqual([204, true]);
    const { members } = (await ask(panel, owner, `/accounts/${accountId}/members`)).body as { members: object[] };
    expect(members).toMatchObject([{ userId: owner.userId }]);
  });

  test.each([
    ['owner', 'viewer'],
    ['viewer', 'owner'],
  ] as const)('%s by invitation and %s by the groups: the greater role counts', async (given, mapped) => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const record = { mapped: { operator: false, accounts: [{ accountId, role: mapped }], at: Date.now() } };
    const ann = await signedIn(panel.store, { accounts: [{ accountId, role: given }], record });
    expect((await ask(panel, ann, '/me')).body['accounts']).toMatchObject([{ accountId, role: 'owner' }]);
    expect((await ask(panel, ann, `/accounts/${accountId}/invitations`)).status).toBe(200);
  });

  test('have a bounded number', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    for (let i = 2; i < LIMITS.membersPerAccountMax; i += 1) {
      await putUser(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    }
    const accept = async (browser: Browser, role = 'viewer') => {
      const made = await ask(panel, owner, `/accounts/${accountId}/invitations`, { method: 'POST', body: { role } });
      const token = new URL(String(made.body['url'])).hash.slice(1);
      return await ask(panel, browser, '/links/accept', { method: 'POST', body: { token } });
    };
    const last = await signedIn(panel.store);
    expect((await accept(last)).status).toBe(200);
    // One more came into the list before the bound was what it is.
    const extra = { userId: randomUUID(), role: 'viewer', since: 1 };
    await rewrite(panel, KEYS.members(accountId), ({ members }) => ({ members: [...(members as object[]), extra] }));
    expect((await accept(last, 'owner')).status).toBe(200);
    const refused = await accept(await signedIn(panel.store));
    expect([refused.status, refused.body['error']]).toMatchObject([
      409,
      { message: expect.stringMatching(/has 200 members/) as string },
    ]);
  });
});
