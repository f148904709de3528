import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { pageHeaders } from '../../headers/security-headers.ts';
import { PublicFile } from '../../operator/public-files.ts';
import type { Pages } from './pages.ts';

/*
 * The pages as `npm run build:web` made them: one document for every address of a page, files whose names hold a hash
 * of their content, and the documents of the help. The document of the pages is never kept by a browser: after a
 * sign-out nothing of it comes back.
 */

/**
 * Nothing from another host, nothing inline, no eval; a text becomes markup nowhere (Trusted Types), and no other page
 * frames this one.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

const SAFE = pageHeaders(POLICY, [
  'Permissions-Policy',
  'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
]);

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

const HTML = 'text/html; charset=utf-8';

/** A built file never changes under its name. */
const KEPT = 'public, max-age=31536000, immutable, no-transform';
/** The help keeps its addresses when it changes, with an update. */
const HELP_KEPT = 'public, max-age=300, no-transform';
/** The address of the index of the help; its documents are below it. */
const HELP = '/help';
const NOT_BUILT = 'The pages of the panel are not built. Run: npm run build:web\n';

/** A built file, and how it is answered. */
interface BuiltFile {
  readonly file: PublicFile;
  readonly cache: string;
  /** The label of its metrics. */
  readonly route: string;
}

/**
 * The pages of a folder.
 * @param folder with `index.html`, `assets` and `help`; where it has none, the pages say how to build them
 */
export function builtPages(folder: URL): Pages {
  const files = new Map<string, BuiltFile>();
  const page = documentOf(folder);
  const add = (address: string, path: string, type: string, answered: Omit<BuiltFile, 'file'>): void => {
    const read = (): Promise<Buffer> => readFile(new URL(path, folder));
    files.set(address, { file: new PublicFile({ type, read, safe: SAFE }), ...answered });
  };
  for (const name of page ? namesIn('assets/', folder) : []) {
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
    if (type !== undefined) add(`/assets/${name}`, `assets/${name}`, type, { cache: KEPT, route: '/assets' });
  }
  for (const name of page ? namesIn('help/', folder) : []) {
    const address = name === 'index.html' ? HELP : `${HELP}/${name.replace(/\.html$/, '')}`;
    add(address, `help/${name}`, HTML, { cache: HELP_KEPT, route: HELP });
  }
  return {
    serve(exchange) {
      const { request } = exchange;
      if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
      const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
      const built = files.get(path);
      if (built) {
        exchange.route = built.route;
        return built.file.send(exchange, built.cache);
      }
      if (!isPage(path, request)) return undefined;
      exchange.route = '/';
      if (page) return page.send(exchange);
      exchange.reply({ status: 503, body: NOT_BUILT, headers: ['Content-Type', 'text/plain; charset=utf-8'] });
      return Promise.resolve();
    },
  };
}

/** Every address without a dot is one of a page: the script in the document knows which there are. */
const isPage = (path: string, { headers }: IncomingMessage): boolean =>
  /^\/[A-Za-z0-9/-]*$/.test(path) && (path === '/' || (headers.accept ?? '*/*').includes('*/*'));

function documentOf(folder: URL): PublicFile | undefined {
  try {
    const text = readFileSync(new URL('index.html', folder));
    return new PublicFile({ type: HTML, read: async () => text, safe: SAFE });
  } catch {
    return undefined;
  }
}

function namesIn(path: string, folder: URL): readonly string[] {
  try {
    return readdirSync(new URL(path, folder));
  } catch {
    return [];
  }
}
