import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { panelMuster, putUser, signedIn, type PanelMuster } from '../../support/panel/panel-users.ts';
import { asOperator, codeOf, enteredUser, GOOD_PASSWORD, tokenOf, Visitor } from '../../support/panel/visitor.ts';
import { tenant, type Answer } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { untilPassing } from '../../support/time/until-passing.ts';

/* Users of the installation who are nobody's: how many there may be, and how they go (P14). */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

async function make(panel: PanelMuster, name: string, operator = false): Promise<string> {
  const body = { name, login: `${name}@example.com`, operator };
  const made = await asOperator(panel.muster, '/users', { method: 'POST', body });
  return (made.body['user'] as { userId: string }).userId;
}

async function isThere({ muster }: PanelMuster, userId: string): Promise<boolean> {
  const { users } = (await asOperator(muster, '/users?limit=1000')).body as { users: { userId: string }[] };
  return users.some((user) => user.userId === userId);
}

interface Entry {
  readonly action: string;
  readonly actor: string;
  readonly detail: Readonly<Record<string, unknown>>;
}
const deletions = async ({ muster }: PanelMuster): Promise<readonly Entry[]> =>
  ((await asOperator(muster, '/audit?limit=1000')).body['entries'] as Entry[]).filter(
    ({ action }) => action === 'user.deleted',
  );

