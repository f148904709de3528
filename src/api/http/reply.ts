import type { ServerResponse } from 'node:http';
import type { SafeHeaders } from '../headers/security-headers.ts';

/** A long body, in pieces. It is disposed of when the client has it, or is gone. */
interface Stream extends AsyncDisposable {
  pieces(): AsyncIterable<string>;
}

/** A response as a handler gives it. */
export interface Reply {
  readonly status: number;
  /** An object is sent as JSON; a text or a buffer is JSON already. */
  readonly body?: object | string | Buffer;
  /** Begins a long body, of unknown length, that no deadline bounds but that its client takes something of it. */
  readonly stream?: () => Promise<Stream>;
  /**
   * Writes a body without an end of its own.
   * @param begin sends the headers
   */
  readonly open?: (begin: () => ServerResponse) => void;
  readonly headers?: readonly string[];
  /** The Cache-Control field; `CACHE_CONTROL` without it. */
  readonly cache?: string;
  /** Its headers of security; those of data without it. */
  readonly safe?: SafeHeaders;
}
