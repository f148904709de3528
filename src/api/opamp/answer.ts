import { gzipSync } from 'node:zlib';
import { ServerErrorResponseType } from '../../opamp/generated/opamp_pb.ts';
import { answerBytes, OPAMP_TYPE, type AnswerFields } from '../../opamp/messages.ts';
import { takesGzip } from '../headers/accepted-encoding.ts';
import type { Exchange } from '../http/exchange.ts';

/** Answers of fewer bytes are not compressed: most are 20. */
const COMPRESSED_FROM = 1024;

/** Sends an answer to an agent. @param instanceUid as the agent sent it */
export function reply(exchange: Exchange, instanceUid: Uint8Array, fields: AnswerFields): void {
  const bytes = Buffer.from(answerBytes(instanceUid, fields));
  const headers = ['Content-Type', OPAMP_TYPE];
  if (bytes.length < COMPRESSED_FROM || !takesGzip(exchange.request))
    return exchange.reply({ status: 200, body: bytes, headers });
  headers.push('Content-Encoding', 'gzip');
  exchange.reply({ status: 200, body: gzipSync(bytes), headers });
}

/** Answers a message that cannot be taken: its agent is not to send it again. */
export function replyBadRequest(exchange: Exchange, instanceUid: Uint8Array, why: string): void {
  reply(exchange, instanceUid, {
    errorResponse: { type: ServerErrorResponseType.BAD_REQUEST, errorMessage: why },
  });
}