onEachBackend('a user without a role', (backend) => {
  test('goes after a week without a sign-in and a link, and whoever has or had a role stays', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { accountId } = await tenant(panel.muster);
    const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const invite = async () => {
      const made = await new Visitor(panel.muster, { browser: owner }).post(`/accounts/${accountId}/invitations`, {
        role: 'viewer',
      });
      return tokenOf(made.body['url']);
    };
    const never = await make(panel, 'never');
    const again = await make(panel, 'again');
    const operator = await make(panel, 'operator', true);
    const entered = await enteredUser(panel.muster, { login: 'entered@example.com' });
    const joined = await enteredUser(panel.muster, { login: 'joined@example.com' });
    const arrived = new Visitor(panel.muster);
    const come = { token: await invite(), name: 'Come', login: 'come@example.com', password: GOOD_PASSWORD };
    expect((await arrived.post('/links/accept', come)).status).toBe(200);
    const arrivedId = String((await arrived.ask('/me')).body['userId']);
    expect((await joined.visitor.post('/links/accept', { token: await invite() })).status).toBe(200);
    const member = new Visitor(panel.muster, { browser: owner });
    for (const userId of [arrivedId, joined.userId]) {
      const removed = await member.ask(`/accounts/${accountId}/members/${userId}`, { method: 'DELETE' });
      expect(removed.status).toBe(204);
    }

    const here = async (): Promise<readonly boolean[]> =>
      await Promise.all(
        [never, again, operator, entered.userId, joined.userId, arrivedId].map((userId) => isThere(panel, userId)),
      );
    clock.advance(5 * DAY_MS);
    expect((await asOperator(panel.muster, `/users/${again}/reset`, { method: 'POST' })).status).toBe(201);
    const signIn = { login: 'entered@example.com', password: GOOD_PASSWORD };
    expect((await new Visitor(panel.muster).post('/sign-in/password', signIn)).status).toBe(200);
    expect(await here()).toEqual([true, true, true, true, true, true]);
    clock.advance(2 * DAY_MS);
    await untilPassing(clock, async () => !(await isThere(panel, never)), 60_000);
    expect(await here()).toEqual([false, true, true, true, true, true]);
    expect(await deletions(panel)).toEqual([
      expect.objectContaining({ actor: 'muster', detail: { userId: never, unused: true } }),
    ]);
    // The name is free again, and nothing of the user is left.
    expect(await make(panel, 'never')).not.toBe(never);
    clock.advance(5 * DAY_MS + HOUR_MS);
    await untilPassing(
      clock,
      async () => !(await isThere(panel, again)) && !(await isThere(panel, entered.userId)),
      60_000,
    );
    expect(await here()).toEqual([false, false, true, false, true, true]);
  });

  test('whose record is damaged stays, and keeps no other one', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    // The clean-up comes to the one that was made first before the others.
    const first = await make(panel, 'first');
    const others = [await make(panel, 'second'), await make(panel, 'third')];
    const key = KEYS.sessionUses(first);
    await panel.store.commit({ expect: [expectAbsent(key)], write: [{ put: key, value: 'damaged' }] });
    clock.advance(8 * DAY_MS);
    const left = async (): Promise<readonly boolean[]> =>
      await Promise.all([first, ...others].map((userId) => isThere(panel, userId)));
    await untilPassing(clock, async () => (await left()).filter(Boolean).length === 1, 60_000);
    expect(await left()).toEqual([true, false, false]);
  });

  test('stays where somebody grants a role, a link or a session just before the removal is committed', async () => {
    const clock = new FakeClock(Date.now());
    const acts = new Map<string, () => Promise<Answer>>();
    let acting: Promise<void> = Promise.resolve();
    const wrapStore = (store: Store): Store =>
      wrappedStore(store, {
        commit: async (change) => {
          for (const [userId, act] of acts) {
            if (!change.write.some((write) => 'remove' in write && write.remove === KEYS.user(userId))) continue;
            acts.delete(userId);
            const granting = (async () => {
              // The clock goes on once while it is asked at most, and then it is late.
              while ((await act()).status >= 500);
            })();
            acting = granting;
            await granting;
          }
          return await store.commit(change);
        },
      });
    await using panel = await panelMuster(backend, { clock, wrapStore });
    const promoted = await make(panel, 'promoted');
    const linked = await make(panel, 'linked');
    const { userId: back, login } = await enteredUser(panel.muster);
    const grants: readonly (readonly [string, () => Promise<Answer>])[] = [
      [promoted, () => asOperator(panel.muster, `/users/${promoted}`, { method: 'PATCH', body: { operator: true } })],
      [linked, () => asOperator(panel.muster, `/users/${linked}/reset`, { method: 'POST' })],
      [back, () => new Visitor(panel.muster).post('/sign-in/password', { login, password: GOOD_PASSWORD })],
    ];
    for (const [userId, act] of grants) acts.set(userId, act);
    // The session ends, and is removed, before the week is over.
    clock.advance(6 * DAY_MS);
    clock.advance(DAY_MS + HOUR_MS);
    const isDone = async (): Promise<boolean> => {
      await acting;
      return acts.size === 0;
    };
    await untilPassing(clock, isDone, 60_000);
    expect(await Promise.all(grants.map(([userId]) => isThere(panel, userId)))).toEqual([true, true, true]);
    expect(await deletions(panel)).toEqual([]);
  });

  test('of an account: 500 come by its invitations, and of two who would be the last one comes', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const other = (await tenant(panel.muster)).accountId;
    const owner = await signedIn(panel.store, {
      accounts: [accountId, other].map((id) => ({ accountId: id, role: 'owner' as const })),
    });
    const browser = new Visitor(panel.muster, { browser: owner });
    const tokenFor = async (id: string): Promise<string> =>
      tokenOf((await browser.post(`/accounts/${id}/invitations`, { role: 'viewer' })).body['url']);
    for (let made = 1; made < LIMITS.invitedUsersPerAccountMax; made += 1) {
      await putUser(panel.store, { record: { invitedBy: accountId } });
    }
    const tokens = [await tokenFor(accountId), await tokenFor(accountId)];
    const accept = async (token: string, name: string) =>
      await new Visitor(panel.muster).post('/links/accept', {
        token,
        name,
        login: `${name}@example.com`,
        password: GOOD_PASSWORD,
      });
    const answers = await Promise.all(tokens.map((token, index) => accept(token, `guest${index}`)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect(answers.map(codeOf)).toContain('conflict');
    // A user who is there already joins, and another account has a bound of its own.
    const { visitor } = await enteredUser(panel.muster, { login: 'there@example.com' });
    expect((await visitor.post('/links/accept', { token: await tokenFor(accountId) })).status).toBe(200);
    expect((await accept(await tokenFor(other), 'elsewhere')).status).toBe(200);
  });
});
