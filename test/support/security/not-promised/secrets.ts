import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readConfig } from '../../../../src/config/config.ts';
import { MEMBER_ROLES } from '../../../../src/domain/records/user-records.ts';
import { waitOf, withFailure, NO_FAILURES, type Failures } from '../../../../src/domain/sign-ins/failures.ts';
import { LIMITS } from '../../../../src/domain/limits.ts';
import { generateSecretWord, systemRandom } from '../../../../src/domain/credentials/random-ids.ts';
import { generateEnrollCode } from '../../../../src/domain/credentials/tokens.ts';
import { forgedKey } from '../../records/forged-keys.ts';
import { askBy, askForToken, makeToken } from '../../panel/access-tokens/tokens.ts';
import { ask, panelMuster, signedIn } from '../../panel/panel-users.ts';
import { asOperator, codeOf, enteredUser, GOOD_PASSWORD, tokenOf, Visitor } from '../../panel/visitor.ts';
import { scratchDirectory } from '../../run/scratch-directory.ts';
import { call, createApp, enroll, Muster, type Answer, poll, tenant } from '../../service/muster.ts';
import { FakeClock } from '../../time/fake-clock.ts';
import { BEHIND_PROXY, configure, enrolled, expectAll, from, YEAR_MS, type Checks } from './checks.ts';

/* Sentences about secrets, and about the people and programs that have them. */

const ADDRESSES = ['198.51.100.7', '203.0.113.9', '2001:db8::1'] as const;

