import { LIMITS } from '../../../../src/domain/limits.ts';
import { call, type Answer, type Call } from '../../service/muster.ts';
import { ask, type Browser, type PanelMuster } from '../panel-users.ts';

/* Access tokens, made and used through the door of the panel. */

export interface AccessToken {
  readonly token: string;
  readonly tokenId: string;
}

interface Wanted {
  readonly accountId: string;
  readonly role?: 'viewer' | 'owner';
  readonly name?: string;
  readonly expiresAt?: string;
}

export const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

export const LATEST_DAYS = LIMITS.accessTokenMsMax / 86_400_000;

/** Asks for a token as a page does. */
export const askForToken = (
  panel: Pick<PanelMuster, 'muster'>,
  by: Pick<Browser, 'token'>,
  { role = 'viewer', name = 'report', expiresAt = inDays(30), accountId }: Wanted,
): Promise<Answer> =>
  ask(panel, by, '/me/access-tokens', { method: 'POST', body: { name, accountId, role, expiresAt } });

export async function makeToken(
  panel: Pick<PanelMuster, 'muster'>,
  by: Pick<Browser, 'token'>,
  wanted: Wanted,
): Promise<AccessToken> {
  const made = await askForToken(panel, by, wanted);
  if (made.status !== 201) throw new Error(`POST /me/access-tokens: ${made.status} ${made.text}`);
  return { token: String(made.body['token']), tokenId: String(made.body['tokenId']) };
}

/** One request of a program with an access token: without a cookie, and without the origin of a page. */
export const askBy = (
  { muster }: Pick<PanelMuster, 'muster'>,
  { token }: Pick<AccessToken, 'token'>,
  path: string,
  request: Call = {},
): Promise<Answer> => call(`http://127.0.0.1:${muster.service.panel.port}/panel/v1${path}`, { ...request, token });
