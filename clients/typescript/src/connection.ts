import { invalidArgument } from './errors.ts';
import type { Query, SecretSource } from './options.ts';

/** Where a client sends its requests, and the secret that it sends with them. Only `authorization` gives the secret. */
export class Connection {
  /** Without a slash at its end. */
  readonly base: string;
  readonly #what: string;
  #secret: SecretSource | undefined;

  /** @param what the secret is, for errors. @throws MusterError `invalid_argument` */
  constructor(url: string, what: string, secret: SecretSource | undefined) {
    this.base = baseOf(url);
    this.#what = what;
    this.#secret = checked(secret, what);
  }

  /** @throws MusterError `invalid_argument` */
  use(secret: SecretSource): void {
    this.#secret = checked(secret, this.#what);
  }

  /** Asks for the secret. @returns `''` where there is none. @throws MusterError `invalid_argument` */
  async secret(): Promise<string> {
    const secret = this.#secret;
    if (secret === undefined) return '';
    if (typeof secret === 'string') return secret;
    let told: string;
    try {
      told = await secret();
    } catch (error) {
      throw invalidArgument(`The ${this.#what} could not be read.`, error);
    }
    // In JavaScript a function may return anything: a Buffer with two lines would stand in the words of `fetch`.
    if (typeof told !== 'string') throw invalidArgument(`The ${this.#what} is no text.`);
    return checked(told, this.#what);
  }

  /** @param path from its slash on. @throws MusterError `invalid_argument` */
  url(path: string, query: Query = {}): string {
    if (!path.startsWith('/')) throw invalidArgument('A path begins with a slash.');
    let url: URL;
    try {
      url = new URL(this.base + path);
    } catch (error) {
      throw invalidArgument('The path is none of a URL.', error);
    }
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    return url.href;
  }
}

/**
 * @throws MusterError `invalid_argument`: a header with a bad character would be repeated in the words of `fetch`, the
 * secret with it.
 */
export function checked<S extends SecretSource | undefined>(secret: S, what: string): S {
  if (secret === undefined || typeof secret === 'function') return secret;
  if (typeof secret !== 'string') throw invalidArgument(`The ${what} is no text.`);
  if (!/^[\x21-\x7e]{1,4096}$/.test(secret)) {
    throw invalidArgument(`The ${what} is empty, too long, or has a character that no header takes.`);
  }
  return secret;
}

function baseOf(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw invalidArgument('The url is none; give one such as http://127.0.0.1:8080.');
  }
  if (!/^https?:$/.test(url.protocol)) throw invalidArgument('The url is not of http or https.');
  if (url.username !== '' || url.password !== '') throw invalidArgument('The url has a user or a password.');
  if (url.search !== '' || url.hash !== '') throw invalidArgument('The url has a query or a fragment.');
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** One id of a path. A text that a URL would take for a folder is refused. @throws MusterError `invalid_argument` */
export function segment(id: string): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) throw invalidArgument('An id of the path is empty, or is none.');
  try {
    return encodeURIComponent(id);
  } catch (error) {
    throw invalidArgument('An id of the path is not Unicode text.', error);
  }
}
