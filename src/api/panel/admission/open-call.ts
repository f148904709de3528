import { sessionGuard } from '../../../domain/sessions/guard.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Exchange } from '../../http/exchange.ts';
import { readForm } from '../request/bodies.ts';
import { browserName } from '../request/browser-name.ts';
import { readCookie, type CookieNames } from '../request/cookies.ts';
import type { OpenCall, PanelServices } from '../request/route.ts';

/** The host by which a request came. */
export interface PanelContext {
  /** The origin by which the browser knows the panel. */
  readonly origin: string;
  readonly cookies: CookieNames;
}

/** Makes the part of a call that every operation has. @param hasCookies false for an access token, which has none */
export function openCall(
  exchange: Exchange,
  { origin, cookies }: PanelContext,
  services: PanelServices,
  hasCookies = true,
): OpenCall {
  const { request } = exchange;
  const cookie = (name: string): string | undefined => (hasCookies ? readCookie(request, name) : undefined);
  return {
    panelOrigin: origin,
    cookies,
    cookie,
    client: exchange.client,
    browser: browserName(request.headers['user-agent']),
    async optionalSession() {
      const token = cookie(cookies.session);
      if (token === undefined) return undefined;
      try {
        return await services.sessions.authenticate(token);
      } catch (error) {
        if (error instanceof Refusal) return undefined;
        throw error;
      }
    },
    originOf: (actor) => exchange.origin(actor),
    failed: (attempt) => exchange.attempted(attempt),
    userOrigin: ({ session, user }) => ({
      ...exchange.origin(`user:${user.id}`),
      guard: sessionGuard(session.id, 'signed-in'),
    }),
    inTime: (work) => exchange.inTime(work),
    form: () => readForm(exchange),
    request,
  };
}
