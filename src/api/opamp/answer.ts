import { gzipSync } from 'node:zlib';
import type { RandomSource } from '../../domain/credentials/random-ids.ts';
import { ServerErrorResponseType } from '../../opamp/generated/opamp_pb.ts';
import { answerBytes, OPAMP_TYPE, type AnswerFields } from '../../opamp/messages.ts';
import type { Exchange } from '../http/exchange.ts';

/** Answers of fewer bytes are not compressed: most are 20. */
const COMPRESSED_FROM = 1024;

/** Sends an answer to an agent. @param instanceUid as the agent sent it */
export function reply(exchange: Exchange, instanceUid: Uint8Array, fields: AnswerFields): void {
  const bytes = Buffer.from(answerBytes(instanceUid, fields));
  const headers = ['Content-Type', OPAMP_TYPE];
  if (bytes.length < COMPRESSED_FROM || !takesGzip(exchange))
    return exchange.reply({ status: 200, body: bytes, headers });
  headers.push('Content-Encoding', 'gzip');
  exchange.reply({ status: 200, body: gzipSync(bytes), headers });
}

const takesGzip = ({ request }: Exchange): boolean =>
  /(?:^|,)\s*(?:gzip|\*)\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[^,]*)?(?:,|$)/i.test(
    request.headers['accept-encoding'] ?? '',
  );

/** Answers a message that cannot be taken: its agent is not to send it again. */
export function replyBadRequest(exchange: Exchange, instanceUid: Uint8Array, why: string): void {
  reply(exchange, instanceUid, {
    errorResponse: { type: ServerErrorResponseType.BAD_REQUEST, errorMessage: why },
  });
}

/** An id for an instance that has none: UUID version 7 (RFC 9562, 5.7). @param now in milliseconds since 1970 */
export function newInstanceUid(random: RandomSource, now: number): Uint8Array {
  const uid = Uint8Array.from(random.bytes(16));
  const view = new DataView(uid.buffer);
  view.setUint16(0, Math.floor(now / 2 ** 32));
  view.setUint32(2, now % 2 ** 32);
  view.setUint8(6, (view.getUint8(6) & 0x0f) | 0x70);
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80);
  return uid;
}
