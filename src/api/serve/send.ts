import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Reply } from '../http/reply.ts';

/**
 * Sends an answer of any kind. A request for the headers alone begins no stream.
 * @throws whatever the stream throws
 */
export function send(exchange: Exchange, reply: Reply): MaybePromise<void> {
  const { headers = [], stream, open } = reply;
  const isHead = exchange.request.method === 'HEAD';
  if (stream && !isHead) return sendStream(exchange, headers, stream);
  if (!open || isHead) return exchange.reply(reply);
  open(() => exchange.open(headers));
}

async function sendStream(
  exchange: Exchange,
  headers: readonly string[],
  begin: NonNullable<Reply['stream']>,
): Promise<void> {
  await using stream = await begin();
  await exchange.stream(headers, stream.pieces());
}
