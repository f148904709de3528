import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express, type Request, type Response } from 'express';
import type { Exchange } from './exchange.ts';

/** An Express that routes and does nothing else: no header, no ETag, no query parser of its own. */
export function bareExpress(): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  // H12: one canonical URL.
  app.enable('case sensitive routing').enable('strict routing');
  app.set('query parser', false);
  return app;
}

/**
 * What a listener hands its requests to. Express is given every target as the path it is: its own parser would mend some
 * (a backslash before a fragment), and a target without a path it answers in HTML, or never.
 */
export function servedBy(app: Express): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    request.url = pathAndQuery(request.url ?? '');
    app(request, response);
  };
}

/** Also of an absolute-form target (RFC 9112, 3.2.2); of any other, `*` for one, `/`, where no route is. */
export function pathAndQuery(target: string): string {
  const path = target.startsWith('/') ? target : (/^https?:\/\/[^/?#]*(\/.*)$/i.exec(target)?.[1] ?? '/');
  // A fragment is what would wake that parser.
  return path.replaceAll('#', '%23');
}

interface Routed {
  readonly method: string;
  readonly path: string;
}

/** H10: a known path with another method is 404, and says which methods there are. Call after the routes. */
export function refuseOtherMethods(
  app: Express,
  routes: readonly Routed[],
  exchangeOf: (response: Response) => Exchange,
): void {
  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = routes.filter((route) => route.path === path).map((route) => route.method.toUpperCase());
    const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
    app.all(path, (_request: Request, response: Response) => {
      const exchange = exchangeOf(response);
      exchange.route = path;
      exchange.refuse('not_found', undefined, ['Allow', allow]);
    });
  }
}
