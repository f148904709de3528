import type { ServerResponse } from 'node:http';
import type { SafeHeaders } from '../headers/security-headers.ts';

/** A long body, in pieces. It is disposed of when the client has it, or is gone. */
interface Stream extends AsyncDisposable {
  pieces(): AsyncIterable<string>;
}

/** A response whose body the handler has whole. */
export interface WholeReply {
  readonly status: number;
  /** An object is sent as JSON; a text or a buffer is JSON already. */
  readonly body?: object | string | Buffer;
  readonly headers?: readonly string[];
  /** The Cache-Control field; `CACHE_CONTROL` without it. */
  readonly cache?: string;
  /** Its headers of security; those of data without it. */
  readonly safe?: SafeHeaders;
}

/** A response whose body comes in pieces. */
export interface StreamedReply {
  readonly status: 200;
  readonly headers?: readonly string[];
  /** Begins a long body, of unknown length, that no deadline bounds but that its client takes something of it. */
  readonly stream: () => Promise<Stream>;
}

/** A response whose body has no end of its own. */
export interface OpenReply {
  readonly status: 200;
  readonly headers?: readonly string[];
  /**
   * Writes the body.
   * @param begin sends the headers
   */
  readonly open: (begin: () => ServerResponse) => void;
}

/** A response as a handler gives it. */
export type Reply = WholeReply | StreamedReply | OpenReply;
