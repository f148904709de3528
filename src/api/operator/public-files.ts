import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { takesGzip } from '../headers/accepted-encoding.ts';
import type { Exchange } from '../http/exchange.ts';
import { DATA_HEADERS, type SafeHeaders } from '../headers/security-headers.ts';

/*
 * The ops listener serves these to whoever reaches it, beside the probes: the OpenAPI documents, and the page for them.
 */

interface PublicFileSource {
  /** The media type, in full. */
  readonly type: string;
  /** Reads the content when it is first asked for. A failure is not kept: the next request reads anew. */
  readonly read: () => Promise<Buffer>;
  /** Its headers of security; those of data without it. */
  readonly safe?: SafeHeaders;
}

/** A file as it is sent. */
export class PublicFile {
  readonly type: string;
  readonly #safe: SafeHeaders;
  readonly #plain: () => Promise<Buffer>;
  readonly #compressed: () => Promise<Buffer>;

  constructor({ type, read, safe = DATA_HEADERS }: PublicFileSource) {
    this.type = type;
    this.#safe = safe;
    this.#plain = kept(read);
    // Browsers ask for this one alone: what it was made from is then not kept.
    this.#compressed = kept(async () => await promisify(gzip)(await read()));
  }

  /** The content, or that in gzip: each is made once. @throws whatever `read` throws */
  async content({ compressed }: { readonly compressed: boolean }): Promise<Buffer> {
    return await (compressed ? this.#compressed() : this.#plain());
  }

  /**
   * Answers a request with it.
   * @param cache the Cache-Control field; `CACHE_CONTROL` without it
   * @throws whatever `read` throws
   */
  async send(exchange: Exchange, cache?: string): Promise<void> {
    const compressed = takesGzip(exchange.request);
    const headers = ['Content-Type', this.type, 'Vary', 'Accept-Encoding'];
    if (compressed) headers.push('Content-Encoding', 'gzip');
    const body = await this.content({ compressed });
    exchange.reply({ status: 200, body, headers, safe: this.#safe, ...(cache !== undefined && { cache }) });
  }
}

/** Requests at once share a run, and later ones its outcome, unless it failed. */
function kept(make: () => Promise<Buffer>): () => Promise<Buffer> {
  let made: Promise<Buffer> | undefined;
  return async () => {
    const making = (made ??= make());
    try {
      return await making;
    } catch (error) {
      if (made === making) made = undefined;
      throw error;
    }
  };
}

/** The paths, which are the labels of their metrics too. */
export const PUBLIC_PATHS = [
  '/openapi/v1.json',
  '/openapi/device.json',
  '/openapi/operator.json',
  '/docs',
  '/docs/page.js',
  '/docs/page.css',
  '/docs/swagger-ui.js',
  '/docs/swagger-ui.css',
  '/docs/favicon.svg',
] as const;
export type PublicPath = (typeof PUBLIC_PATHS)[number];

export type PublicFiles = Readonly<Record<PublicPath, PublicFile>>;
