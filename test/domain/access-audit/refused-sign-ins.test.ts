import { expect, test } from 'vitest';
import {
  FailedAttempts,
  TRIED_ACCOUNTS_MAX,
  TRIED_USERS_MAX,
} from '../../../src/domain/access-audit/failed-attempts.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { OPERATOR_AUDIT } from '../../../src/domain/records/audit-records.ts';
import { signInsOf } from '../../../src/domain/records/attempt-records.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { Authenticator } from '../../support/panel/authenticator.ts';
import { panelMuster, rewrite } from '../../support/panel/panel-users.ts';
import { asOperator, enteredUser, GOOD_PASSWORD, Visitor } from '../../support/panel/visitor.ts';
import { metric } from '../../support/service/daemon.ts';
import type { Muster } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { untilPassing } from '../../support/time/until-passing.ts';

/* Failed sign-ins in the audit, the metrics and the log, and as their user sees them. */

interface Entry {
  readonly action: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

const auditOf = async (muster: Muster, action: string): Promise<readonly Entry[]> =>
  ((await asOperator(muster, '/audit?limit=1000')).body['entries'] as Entry[]).filter(
    (entry) => entry.action === action,
  );

const failures = (muster: Muster, credential: string, reason: string): Promise<number> =>
  metric(muster, `muster_authentication_failures_total{credential="${credential}",reason="${reason}"}`);

const started = { env: { MUSTER_TRUSTED_PROXIES: '127.0.0.1/32' } };

onEachBackend('failed sign-ins', (backend) => {
  test('are in the audit by user, an entry an hour, with number, clients and ways, and the user sees them', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock, ...started });
    const { muster, store } = panel;
    const { visitor, userId, login } = await enteredUser(muster);
    const passkey = new Authenticator();
    const begun = await visitor.post('/me/passkeys/options');
    const response = passkey.create(begun.body['options'], visitor.origin);
    expect((await visitor.post('/me/passkeys', { name: 'Key', response })).status).toBe(201);
    expect((await visitor.ask('/me/refused-sign-ins')).body).toEqual({ refused: [] });

    const from = (address: string): Visitor => new Visitor(muster, { address });
    const typed = 'a-password-of-elsewhere';
    const byPassword = (address: string, name = login): Promise<number> =>
      from(address)
        .post('/sign-in/password', { login: name, password: typed })
        .then(({ status }) => status);
    expect(await byPassword('192.0.2.1')).toBe(401);
    const forger = from('192.0.2.2');
    const challenge = (await forger.post('/sign-in/passkey/options')).body['options'];
    const forged = passkey.get(challenge, forger.origin, { isUserVerified: false });
    expect((await forger.post('/sign-in/passkey', { response: forged })).status).toBe(401);
    // Whoever is signed in, and does not know the password so far.
    const body = { current: typed, password: 'a row of brass lanterns' };
    expect((await visitor.ask('/me/password', { method: 'PUT', body })).status).toBe(401);
    const proof = passkey.get((await visitor.post('/me/proof/passkey/options')).body['options'], visitor.origin, {
      isUserVerified: false,
    });
    expect((await visitor.post('/me/proof/passkey', { response: proof })).status).toBe(401);

    expect([
      await failures(muster, 'password', 'wrong_secret'),
      await failures(muster, 'passkey', 'wrong_secret'),
    ]).toEqual([2, 2]);
    const told = async (): Promise<readonly Entry[]> =>
      (await auditOf(muster, 'sign-in.refused')).filter(({ detail }) => detail['userId'] === userId);
    const sum = (entries: readonly Entry[]): number =>
      entries.reduce((all, { detail }) => all + Number(detail['count']), 0);
    await untilPassing(clock, async () => sum(await told()) === 4, 600_000);
    const all = await told();
    expect(new Set(all.flatMap(({ detail }) => String(detail['ways']).split(' ')))).toEqual(
      new Set(['passkey', 'password']),
    );
    expect(all.map(({ detail }) => detail['clients']).join(' ')).toContain('192.0.2.1');

    const entries = await told();
    // A right password that a passkey has to follow is no failure.
    const again = await from('192.0.2.9').post('/sign-in/password', { login, password: GOOD_PASSWORD });
    expect(again.body).toMatchObject({ next: 'passkey' });
    const own = from('192.0.2.9');
    const options = (await own.post('/sign-in/passkey/options')).body['options'];
    expect((await own.post('/sign-in/passkey', { response: passkey.get(options, own.origin) })).status).toBe(200);
    const seen = (await own.ask('/me/refused-sign-ins')).body['refused'] as {
      count: number;
      clients: string[];
      ways: string[];
    }[];
    expect(seen.map(({ count }) => count)).toEqual(entries.map(({ detail }) => detail['count']).toReversed());
    expect(seen.at(-1)?.clients.length).toBeGreaterThan(0);
    // A sign-in that succeeded says where it came from.
    const created = (await auditOf(muster, 'session.created')).filter(({ detail }) => detail['userId'] === userId);
    expect(created.at(-1)?.detail).toMatchObject({ method: 'passkey', client: '192.0.2.9' });

    // What was typed is nowhere.
    const record = await store.get(KEYS.attempted(signInsOf(userId)));
    expect(record && parseRecord(KEYS.attempted, record).record.last?.length).toBe(entries.length);
    const lines = muster.logged.filter((line) => line.includes('not authenticated'));
    expect(lines.map((line) => (JSON.parse(line) as { userId?: string }).userId)).toEqual(
      Array.from({ length: 4 }, () => userId),
    );
    const everything = [
      muster.logged.join(),
      JSON.stringify(await auditOf(muster, 'sign-in.refused')),
      record?.value,
    ].join();
    expect(everything).not.toContain(typed);
    expect(everything).not.toContain(login);

    // They go with their user.
    expect((await asOperator(muster, `/users/${userId}`, { method: 'DELETE' })).status).toBe(204);
    expect(await store.get(KEYS.attempted(signInsOf(userId)))).toBeUndefined();
  });

  test('as somebody who is not there are in the audit without a name, links and the provider among them', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock, ...started });
    const { muster } = panel;
    const typed = 'hunter2-was-my-password';
    const visitor = new Visitor(muster, { address: '2001:db8::7' });
    expect((await visitor.post('/sign-in/password', { login: typed, password: 'x' })).status).toBe(401);
    const token = `mst_link_operator_${'A'.repeat(43)}`;
    expect((await visitor.post('/links/read', { token })).status).toBe(400);
    expect(
      (await visitor.post('/links/accept', { token, name: 'A', login: 'a', password: GOOD_PASSWORD })).status,
    ).toBe(400);
    const options = (await visitor.post('/sign-in/passkey/options')).body['options'];
    const response = new Authenticator().get(options, visitor.origin);
    expect((await visitor.post('/sign-in/passkey', { response })).status).toBe(401);
    expect(await failures(muster, 'password', 'unknown')).toBe(1);
    expect(await failures(muster, 'passkey', 'unknown')).toBe(1);
    const links = (await failures(muster, 'link', 'unknown')) + (await failures(muster, 'link', 'malformed'));
    expect(links).toBe(2);
    const told = (): Promise<readonly Entry[]> => auditOf(muster, 'sign-in.refused');
    const sum = async (): Promise<number> =>
      (await told()).reduce((all, { detail }) => all + Number(detail['count']), 0);
    await untilPassing(clock, async () => (await sum()) === 4, 600_000);
    const details = (await told()).map(({ detail }) => detail);
    expect(details.every((detail) => !('userId' in detail) && String(detail['clients']) === '2001:db8::7')).toBe(true);
    expect(new Set(details.flatMap(({ ways }) => String(ways).split(' ')))).toEqual(
      new Set(['link', 'passkey', 'password']),
    );
    expect(muster.logged.join() + JSON.stringify(details)).not.toContain(typed);
    const line = muster.logged.find((line) => line.includes('"credential":"password"')) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({ msg: 'not authenticated', why: 'unknown', client: '2001:db8::7' });
  });

  test('of a disabled user, and by a link of one, are told apart in the metrics alone', async () => {
    await using panel = await panelMuster(backend, started);
    const { muster } = panel;
    const { login, userId } = await enteredUser(muster);
    expect((await asOperator(muster, `/users/${userId}`, { method: 'PATCH', body: { disabled: true } })).status).toBe(
      200,
    );
    const answers = [
      await new Visitor(muster).post('/sign-in/password', { login, password: GOOD_PASSWORD }),
      await new Visitor(muster).post('/sign-in/password', { login: 'nobody@example.com', password: GOOD_PASSWORD }),
    ];
    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [401, answers[0]?.text],
      [401, answers[0]?.text],
    ]);
    expect([await failures(muster, 'password', 'disabled'), await failures(muster, 'password', 'unknown')]).toEqual([
      1, 1,
    ]);
  });

  test('beyond what one address may try are told of as well', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock, ...started });
    const { muster } = panel;
    const visitor = new Visitor(muster, { address: '192.0.2.7' });
    const options = (await visitor.post('/sign-in/passkey/options')).body['options'];
    const response = new Authenticator().get(options, visitor.origin);
    const token = `mst_link_operator_${'A'.repeat(43)}`;
    const statuses = new Set<number>();
    for (let attempt = 0; attempt < 25; attempt += 1) {
      statuses.add((await visitor.post('/sign-in/passkey', { response })).status);
      statuses.add((await visitor.post('/links/accept', { token })).status);
    }
    expect(statuses).toEqual(new Set([401, 400, 429]));
    const expired = (await failures(muster, 'passkey', 'expired')) + (await failures(muster, 'passkey', 'unknown'));
    expect([expired, await failures(muster, 'link', 'unknown')]).toEqual([25, 25]);
    expect(muster.logged.filter((line) => line.includes('not authenticated'))).toHaveLength(50);
  });

  test('of a user who was deleted meanwhile come back in no record', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock, ...started });
    const { muster, store } = panel;
    const { userId, login } = await enteredUser(muster);
    const other = await enteredUser(muster, { login: 'other@example.com' });
    for (const name of [login, other.login]) {
      const failed = await new Visitor(muster).post('/sign-in/password', { login: name, password: 'wrong' });
      expect(failed.status).toBe(401);
    }
    expect((await asOperator(muster, `/users/${userId}`, { method: 'DELETE' })).status).toBe(204);
    const told = async (): Promise<readonly unknown[]> =>
      (await auditOf(muster, 'sign-in.refused')).map(({ detail }) => detail['userId']);
    await untilPassing(clock, async () => (await told()).includes(other.userId), 60_000);
    clock.advance(7_200_000);
    await untilPassing(clock, async () => (await told()).length === 1, 60_000);
    expect(await store.get(KEYS.attempted(signInsOf(userId)))).toBeUndefined();
  });

  test('that a user sees are bounded, and a record that is damaged shows none', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock, ...started });
    const { muster } = panel;
    const { visitor, userId, login } = await enteredUser(muster);
    const key = KEYS.attempted(signInsOf(userId));
    const fail = (): Promise<unknown> =>
      new Visitor(muster, { address: '192.0.2.3' }).post('/sign-in/password', { login, password: 'wrong' });
    await fail();
    const seen = async (): Promise<readonly { count: number }[]> =>
      (await visitor.ask('/me/refused-sign-ins')).body['refused'] as { count: number }[];
    await untilPassing(clock, async () => (await seen()).length === 1, 10_000);
    const earlier = Array.from({ length: LIMITS.refusedSignInsListedMax }, (_, n) => ({
      at: n,
      count: n,
      clients: [],
      ways: [],
    }));
    await rewrite(panel, key, (record) => ({ ...record, at: 0, last: earlier }));
    expect((await seen()).length).toBe(LIMITS.refusedSignInsListedMax);
    await rewrite(panel, key, () => ({ at: 'never' }));
    expect(await seen()).toEqual([]);
  });
});

test('users in memory are bounded, and hide neither names that nobody has nor failed keys', () => {
  const attempts = new FailedAttempts(new FakeClock());
  const fail = (of: string): void => attempts.failed({ of, way: 'password', client: 'a' });
  fail(signInsOf());
  attempts.failed({ of: OPERATOR_AUDIT, client: 'a' });
  attempts.failed({ of: 'account', keyId: 'key', client: 'a' });
  for (let n = 0; n < TRIED_USERS_MAX + 30; n += 1) fail(signInsOf(`user-${n}`));
  const { attempts: secrets = [], signIns = [] } = attempts.published();
  expect(secrets.map(({ of }) => of)).toEqual([OPERATOR_AUDIT, 'account']);
  expect(secrets.every((one) => !('ways' in one))).toBe(true);
  expect(signIns).toHaveLength(TRIED_USERS_MAX);
  // Those who made room are told of without a name.
  const sum = signIns.reduce((all, { count }) => all + count, 0);
  expect([signIns[0], sum]).toMatchObject([{ of: signInsOf(), count: 32, ways: ['password'] }, TRIED_USERS_MAX + 31]);
  expect(TRIED_USERS_MAX).toBeLessThan(TRIED_ACCOUNTS_MAX);
});
