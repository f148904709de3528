import { LIMITS } from '../../domain/limits.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { AgentToServer } from '../../opamp/generated/opamp_pb.ts';
import { OPAMP_TYPE, readAgentMessage } from '../../opamp/messages.ts';
import type { AwaitedBodies } from '../http/awaited-bodies.ts';
import { HttpRefusal } from '../http/errors.ts';
import type { Exchange } from '../http/exchange.ts';
import { BODY_LIMITS, readBody, type BodyLimits } from '../http/request-body.ts';
import type { OpampDeps } from './deps.ts';

/** A message of whoever is authenticated: a full state may be long (H7). */
export const readMessage = (exchange: Exchange, { messages, inflating }: OpampDeps): Promise<AgentToServer> =>
  read(exchange, {
    bytesMax: LIMITS.opampMessageBytesMax,
    compressedBytesMax: LIMITS.opampCompressedBytesMax,
    awaited: messages,
    inflating,
  });

/** A message that comes with a code: nothing has authenticated it, so it is short and not compressed. */
export const readStrangersMessage = (exchange: Exchange, awaited: AwaitedBodies): Promise<AgentToServer> =>
  read(exchange, { bytesMax: LIMITS.requestBodyBytesMax, awaited });

/** @throws BadMessage; Refusal `invalid_request`; HttpRefusal `payload_too_large` or `overloaded`; Busy */
async function read(exchange: Exchange, own: Omit<BodyLimits, 'stallMs' | 'totalMs'>): Promise<AgentToServer> {
  const { request, response, principal } = exchange;
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (type !== OPAMP_TYPE) throw new Refusal('invalid_request', `Content-Type must be ${OPAMP_TYPE}.`);
  const body = await readBody(request, response, principal, { ...BODY_LIMITS, ...own, isBinary: true });
  switch (body.kind) {
    case 'too_large':
      throw new HttpRefusal('payload_too_large');
    case 'overloaded':
      throw new HttpRefusal('overloaded');
    case 'unreadable':
      throw new Refusal('invalid_request', body.why);
    case 'empty':
      return readAgentMessage(new Uint8Array());
    case 'bytes':
      return readAgentMessage(body.bytes);
  }
}
