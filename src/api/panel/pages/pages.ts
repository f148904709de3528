import type { IncomingMessage, ServerResponse } from 'node:http';

/** The built pages of the panel. */
export interface Pages {
  /** Answers a read of a page or of one of its files. @returns false, and answers nothing, for any other request */
  serve(request: IncomingMessage, response: ServerResponse): boolean;
}