export const SECRETS: Checks = {
  "A copied token is not told from the original: an API key without ranges, a credential and a session's cookie work from anywhere.":
    async () => {
      await using panel = await panelMuster(undefined, { env: BEHIND_PROXY });
      const { muster, store } = panel;
      const { apiKey, credential, accountId } = await enrolled(muster);
      const session = await signedIn(store, { operator: true });
      const statuses: number[] = [];
      for (const address of ADDRESSES) {
        const headers = { ...from(address), 'user-agent': `machine at ${address}` };
        statuses.push((await call(`${muster.api}/v1/apps`, { token: apiKey, headers })).status);
        statuses.push((await poll(muster, credential, headers)).status);
        statuses.push((await ask(panel, session, '/me', { headers })).status);
      }
      expectAll(statuses, 200);
      const { body } = await asOperator(muster, `/accounts/${accountId}/audit`);
      const actions = (body['entries'] as { action: string }[]).map(({ action }) => action);
      expect(actions).toEqual(['account.created', 'key.created', 'app.created', 'app.enrolled']);
    },

  'An access token needs no second factor, and works from anywhere.': async () => {
    const env = { ...BEHIND_PROXY, MUSTER_PANEL_SECOND_FACTOR: 'all' };
    await using panel = await panelMuster(undefined, { env });
    const { accountId } = await tenant(panel.muster);
    const user = { accounts: [{ accountId, role: 'viewer' as const }] };
    const without = await signedIn(panel.store, user);
    expect(codeOf(await askForToken(panel, without, { accountId }))).toBe('second_factor_required');
    const ann = await signedIn(panel.store, user, { secondFactor: 'provider' });
    const token = await makeToken(panel, ann, { accountId });
    const read = (address: string) =>
      askBy(panel, token, `/accounts/${accountId}/overview`, { headers: from(address) });
    const answers = await Promise.all(ADDRESSES.map(read));
    expectAll(
      answers.map(({ status }) => status),
      200,
    );
  },

  "Credentials of daemons and operator's tokens do not expire.": async () => {
    const clock = new FakeClock(Date.now());
    await using muster = await Muster.start({ clock });
    const { credential } = await enrolled(muster);
    clock.advance(10 * YEAR_MS);
    expect([(await poll(muster, credential)).status, (await asOperator(muster, '/accounts')).status]).toEqual([
      200, 200,
    ]);
  },

  "Roles of operator's tokens, and the roles `support` and `auditor` of people, are of the whole installation: they read every account.":
    async () => {
      const file = join(scratchDirectory('tokens'), 'tokens');
      const roles = ['support', 'auditor'] as const;
      const tokenOfRole = (role: string): string => role.padEnd(40, 's');
      writeFileSync(file, roles.map((role) => `ann-${role}:${role}:${tokenOfRole(role)}\n`).join(''), { mode: 0o600 });
      await using panel = await panelMuster(undefined, { env: { MUSTER_OPERATOR_TOKEN_FILE: file } });
      const { muster, store } = panel;
      const accounts = [await tenant(muster), await tenant(muster)];
      for (const installationRole of roles) {
        const token = tokenOfRole(installationRole);
        const person = await signedIn(store, { record: { installationRole } });
        for (const { accountId } of accounts) {
          const statuses = [];
          for (const path of ['', '/apps', '/api-keys', '/audit', '/rollout']) {
            const at = `/accounts/${accountId}${path}`;
            statuses.push((await call(`${muster.ops}/operator/v1${at}`, { token })).status);
            statuses.push((await ask(panel, person, at)).status);
          }
          expectAll(statuses, 200);
        }
      }
    },

  "An operator's token needs no proof of a person and no second factor.": async () => {
    await using panel = await panelMuster(undefined, { env: { MUSTER_PANEL_SECOND_FACTOR: 'all' } });
    const { accountId } = await tenant(panel.muster);
    const path = `/accounts/${accountId}/api-keys`;
    const person = await signedIn(panel.store, { operator: true });
    const asked = await ask(panel, person, path, { method: 'POST', body: { name: 'ci' } });
    expect([asked.status, codeOf(asked)]).toEqual([403, 'second_factor_required']);
    expect((await asOperator(panel.muster, path, { method: 'POST', body: { name: 'ci' } })).status).toBe(201);
    expect((await asOperator(panel.muster, '/backup')).status).toBe(200);
  },

  'There is no role between viewer and owner, and none for a part of an account.': async () => {
    expect([...MEMBER_ROLES].toSorted()).toEqual(['owner', 'viewer']);
    await using panel = await panelMuster();
    const { accountId, apiKey } = await tenant(panel.muster);
    const apps = [await createApp(panel.muster, apiKey, 'one'), await createApp(panel.muster, apiKey, 'two')];
    const viewer = await signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    for (const { appId } of apps) {
      const path = `/accounts/${accountId}/apps/${appId}`;
      const revoke = (by: typeof viewer): ReturnType<typeof ask> =>
        ask(panel, by, `${path}/revoke`, { method: 'POST', body: {} });
      expect((await ask(panel, viewer, path)).status).toBe(200);
      expect([(await revoke(viewer)).status, (await revoke(owner)).status]).toEqual([403, 200]);
    }
  },

  'Nobody is asked for a second factor unless `MUSTER_PANEL_SECOND_FACTOR` says so.': async () => {
    expect(readConfig({}).panel?.secondFactor).toBe('off');
    await using muster = await Muster.start();
    const { login } = await enteredUser(muster, { operator: true });
    const visitor = new Visitor(muster);
    expect((await visitor.post('/sign-in/password', { login, password: GOOD_PASSWORD })).status).toBe(200);
    expect((await visitor.ask('/users')).status).toBe(200);
  },

  'Wrong secrets are not slowed down on the API, the device and the ops listener.': async () => {
    await using muster = await Muster.start({ env: BEHIND_PROXY });
    const { appId, apiKey } = await enrolled(muster);
    const random = systemRandom();
    const headers = from(ADDRESSES[0]);
    // Each has the shape and the checksum of a right one.
    const guesses: readonly (() => Promise<Answer>)[] = [
      () => call(`${muster.api}/v1/apps`, { token: forgedKey(apiKey), headers }),
      () => call(`${muster.device}/device/v1/config`, { token: `mst_dev_${generateSecretWord(random)}`, headers }),
      () => call(`${muster.ops}/operator/v1/accounts`, { token: generateSecretWord(random), headers }),
      () => {
        const body = { appId, enrollCode: generateEnrollCode(random).reveal() };
        return call(`${muster.device}/device/v1/enroll`, { method: 'POST', body, headers });
      },
    ];
    for (const guess of guesses) {
      const statuses: number[] = [];
      for (let i = 0; i <= LIMITS.requestsPerWindowMax; i += 1) statuses.push((await guess()).status);
      expectAll(statuses, 401);
    }
  },

  'A link is not bound to the person for whom it was made.': async () => {
    await using muster = await Muster.start();
    const made = await asOperator(muster, '/users', {
      method: 'POST',
      body: { name: 'Ann', login: 'ann@example.com' },
    });
    const { user, link } = made.body as { user: { userId: string }; link: { url: string } };
    const maker = new Visitor(muster);
    const used = await maker.post('/links/accept', { token: tokenOf(link.url), password: GOOD_PASSWORD });
    expect([used.status, (await maker.ask('/me')).body['userId']]).toEqual([200, user.userId]);
  },

  "A collector's header is not kept from whoever has the session of an owner: an app of their own is given it.":
    async () => {
      await using panel = await panelMuster();
      const { muster, store } = panel;
      const { accountId, apiKey } = await tenant(muster);
      expect(await configure(muster, apiKey, 'https://otel.example.com', 'Bearer of the owner')).toBe(200);
      const owner = { accounts: [{ accountId, role: 'owner' }] } as const;
      const session = await signedIn(store, owner, { proof: undefined });
      const made = await ask(panel, session, `/accounts/${accountId}/apps`, { method: 'POST', body: { name: 'one' } });
      expect(made.status).toBe(201);
      const credential = await enroll(muster, made.body as { appId: string; enrollCode: string });
      expect((await poll(muster, credential)).text).toContain('Bearer of the owner');
    },

  'A stranger with many networks who waits as told is not told from a person in a new browser.': async () => {
    const now = 1_800_000_000_000;
    let name: Failures = NO_FAILURES;
    for (let i = 0; i < LIMITS.slowFromFailures; i += 1) name = withFailure(name, now);
    const turn = now + LIMITS.signInTurnMs;
    // Both come from networks that have not failed, as they were told; whoever is first has the turn.
    const newcomer = { network: NO_FAILURES, site: NO_FAILURES, waited: 'by ticket' } as const;
    expect(waitOf({ name, ...newcomer }, turn)).toBe(0);
    expect(waitOf({ name: withFailure(name, turn), ...newcomer }, turn)).toBeGreaterThan(0);
    await Promise.resolve();
  },
};
