import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { expect } from 'vitest';
import type { ListedUser } from '../../../src/api/contract/operator/users.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { metric } from '../service/daemon.ts';
import { call, type Answer } from '../service/muster.ts';
import type { FakeClock } from '../time/fake-clock.ts';
import { until } from '../time/until.ts';
import { RedirectedBrowser } from '../panel/oidc-provider.ts';
import { ask, signedIn, type Browser, type PanelMuster } from '../panel/panel-users.ts';
import { askBy, makeToken, type AccessToken } from '../panel/access-tokens/tokens.ts';
import { meOf, type Signing } from '../panel/signing.ts';
import { asOperator } from '../panel/visitor.ts';

/* People whom a provider lets in, with the API keys that they made, and how each of these is accepted. */

/** A person who signed in at the provider, with a session of another kind and an API key. */
export interface Leaver {
  readonly userId: string;
  /** The token and the id of the session that began at the provider. */
  readonly token: string;
  readonly sessionId: string;
  /** A session that began by a password. */
  readonly other: Browser;
  readonly apiKey: string;
}

/** Signs somebody in at the provider, in a browser of their own, who makes an API key. */
export async function leaver(it: Signing, user: string, groups: readonly string[] = ['owners']): Promise<Leaver> {
  await it.provider.set({ user, groups });
  const { token = '' } = await it.signIn(new RedirectedBrowser());
  const me = (await meOf(it, token)).body as { userId: string; session: { sessionId: string } };
  const other = await signedIn(it.panel.store, me.userId);
  const apiKey = await madeKey(it, other, user);
  return { userId: me.userId, token, sessionId: me.session.sessionId, other, apiKey };
}

/** Makes an API key of the account. @returns its text */
export async function madeKey({ panel, accountId }: Signing, by: Browser, name: string): Promise<string> {
  const made = await ask(panel, by, `/accounts/${accountId}/api-keys`, { method: 'POST', body: { name } });
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  return String(made.body['apiKey']);
}

/** The status that an API key gets. */
export const keyStatus = async ({ muster }: PanelMuster, apiKey: string): Promise<number> =>
  (await call(`${muster.api}/v1/apps`, { token: apiKey })).status;

/** The statuses of the session of the provider, of the other session and of the API key. */
export const accepted = async (panel: PanelMuster, { token, other, apiKey }: Leaver): Promise<readonly number[]> => [
  (await ask(panel, { token }, '/me')).status,
  (await ask(panel, other, '/me')).status,
  await keyStatus(panel, apiKey),
];

/** Access tokens that people make, and the statuses that these get. */
export async function accessTokens({ panel, accountId }: Signing, ...people: readonly Leaver[]) {
  const expiresAt = new Date(Date.now() + 300 * 86_400_000).toISOString();
  const made = await Promise.all(people.map(({ other }) => makeToken(panel, other, { accountId, expiresAt })));
  const status = async (token: AccessToken): Promise<number> =>
    (await askBy(panel, token, `/accounts/${accountId}/overview`)).status;
  return { statuses: (): Promise<readonly number[]> => Promise.all(made.map(status)) };
}

/** Lets time pass in small steps until it holds. */
export async function passes(clock: FakeClock, holds: () => Promise<boolean>): Promise<void> {
  await until(async () => {
    clock.advance(1000);
    return await holds();
  });
}

/** The provider's logout token for somebody reaches the panel. @param more events of the provider's own */
export async function signedOutByProvider(it: Signing, sub: string, panel = it.panel, more = {}): Promise<Answer> {
  const { kid, privateKey } = it.provider.key;
  const token = await new SignJWT({
    events: { 'http://schemas.openid.net/event/backchannel-logout': {}, ...more },
    sub,
  })
    .setProtectedHeader({ alg: 'ES256', kid, typ: 'logout+jwt' })
    .setIssuer(it.provider.issuer)
    .setAudience('muster')
    .setIssuedAt()
    .setJti(randomUUID())
    .sign(privateKey);
  return await call(`${panel.muster.panel}/panel/v1/sign-in/provider/back-channel-logout`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ logout_token: token }).toString(),
  });
}

/** The record of the refresh token of a session; undefined where none is kept. */
export const keptToken = async ({ panel }: Signing, sessionId: string): Promise<string | undefined> =>
  (await panel.store.get(KEYS.refresh(sessionId)))?.value;

/** Tells whether the refresh token of a session is still kept. */
export const keepsToken = async (it: Signing, sessionId: string): Promise<boolean> =>
  (await keptToken(it, sessionId)) !== undefined;

/** The time since which the list of users has a user as refused by the provider; null where it does not. */
export async function refusedSince({ panel }: Signing, { userId }: Leaver): Promise<string | null | undefined> {
  const { body } = await asOperator(panel.muster, '/users');
  return (body['users'] as ListedUser[]).find((user) => user.userId === userId)?.providerRefusedAt;
}

/** The number of users whom the provider refused and who have keys, as the metric has it. */
export const refusedWithKeys = async ({ panel }: Signing): Promise<number> =>
  await metric(panel.muster, 'muster_users_refused_with_keys');

interface Entry {
  readonly action: string;
  readonly actor: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** The entries of the audit of the service and of an account, the newest first. */
export async function audited({ panel, accountId }: Signing): Promise<readonly Entry[]> {
  const audits = await Promise.all(
    ['/audit?limit=1000', `/accounts/${accountId}/audit?limit=1000`].map((path) => asOperator(panel.muster, path)),
  );
  return audits.flatMap(({ body }) => body['entries'] as Entry[]);
}
