import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { panelMuster, putUser, signedIn } from '../../support/panel/panel-users.ts';
import { withPasskey } from '../../support/panel/passkeys.ts';
import { asOperator, enteredUser, GOOD_PASSWORD, OTHER_PASSWORD, Visitor } from '../../support/panel/visitor.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* What was added to a user's ways in is shown to the user, and goes with a password on request. */

const additionsOf = async (visitor: Visitor): Promise<unknown> => (await visitor.ask('/me')).body['additions'];

onEachBackend('what was added to a user’s ways in', (backend) => {
  test('a passkey is shown with its name, its instant and the address of the client, and is in the audit', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const { visitor, userId } = await enteredUser(muster);
    const { id } = await withPasskey(visitor, 'Laptop');
    const at = new Date(clock.now()).toISOString();
    expect(await additionsOf(visitor)).toContainEqual({ kind: 'passkey', at, name: 'Laptop', client: '127.0.0.1' });
    expect((await visitor.ask(`/me/passkeys/${id}`, { method: 'DELETE' })).status).toBe(204);
    // It is told what there was, also once it is gone.
    expect(await additionsOf(visitor)).toContainEqual({ kind: 'passkey', at, name: 'Laptop', client: '127.0.0.1' });
    const { entries } = (await asOperator(muster, '/audit?limit=100')).body as { entries: { action: string }[] };
    const detail = { userId, client: '127.0.0.1' };
    for (const action of ['passkey.added', 'passkey.removed']) {
      expect(entries).toContainEqual(expect.objectContaining({ action, actor: `user:${userId}`, detail }));
    }
  });

  test(`the last ${LIMITS.additionsKeptMax} are kept`, async () => {
    await using panel = await panelMuster(backend);
    const old = Array.from({ length: LIMITS.additionsKeptMax }, (_, index) => ({
      kind: 'passkey' as const,
      at: index,
      name: `key ${index}`,
      client: '::1',
    }));
    const userId = await putUser(panel.store, { record: { additions: old } });
    const visitor = new Visitor(panel.muster, { browser: await signedIn(panel.store, userId) });
    await withPasskey(visitor, 'Laptop');
    const names = ((await additionsOf(visitor)) as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual([...old.slice(1).map(({ name }) => name), 'Laptop']);
  });

  test('a sign-in from a new browser is shown to the others, and a later one from the same browser is not', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const { visitor, login } = await enteredUser(muster);
    const first = clock.now();
    const isoOf = (at: number): string => new Date(at).toISOString();
    const sessionOf = async (of: Visitor): Promise<unknown> => (await of.ask('/me')).body['session'];
    const browsers = async (of: Visitor): Promise<string[]> =>
      ((await additionsOf(of)) as { kind: string; at: string }[])
        .filter(({ kind }) => kind === 'browser')
        .map(({ at }) => at);
    expect(await sessionOf(visitor)).toMatchObject({ previousAt: null });
    const signIn = (of: Visitor) => of.post('/sign-in/password', { login, password: GOOD_PASSWORD });
    clock.advance(60_000);
    const thief = new Visitor(muster);
    const second = clock.now();
    expect((await signIn(thief)).status).toBe(200);
    expect(await browsers(visitor)).toEqual([isoOf(first), isoOf(second)]);
    clock.advance(60_000);
    for (const one of [thief, visitor]) expect((await signIn(one)).status).toBe(200);
    expect(await browsers(visitor)).toEqual([isoOf(first), isoOf(second)]);
    // What came since then is new to this browser: a sign-in of another one moves nothing.
    expect(await sessionOf(visitor)).toMatchObject({ previousAt: isoOf(first) });
    expect(await sessionOf(thief)).toMatchObject({ previousAt: isoOf(second) });
    // Of a cookie that nobody gave, nothing is known.
    const forger = new Visitor(muster);
    forger.setCookie('-browser', 'A'.repeat(43));
    expect((await signIn(forger)).status).toBe(200);
    expect(await browsers(visitor)).toHaveLength(3);
    // A proof is no sign-in.
    expect((await forger.post('/me/proof/password', { password: GOOD_PASSWORD })).status).toBe(204);
    expect(await sessionOf(forger)).toMatchObject({ previousAt: null });
    expect(await browsers(forger)).toHaveLength(3);
  });

  test('a new password takes along the passkeys and identities that are named, and no others', async () => {
    await using panel = await panelMuster(backend);
    const { visitor, userId, login } = await enteredUser(panel.muster);
    const [own, foreign] = [await withPasskey(visitor, 'Laptop'), await withPasskey(visitor, 'Of the thief')];
    const body = { current: GOOD_PASSWORD, password: OTHER_PASSWORD, removePasskeys: [foreign.id, 'AAAA'] };
    const changed = await visitor.ask('/me/password', { method: 'PUT', body });
    expect(changed.status).toBe(204);
    const { entries } = (await asOperator(panel.muster, '/audit?limit=100')).body as { entries: object[] };
    const detail = { userId, client: '127.0.0.1', passkeysRemoved: 1 };
    expect(entries).toContainEqual(expect.objectContaining({ action: 'password.changed', detail }));
    const { passkeys } = (await visitor.ask('/me/passkeys')).body as { passkeys: { name: string }[] };
    expect(passkeys.map(({ name }) => name)).toEqual(['Laptop']);
    const other = new Visitor(panel.muster);
    const begun = await other.post('/sign-in/passkey/options');
    const refused = await other.post('/sign-in/passkey', {
      response: foreign.get(begun.body['options'], other.origin),
    });
    expect(refused.status).toBe(401);
    const first = await other.post('/sign-in/password', { login, password: OTHER_PASSWORD });
    const entered = await other.post('/sign-in/passkey', { response: own.get(first.body['options'], other.origin) });
    expect(entered.status).toBe(200);
    expect((await other.ask('/me')).body['userId']).toBe(userId);
  });

  test('identities are listed by their names, and unlinked by their ids with the roles that came by them', async () => {
    await using panel = await panelMuster(backend);
    const issuer = 'https://id.example.com';
    const identities = [
      { issuer, subject: 'ann', name: 'Ann', linkedAt: Date.UTC(2026, 0, 31) },
      { issuer, subject: 'thief' },
    ];
    const record = { identities, password: undefined, mapped: { operator: true, accounts: [], at: Date.now() } };
    const userId = await putUser(panel.store, { record });
    const visitor = new Visitor(panel.muster, { browser: await signedIn(panel.store, userId) });
    const listed = (await visitor.ask('/me/identities')).body['identities'] as { identityId: string }[];
    expect(listed).toMatchObject([
      { name: 'Ann', issuer, linkedAt: '2026-01-31T00:00:00.000Z' },
      { name: 'thief', issuer, linkedAt: null },
    ]);
    expect((await visitor.ask('/me')).body['operator']).toBe(true);
    const unlinkIdentities = [listed[1]?.identityId ?? '', 'a'.repeat(43)];
    const body = { password: GOOD_PASSWORD, unlinkIdentities };
    expect((await visitor.ask('/me/password', { method: 'PUT', body })).status).toBe(204);
    expect((await visitor.ask('/me/identities')).body['identities']).toEqual(listed.slice(0, 1));
    expect((await visitor.ask('/me')).body['operator']).toBe(false);
  });
});
