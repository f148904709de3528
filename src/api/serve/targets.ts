/* The targets of requests, before the router sees them. */

/**
 * Path and query of a target, of an absolute-form one too (RFC 9112, 3.2.2). Any other form, such as `*`, gives `/`,
 * where no route is.
 */
export function pathAndQuery(target: string): string {
  const path = target.startsWith('/') ? target : (/^https?:\/\/[^/?#]*(\/.*)$/i.exec(target)?.[1] ?? '/');
  // A `#` would make Express use its own parser.
  return path.replaceAll('#', '%23');
}

const PARAMETER = /:[A-Za-z]+/g;

/**
 * Finds the template of a target before any route is looked up, for the metrics and the log: an escape in it is not
 * judged, and a parameter stands for any text without a slash.
 * @returns undefined where no template fits
 */
export function templateFinder(routes: readonly { readonly path: string }[]): (target: string) => string | undefined {
  const templates = [...new Set(routes.map(({ path }) => path))];
  const patterns = templates.map((path) => new RegExp(`^${path.replaceAll(PARAMETER, '[^/?]+')}(?:\\?|$)`));
  return (target) => templates[patterns.findIndex((pattern) => pattern.test(target))];
}

/** Tells whether the target of a request is a path or stands below it. */
export function isUnder(path: string, { url = '' }: { readonly url?: string | undefined }): boolean {
  return url.startsWith(path) && (url.length === path.length || url[path.length] === '/' || url[path.length] === '?');
}
