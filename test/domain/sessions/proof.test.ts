import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { OPERATIONS } from '../../../src/api/panel/routes.ts';
import { Authenticator } from '../../support/panel/authenticator.ts';
import type { BodyField } from '../../../src/api/contract/operation.ts';
import { requestsNeedingProof } from '../../support/panel/operation-request.ts';
import { ask, panelMuster, putUser, rewrite, signedIn, type Browser } from '../../support/panel/panel-users.ts';
import { withPasskey } from '../../support/panel/passkeys.ts';
import { WITH_PROOF, WITHOUT_PROOF } from '../../support/panel/proof-decisions.ts';
import { codeOf, enteredUser, GOOD_PASSWORD, OTHER_PASSWORD, Visitor } from '../../support/panel/visitor.ts';
import { tenant, type Answer } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* A18: what makes a further way in needs a proof of the person, and a stolen cookie is none. */

const STALE = LIMITS.freshProofMs + 1;

/** @param by the passkey that answers the challenge */
async function proved(visitor: Visitor, by: Authenticator): Promise<Answer> {
  const begun = await visitor.post('/me/proof/passkey/options');
  return await visitor.post('/me/proof/passkey', { response: by.get(begun.body['options'], visitor.origin) });
}

const isProved = async (visitor: Visitor): Promise<boolean> => (await visitor.ask('/me/proof')).status === 204;

test('each operation that changes something is decided, and so is each field of one that needs a proof for some alone', () => {
  const [needing, others]: [string[], string[]] = [[], []];
  for (const { id, method, freshProof, body } of OPERATIONS) {
    if (freshProof === undefined) {
      if (method !== 'get') others.push(id);
    } else if (!Array.isArray(freshProof)) {
      needing.push(id);
    } else {
      const rules: readonly BodyField<string>[] = freshProof;
      const valued = rules.filter((rule) => typeof rule === 'object');
      const fields = rules.map((rule) => (typeof rule === 'object' ? rule.field : rule));
      needing.push(...fields.map((field) => `${id}.${field}`));
      others.push(...valued.map(({ field, is }) => `${id}.${field}, but ${String(is)}`));
      const rest = Object.keys(body?.shape ?? {}).filter((field) => !fields.includes(field));
      others.push(...rest.map((field) => `${id}.${field}`));
    }
  }
  expect(needing.sort(), 'add each operation to a list of test/support/panel/proof-decisions.ts').toEqual(
    Object.keys(WITH_PROOF).sort(),
  );
  expect(others.sort(), 'add each operation to a list of test/support/panel/proof-decisions.ts').toEqual(
    Object.keys(WITHOUT_PROOF).sort(),
  );
});

