import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { panelMuster, putUser, rewrite, signedIn } from '../../support/panel/panel-users.ts';
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

  const KINDS = ['passkey', 'browser'] as const;
  const additionsBefore = (kinds: readonly (typeof KINDS)[number][]) =>
    Array.from({ length: LIMITS.additionsKeptMax * kinds.length }, (_, index) => ({
      kind: kinds[index % kinds.length] ?? 'passkey',
      at: index,
      name: `${index}`,
      client: '::1',
    }));
  const namesOf = async (visitor: Visitor): Promise<string[]> =>
    ((await additionsOf(visitor)) as { name: string }[]).map(({ name }) => name);

  test(`the last ${LIMITS.additionsKeptMax} of each kind are kept`, async () => {
    await using panel = await panelMuster(backend);
    const old = additionsBefore(KINDS);
    const userId = await putUser(panel.store, { record: { additions: old } });
    const visitor = new Visitor(panel.muster, { browser: await signedIn(panel.store, userId) });
    await withPasskey(visitor, 'Laptop');
    expect(await namesOf(visitor)).toEqual([...old.slice(1).map(({ name }) => name), 'Laptop']);
  });

  test('sign-ins from new browsers push no passkey out', async () => {
    await using panel = await panelMuster(backend);
    const { visitor, userId, login } = await enteredUser(panel.muster);
    await rewrite(panel, KEYS.user(userId), (record) => ({
      ...record,
      additions: [{ kind: 'passkey', at: 1, name: 'Of the thief', client: '::1' }, ...additionsBefore(['browser'])],
    }));
    const again = new Visitor(panel.muster);
    expect((await again.post('/sign-in/password', { login, password: GOOD_PASSWORD })).status).toBe(200);
    const names = await namesOf(visitor);
    expect([names[0], names.length]).toEqual(['Of the thief', LIMITS.additionsKeptMax + 1]);
  });

  test('a passkey that can still be used is not pushed out by others that come and go', async () => {
    const clock = new FakeClock();
    await using panel = await panelMuster(backend, { clock });
    const { visitor, userId } = await enteredUser(panel.muster);
    const thief = await withPasskey(visitor, 'Of the thief');
    clock.advance(1000);
    await rewrite(panel, KEYS.user(userId), ({ additions, ...record }) => ({
      ...record,
      additions: [...(additions as object[]), ...additionsBefore(['passkey'])].filter(
        (one) => (one as { kind: string }).kind === 'passkey',
      ),
    }));
    await withPasskey(visitor, 'Another');
    let names = await namesOf(visitor);
    expect([names[0], names.at(-1), names.length]).toEqual(['Of the thief', 'Another', LIMITS.additionsKeptMax]);
    // Once it is gone, it makes room as others do.
    expect((await visitor.ask(`/me/passkeys/${thief.id}`, { method: 'DELETE' })).status).toBe(204);
    clock.advance(1000);
    await withPasskey(visitor, 'A third');
    names = await namesOf(visitor);
    expect([names.includes('Of the thief'), names.at(-1), names.length]).toEqual([
      false,
      'A third',
      LIMITS.additionsKeptMax,
    ]);
  });

  test('a sign-in from a new browser is shown to the others, and a later one from the same browser is not', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const { visitor, login } = await enteredUser(muster);
    const first = clock.now();
    const isoOf = (at: number): string => new Date(at).toISOString();
    const browsers = async (of: Visitor): Promise<string[]> =>
      ((await additionsOf(of)) as { kind: string; at: string }[])
        .filter(({ kind }) => kind === 'browser')
        .map(({ at }) => at);
    const signIn = (of: Visitor) => of.post('/sign-in/password', { login, password: GOOD_PASSWORD });
    clock.advance(60_000);
    const thief = new Visitor(muster);
    const second = clock.now();
    expect((await signIn(thief)).status).toBe(200);
    expect(await browsers(visitor)).toEqual([isoOf(first), isoOf(second)]);
    clock.advance(60_000);
    for (const one of [thief, visitor]) expect((await signIn(one)).status).toBe(200);
    expect(await browsers(visitor)).toEqual([isoOf(first), isoOf(second)]);
    // Of a cookie that nobody gave, nothing is known.
    const forger = new Visitor(muster);
    forger.setCookie('-browser', 'A'.repeat(43));
    expect((await signIn(forger)).status).toBe(200);
    expect(await browsers(visitor)).toHaveLength(3);
    // A proof is no sign-in.
    expect((await forger.post('/me/proof/password', { password: GOOD_PASSWORD })).status).toBe(204);
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
