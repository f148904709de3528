import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Reply, StreamedReply } from '../http/reply.ts';

/**
 * Sends an answer of any kind. A request for the headers alone begins no stream.
 * @throws whatever the stream throws
 */
export function send(exchange: Exchange, reply: Reply): MaybePromise<void> {
  if (!('stream' in reply || 'open' in reply)) return exchange.reply(reply);
  const { status, headers = [] } = reply;
  if (exchange.request.method === 'HEAD') return exchange.reply({ status, headers });
  if ('stream' in reply) return sendStream(exchange, reply);
  reply.open(() => exchange.open(headers));
}

async function sendStream(exchange: Exchange, { headers = [], stream: begin }: StreamedReply): Promise<void> {
  await using stream = await begin();
  await exchange.stream(headers, stream.pieces());
}
