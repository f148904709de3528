import * as z from 'zod';
import { RecentMap } from '../../../packed/recent-map.ts';
import { setCookie } from './cookies.ts';
import { FLOW_SECONDS } from './sealed-cookie.ts';
import type { OpenRequest, PanelServices, SpentOnce } from './route.ts';

/*
 * A sign-in keeps in the browser, sealed, what it remembers between two of its requests (sealed-cookie.ts). The answer
 * to a challenge is spent where the user's record is (known-browsers.ts); that of an addition, with the session that
 * began it.
 */

/**
 * States of the provider, and tickets, that a replica remembers as spent; each is too old after `FLOW_SECONDS` anyway.
 */
const SPENT_MAX = 20_000;

/** Remembers what was used on this replica. */
export function createSpentOnce(): SpentOnce {
  const spent = new RecentMap<string, true>(SPENT_MAX);
  return {
    spend(one) {
      if (spent.has(one)) return false;
      spent.set(one, true);
      return true;
    },
  };
}

const passkeyFlow = z.object({
  challenge: z.string(),
  /** The user whose password was right; absent where any passkey will do. */
  userId: z.string().optional(),
  /** The session that proves its user, or adds a passkey: no other one goes on with it. */
  sessionId: z.string().optional(),
  /** A digest of the stored password that was right, so that a new one ends the sign-in. */
  hashed: z.string().optional(),
});
type PasskeyFlow = z.infer<typeof passkeyFlow>;
type PasskeyPurpose = 'passkey sign-in' | 'passkey addition' | 'passkey proof';

/** The header that keeps a flow in the browser. */
export function keepFlow(
  { cookies }: Pick<OpenRequest<unknown>, 'cookies'>,
  { sealedCookies }: Pick<PanelServices, 'sealedCookies'>,
  purpose: PasskeyPurpose,
  flow: PasskeyFlow,
): readonly [string, string] {
  return setCookie(cookies, cookies.flow, sealedCookies.seal(purpose, flow), FLOW_SECONDS);
}

/** The flow of the browser; undefined where there is none. */
export function flowOf(
  { cookies, cookie }: Pick<OpenRequest<unknown>, 'cookies' | 'cookie'>,
  { sealedCookies }: Pick<PanelServices, 'sealedCookies'>,
  purpose: PasskeyPurpose,
): PasskeyFlow | undefined {
  const sealed = cookie(cookies.flow);
  return passkeyFlow.safeParse(sealed === undefined ? undefined : sealedCookies.open(purpose, sealed)).data;
}

const INVITATION = 'invitation';
const invitationFlow = z.object({ token: z.string() });

/** The headers that keep an invitation in the browser that opened it, for as long as a sign-in may take. */
export const keptInvitation = (
  { cookies }: Pick<OpenRequest<unknown>, 'cookies'>,
  { sealedCookies }: Pick<PanelServices, 'sealedCookies'>,
  token: string,
): readonly string[] => setCookie(cookies, cookies.invitation, sealedCookies.seal(INVITATION, { token }), FLOW_SECONDS);

/** The token of the invitation that the browser has opened; undefined where there is none, or that was too long ago. */
export function openedInvitation(
  { cookie, cookies }: Pick<OpenRequest<unknown>, 'cookie' | 'cookies'>,
  { sealedCookies }: Pick<PanelServices, 'sealedCookies'>,
): string | undefined {
  const sealed = cookie(cookies.invitation);
  return invitationFlow.safeParse(sealed === undefined ? undefined : sealedCookies.open(INVITATION, sealed)).data
    ?.token;
}