onEachBackend('a proof of the person', (backend) => {
  test('each operation that needs one is refused to a session without, to one of ten minutes ago, and to no fresh one', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { accountId } = await tenant(panel.muster);
    const userId = await putUser(panel.store, { operator: true });
    const sessions = await Promise.all(
      [undefined, { at: clock.now() - STALE, by: 'password' as const }].map(async (proof) =>
        signedIn(panel.store, userId, { proof }),
      ),
    );
    const needing = OPERATIONS.filter(({ freshProof }) => freshProof !== undefined && freshProof !== 'by-state');
    expect(needing.length).toBeGreaterThan(15);
    const requests = needing.flatMap((operation) =>
      requestsNeedingProof(operation, accountId).map((one) => ({ operation, ...one })),
    );
    for (const { operation, path, request } of requests) {
      for (const session of sessions) {
        const refused = await ask(panel, session, path, request);
        expect([operation.id, refused.status, codeOf(refused)]).toEqual([operation.id, 403, 'proof_required']);
      }
    }
    for (const { operation, path, request } of requests) {
      const fresh = await signedIn(panel.store, userId, {
        proof: { at: clock.now() - LIMITS.freshProofMs, by: 'password' },
      });
      expect([operation.id, codeOf(await ask(panel, fresh, path, request))]).not.toEqual([
        operation.id,
        'proof_required',
      ]);
    }
  });

  test('a stolen cookie of an operator takes away, and gives nothing back', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const userId = await putUser(panel.store, { operator: true });
    const stolen = await signedIn(panel.store, await putUser(panel.store, { operator: true }), { proof: undefined });
    const owner = await signedIn(panel.store, stolen.userId);
    for (const path of [`/users/${userId}`, `/accounts/${accountId}`]) {
      const change = (by: Browser, body: object) => ask(panel, by, path, { method: 'PATCH', body });
      expect((await change(stolen, { disabled: true })).status).toBe(200);
      const back = await change(stolen, { name: 'Ann', disabled: false });
      expect([path, back.status, codeOf(back)]).toEqual([path, 403, 'proof_required']);
      expect((await change(stolen, { name: 'Bob' })).body).toMatchObject({ name: 'Bob', disabled: true });
      expect((await change(owner, { disabled: false })).body).toMatchObject({ name: 'Bob', disabled: false });
    }
  });

  test('a stolen cookie adds, removes and links nothing, and a proof of its owner makes it no fresher', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const { visitor } = await enteredUser(muster);
    clock.advance(STALE);
    const thief = new Visitor(muster);
    thief.setCookie('', visitor.cookie('') ?? '');
    expect(await thief.me()).toBe(200);
    for (const [method, path] of [
      ['POST', '/me/passkeys/options'],
      ['DELETE', `/me/passkeys/${'a'.repeat(43)}`],
      ['POST', '/me/provider'],
      ['DELETE', '/me/provider'],
    ] as const) {
      const refused = await thief.ask(path, { method, ...(method === 'POST' && { body: {} }) });
      expect([path, refused.status, codeOf(refused)]).toEqual([path, 403, 'proof_required']);
    }
    const wrong = await thief.post('/me/proof/password', { password: OTHER_PASSWORD });
    expect([wrong.status, codeOf(wrong), await isProved(thief)]).toEqual([401, 'sign_in_failed', false]);
    const right = await visitor.post('/me/proof/password', { password: GOOD_PASSWORD });
    expect([right.status, await isProved(visitor)]).toEqual([204, true]);
    // The proof was given to the browser that made it, under another token.
    expect([await thief.me(), await visitor.me()]).toEqual([401, 200]);
    await withPasskey(visitor);
  });

  test('it lasts ten minutes and not longer, and a change of the roles keeps it as it is', async () => {
    const clock = new FakeClock();
    await using panel = await panelMuster(backend, { clock });
    const { visitor, userId } = await enteredUser(panel.muster);
    clock.advance(LIMITS.freshProofMs);
    expect(await isProved(visitor)).toBe(true);
    await rewrite(panel, KEYS.user(userId), (record) => ({ ...record, rolesAt: clock.now() }));
    const before = visitor.cookie('');
    expect([await visitor.me(), visitor.cookie('') === before, await isProved(visitor)]).toEqual([200, false, true]);
    clock.advance(1);
    expect(await isProved(visitor)).toBe(false);
    expect((await visitor.post('/me/proof/password', { password: GOOD_PASSWORD })).status).toBe(204);
    const { session } = (await visitor.ask('/me')).body as { session: { createdAt: string; expiresAt: string } };
    // The sign-in is as old as it was, and ends when it would have ended.
    expect(Date.parse(session.expiresAt) - Date.parse(session.createdAt)).toBe(7 * 86_400_000);
  });

  test('it is what a sign-in would ask for: with a passkey, the password alone is none', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const { visitor } = await enteredUser(muster);
    const bob = await enteredUser(muster, { login: 'bob@example.com', name: 'Bob' });
    const noPasskey = await visitor.post('/me/proof/passkey/options');
    expect([noPasskey.status, codeOf(noPasskey)]).toEqual([409, 'conflict']);
    const [own, foreign] = [await withPasskey(visitor), await withPasskey(bob.visitor)];
    clock.advance(STALE);
    const byPassword = await visitor.post('/me/proof/password', { password: GOOD_PASSWORD });
    expect([byPassword.status, codeOf(byPassword), await isProved(visitor)]).toEqual([409, 'conflict', false]);
    expect([(await proved(visitor, foreign)).status, await isProved(visitor)]).toEqual([401, false]);
    // A challenge of a sign-in, and that of another user, are no challenge of a proof.
    const begun = await bob.visitor.post('/me/proof/passkey/options');
    visitor.setCookie('-flow', bob.visitor.cookie('-flow') ?? '');
    const response = own.get(begun.body['options'], visitor.origin);
    expect((await visitor.post('/me/proof/passkey', { response })).status).toBe(401);
    expect([(await proved(visitor, own)).status, await isProved(visitor)]).toEqual([204, true]);
  });

  test('what one session has begun, another one of the same user does not go on with', async () => {
    await using panel = await panelMuster(backend);
    const { visitor, userId } = await enteredUser(panel.muster);
    const authenticator = await withPasskey(visitor);
    const other = new Visitor(panel.muster, { browser: await signedIn(panel.store, userId) });
    const begun = await visitor.post('/me/proof/passkey/options');
    const response = authenticator.get(begun.body['options'], visitor.origin);
    other.setCookie('-flow', visitor.cookie('-flow') ?? '');
    const refused = await other.post('/me/proof/passkey', { response });
    expect([refused.status, codeOf(refused)]).toEqual([401, 'sign_in_failed']);
    expect((await visitor.post('/me/proof/passkey', { response })).status).toBe(204);
    const addition = await visitor.post('/me/passkeys/options');
    const added = { name: 'Phone', response: new Authenticator().create(addition.body['options'], visitor.origin) };
    other.setCookie('-flow', visitor.cookie('-flow') ?? '');
    expect((await other.post('/me/passkeys', added)).status).toBe(400);
    expect((await visitor.post('/me/passkeys', added)).status).toBe(201);
  });

  test('wrong passwords are as bounded as at a sign-in', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const { visitor } = await enteredUser(muster);
    const thief = new Visitor(muster);
    thief.setCookie('', visitor.cookie('') ?? '');
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 12; attempt += 1) {
      statuses.push((await thief.post('/me/proof/password', { password: OTHER_PASSWORD })).status);
    }
    expect(statuses).toContain(429);
  });

  test('a password that is changed, and a passkey that is removed, while a proof is under way prove nothing', async () => {
    const clock = new FakeClock();
    const before = new BeforeCommit('d/s/');
    await using panel = await panelMuster(backend, { clock, wrapStore: before.wrapStore });
    const { visitor, userId } = await enteredUser(panel.muster);
    clock.advance(STALE);
    const user = KEYS.user(userId);
    const { password } = JSON.parse((await panel.store.get(user))?.value ?? '{}') as { password: object };
    before.next = () => rewrite(panel, user, (record) => ({ ...record, password: { hash: 'none', at: 1 } }));
    const raced = await visitor.post('/me/proof/password', { password: GOOD_PASSWORD });
    expect([before.isDone, raced.status, codeOf(raced)]).toEqual([true, 401, 'sign_in_failed']);
    expect(await isProved(visitor)).toBe(false);
    await rewrite(panel, user, (record) => ({ ...record, password }));
    expect((await visitor.post('/me/proof/password', { password: GOOD_PASSWORD })).status).toBe(204);
    const authenticator = await withPasskey(visitor);
    clock.advance(STALE);
    before.next = () => rewrite(panel, user, (record) => ({ ...record, passkeys: [] }));
    const removed = await proved(visitor, authenticator);
    expect([before.isDone, removed.status, codeOf(removed)]).toEqual([true, 401, 'sign_in_failed']);
    expect(await isProved(visitor)).toBe(false);
  });

  test('a user who has neither a password nor a passkey makes one right after a new sign-in, and not later', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const userId = await putUser(panel.store, { record: { password: undefined } });
    const signIn = (signedInAt: number | undefined) =>
      signedIn(panel.store, userId, { method: 'link', proof: undefined, signedInAt });
    const begin = async (session: Awaited<ReturnType<typeof signIn>>) =>
      (await ask(panel, session, '/me/passkeys/options', { method: 'POST', body: {} })).status;
    const now = clock.now();
    expect(await begin(await signIn(now))).toBe(200);
    expect(await begin(await signIn(now - STALE))).toBe(403);
    // A session of before this rule says nothing of its sign-in.
    expect(await begin(await signIn(undefined))).toBe(403);
    const owner = await signIn(now);
    const other = await ask(panel, owner, '/me/provider', { method: 'DELETE' });
    expect([other.status, codeOf(other)]).toEqual([403, 'proof_required']);
    await rewrite(panel, KEYS.user(userId), (record) => ({ ...record, password: { hash: 'none', at: 1 } }));
    expect(await begin(owner)).toBe(403);
    const visitor = new Visitor(panel.muster, { browser: await signIn(now) });
    await rewrite(panel, KEYS.user(userId), ({ password: _none, ...record }) => record);
    await withPasskey(visitor);
    // The browser has asked for a finger or a PIN: that is a proof.
    expect(await isProved(visitor)).toBe(true);
  });
});
