import type { Exchange } from '../../http/exchange.ts';

/** The built pages of the panel. */
export interface Pages {
  /** Answers a read of a page or of one of its files. @returns undefined, and answers nothing, for any other request */
  serve(exchange: Exchange): Promise<void> | undefined;
}
