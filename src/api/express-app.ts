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
