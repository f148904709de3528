import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { PublicFile, type PublicPath } from '../../operator/public-files.ts';

/* The reference page: Swagger UI with a script and a style of our own, all from the listener that serves it. */

type PagePath = Extract<PublicPath, `/docs${string}`>;

/** Nothing from another host, no script and no style in a text, no frame around it: a token is entered here. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS: readonly string[] = [
  'Content-Security-Policy',
  POLICY,
  'X-Content-Type-Options',
  'nosniff',
  'Referrer-Policy',
  'no-referrer',
  'Cross-Origin-Opener-Policy',
  'same-origin',
  'Cross-Origin-Resource-Policy',
  'same-origin',
];

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

const file = (type: string, read: () => Promise<Buffer>): PublicFile =>
  new PublicFile({ type, read, headers: HEADERS });

/** The files of the page by their paths. Each is read when it is first asked for. */
export const pageFiles = (): Readonly<Record<PagePath, PublicFile>> => ({
  '/docs': file(HTML, own('page.html')),
  '/docs/page.js': file(SCRIPT, own('page.js')),
  '/docs/page.css': file(STYLE, own('page.css')),
  '/docs/swagger-ui.js': file(SCRIPT, ofSwaggerUi('swagger-ui-bundle.js')),
  '/docs/swagger-ui.css': file(STYLE, ofSwaggerUi('swagger-ui.css')),
  '/docs/favicon.svg': file('image/svg+xml', own('favicon.svg')),
});
