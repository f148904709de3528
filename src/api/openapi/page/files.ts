import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pageHeaders } from '../../headers/security-headers.ts';
import { PublicFile, type PublicPath } from '../../operator/public-files.ts';

/* The reference page: Swagger UI with a script and a style of our own, all from the listener that serves it. */

type PagePath = Extract<PublicPath, `/docs${string}`>;

/** Nothing from another host, no script and no style in a text, no frame around it: a token is entered here. */
const SAFE = pageHeaders([
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
]);

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

const own = (name: string): (() => Promise<Buffer>) => {
  const file = new URL(name, import.meta.url);
  return () => readFile(file);
};

/**
 * A file of Swagger UI, 1.9 MB for both: most replicas are never asked for it. Its package is one of development alone,
 * since it brings a script that calls home at an installation: scripts/compile.ts copies the files beside this one.
 */
const ofSwaggerUi = (name: string): (() => Promise<Buffer>) =>
  import.meta.filename.endsWith('.ts')
    ? () => readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`))
    : own(`swagger-ui/${name}`);

const file = (type: string, read: () => Promise<Buffer>): PublicFile => new PublicFile({ type, read, safe: SAFE });

/** The files of the page by their paths. Each is read when it is first asked for. */
export const pageFiles = (): Readonly<Record<PagePath, PublicFile>> => ({
  '/docs': file(HTML, own('page.html')),
  '/docs/page.js': file(SCRIPT, own('page.js')),
  '/docs/page.css': file(STYLE, own('page.css')),
  '/docs/swagger-ui.js': file(SCRIPT, ofSwaggerUi('swagger-ui-bundle.js')),
  '/docs/swagger-ui.css': file(STYLE, ofSwaggerUi('swagger-ui.css')),
  '/docs/favicon.svg': file('image/svg+xml', own('favicon.svg')),
});

/** The same page with the owners' API alone: it names no other, and no request is sent from it. */
export const ownersPageFiles = (): Readonly<Record<PagePath, PublicFile>> => ({
  ...pageFiles(),
  '/docs': file(HTML, own('owners-page.html')),
});
