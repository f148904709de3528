import { sessionGuard } from '../../../domain/sessions/guard.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { preferredType } from '../../headers/preferred-type.ts';
import type { Exchange } from '../../http/exchange.ts';
import { readForm } from '../request/bodies.ts';
import { browserName } from '../request/browser-name.ts';
import { readCookie, type CookieNames } from '../request/cookies.ts';
import type { OpenCall, PanelCall, PanelServices } from '../request/route.ts';

/** The host by which a request came. */
export interface PanelContext {
  /** The origin by which the browser knows the panel. */
  readonly origin: string;
  readonly cookies: CookieNames;
}

/** Makes the part of a call that a browser sends, with a session or without. */
export function openCall(exchange: Exchange, { origin, cookies }: PanelContext, services: PanelServices): OpenCall {
  const { request } = exchange;
  const cookie = (name: string): string | undefined => readCookie(request, name);
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

/** The part of a call that follows from its origin, whether a session or an access token makes it. */
type CallByRight = Pick<PanelCall, 'origin' | 'reader' | 'caller' | 'accepts' | 'exporting' | 'inTime'>;

/** Makes the part of a call that a right gives. @param accountId the account in the path */
export function callByRight(
  exchange: Exchange,
  services: PanelServices,
  { origin, reader, accountId }: Pick<PanelCall, 'origin' | 'reader'> & { readonly accountId: string },
): CallByRight {
  const { request } = exchange;
  return {
    origin,
    reader,
    caller: { accountId, authority: { guarded: true }, reader, origin },
    accepts: (types) => preferredType(request, types),
    async exporting(what, detail, page) {
      if (request.method !== 'HEAD') await services.auditExport(what, origin, detail, page);
    },
    inTime: (work) => exchange.inTime(work),
  };
}
