import type { RequestListener } from 'node:http';
import { Refusal } from '../../domain/refusal.ts';
import { preferredType } from '../headers/preferred-type.ts';
import type { Exchange, ExchangeDeps } from '../http/exchange.ts';
import { whileJudged } from '../serve/judged-stream.ts';
import { operationEndpoint, type Checks } from '../serve/operation-endpoint.ts';
import { createRequestListener, type EndpointRequest, type Endpoint } from '../serve/request-listener.ts';
import { isUnder } from '../serve/targets.ts';
import { admitToken, refuseToken } from './admission/admit-token.ts';
import { hasBearer } from './admission/authenticate-token.ts';
import { admitAnyone, admitReader, admitSignedIn, type AdmissionDeps } from './admission/admission.ts';
import type { PanelContext } from './admission/open-call.ts';
import type { Pages } from './pages/pages.ts';
import { REFERENCE_ALIAS, REFERENCE_FILES, REFERENCE_PAGE, seeOther } from './pages/reference.ts';
import type { ReferenceFiles } from './pages/reference.ts';
import { cookieNames } from './request/cookies.ts';
import type { OpenCall, PanelCall, PanelServices } from './request/route.ts';
import { originOf } from './request/same-origin.ts';
import { OPERATIONS } from './routes.ts';
import { transferred } from './transfer.ts';

/** The services and checks that the panel's listener uses. */
export interface PanelDeps extends ExchangeDeps, AdmissionDeps {
  readonly pages: Pages;
  readonly reference: ReferenceFiles;
  readonly isTls: boolean;
}

/**
 * The listener of the panel: its pages, and `/panel/v1` for them. The order of the checks: the host, the page that
 * sends it, the session, the right, the user's rate on the account, the body, the fresh proof. A request with a bearer
 * is judged by its access token in place of the page and the session.
 */
export function createPanelServer(deps: PanelDeps): RequestListener {
  const { services, pages, reference } = deps;
  const open: Checks<PanelContext, OpenCall, PanelServices> = {
    authorize: (request, route) =>
      hasBearer(request.exchange.request) ? refuseToken(deps, request.exchange) : admitAnyone(deps, request, route),
    brokenBody: 'invalid_request',
    transfer: (exchange, _call, route, reply) => transferred(exchange, route, 'anyone', reply),
    services,
  };
  const signedIn: Checks<PanelContext, PanelCall, PanelServices> = {
    authorize: (request, route) =>
      hasBearer(request.exchange.request) ? admitToken(deps, request, route) : admitSignedIn(deps, request, route),
    brokenBody: 'invalid_request',
    scopeKey: ({ scope }, key) => `${scope}:${key}`,
    transfer: (exchange, { readAs, judgeAgain }, route, reply) =>
      transferred(exchange, route, readAs, whileJudged(reply, judgeAgain)),
    services,
  };
  const endpoints = [
    ...OPERATIONS.map((route) =>
      route.access === 'anyone' ? operationEndpoint(route, open) : operationEndpoint(route, signedIn),
    ),
    ...REFERENCE_FILES.map((path) => forSignedIn(path, (exchange) => reference[path].send(exchange))),
    forSignedIn(REFERENCE_ALIAS, (exchange) => exchange.reply(seeOther(REFERENCE_PAGE))),
  ];
  return createRequestListener({ name: 'panel', beforeRouting, endpoints, notFound }, deps);

  function beforeRouting({ request }: Exchange): PanelContext {
    const origin = originOf(request, new URL(services.panel.url), deps.isTls);
    if (origin === undefined) {
      throw new Refusal('invalid_request', 'The panel is not known by this Host; use its own address.');
    }
    if (origin.startsWith('https:') && !deps.cameByTls(request)) {
      throw new Refusal('invalid_request', 'The panel is reached by https; the proxy before it must say so.');
    }
    return { origin, cookies: cookieNames(new URL(origin)) };
  }

  /** A page or a file of it for whoever is signed in. A browser that opens one is led to the sign-in first. */
  function forSignedIn(path: string, answer: (exchange: Exchange) => Promise<void> | void): Endpoint<PanelContext> {
    async function answerSignedIn({ exchange, context }: EndpointRequest<PanelContext>): Promise<void> {
      try {
        if (hasBearer(exchange.request)) await refuseToken(deps, exchange);
        await admitReader(deps, exchange, context);
      } catch (error) {
        const isStranger = error instanceof Refusal && error.code === 'invalid_session';
        const isOpened = preferredType(exchange.request, ['application/json', 'text/html']) === 'text/html';
        if (isStranger && isOpened) return exchange.reply(seeOther('/sign-in'));
        throw error;
      }
      await answer(exchange);
    }
    return { method: 'get', path, answer: answerSignedIn };
  }

  function notFound(exchange: Exchange): Promise<void> | undefined {
    return isUnder('/panel/v1', exchange.request) ? undefined : pages.serve(exchange);
  }
}
