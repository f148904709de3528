import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express, type Request, type Response } from 'express';
import type { Exchange } from './exchange.ts';

/** Makes an Express app that only routes: it sends no header and no ETag and parses no query. */
export function bareExpress(): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  // H12: one canonical URL.
  app.enable('case sensitive routing').enable('strict routing');
  app.set('query parser', false);
  return app;
}

/**
 * The handler of a listener that an Express app serves. Express is given every target as a plain path: its own parser
 * would change some (a backslash before a fragment), and it answers a target without a path in HTML, or never.
 */
export function servedBy(app: Express): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    request.url = pathAndQuery(request.url ?? '');
    app(request, response);
  };
}

/**
 * Path and query of a target, of an absolute-form one too (RFC 9112, 3.2.2). Any other form, such as `*`, gives `/`,
 * where no route is.
 */
export function pathAndQuery(target: string): string {
  const path = target.startsWith('/') ? target : (/^https?:\/\/[^/?#]*(\/.*)$/i.exec(target)?.[1] ?? '/');
  // A `#` would make Express use its own parser.
  return path.replaceAll('#', '%23');
}

interface Routed {
  readonly method: string;
  readonly path: string;
}

const PARAMETER = /:[A-Za-z]+/g;

/**
 * Finds the template of a target before any route is looked up, for the metrics and the log: an escape in it is not
 * judged, and a parameter stands for any text without a slash.
 * @returns undefined where no template fits
 */
export function templateFinder(routes: readonly Pick<Routed, 'path'>[]): (target: string) => string | undefined {
  const templates = [...new Set(routes.map(({ path }) => path))];
  const patterns = templates.map((path) => new RegExp(`^${path.replaceAll(PARAMETER, '[^/?]+')}(?:\\?|$)`));
  return (target) => templates[patterns.findIndex((pattern) => pattern.test(target))];
}

/**
 * H10: a known path with another method is 404, and `Allow` lists its methods. To be called after the routes are added.
 */
export function refuseOtherMethods(
  app: Express,
  routes: readonly Routed[],
  exchangeOf: (response: Response) => Exchange,
): void {
  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = routes.filter((route) => route.path === path).map((route) => route.method.toUpperCase());
    const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
    app.all(path, (_request: Request, response: Response) => {
      exchangeOf(response).refuse('not_found', undefined, ['Allow', allow]);
    });
  }
}
