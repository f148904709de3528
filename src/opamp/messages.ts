import { create, fromBinary, toBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { SERVER_CAPABILITIES } from './capabilities.ts';
import {
  AgentToServerSchema,
  ServerToAgentSchema,
  type AgentToServer,
  type ServerToAgent,
} from './generated/opamp_pb.ts';

/** The media type of both messages. */
export const OPAMP_TYPE = 'application/x-protobuf';

/** A message that cannot be read, or that says too much. Its text is for the agent, and has nothing of the message. */
export class BadMessage extends Error {
  override readonly name = 'BadMessage';
}

/**
 * The bytes that fields of `AgentToServer` may have, all of one number together: `instance_uid`, `agent_description`,
 * `health`, `remote_config_status`, `agent_disconnect`. Each part of them may become an object.
 */
const BYTES_MAX: ReadonlyMap<number, readonly [name: string, bytes: number]> = new Map([
  [1, ['instance_uid', 64]],
  [3, ['agent_description', 32_768]],
  [5, ['health', 131_072]],
  [7, ['remote_config_status', 16_384]],
  [9, ['agent_disconnect', 64]],
]);
/**
 * `sequence_num`, `capabilities`, `flags`. The parser would read a number where the walk sees a field that is skipped.
 */
const NUMBERS: ReadonlySet<number> = new Set([2, 4, 10]);
/** A message has each field once, and there are fifteen. */
const FIELDS_MAX = 100;

/**
 * Reads a message of an agent. Fields that the schema does not have are skipped, the effective configuration among
 * them: nothing of it is kept for a moment.
 * @throws BadMessage
 */
export function readAgentMessage(bytes: Uint8Array): AgentToServer {
  try {
    boundFields(bytes);
    return fromBinary(AgentToServerSchema, bytes, { readUnknownFields: false });
  } catch (error) {
    if (error instanceof BadMessage) throw error;
    throw new BadMessage('The body is no AgentToServer message of OpAMP.');
  }
}

/** A megabyte of tiny fields would take a tenth of a second: the walk over the fields is short, and comes first. */
function boundFields(bytes: Uint8Array): void {
  const reader = new BinaryReader(bytes);
  const sizes = new Map<number, number>();
  for (let fields = 1; reader.pos < reader.len; fields += 1) {
    if (fields > FIELDS_MAX) throw new BadMessage(`The message has more than ${FIELDS_MAX} fields.`);
    const [field, type] = reader.tag();
    const expected = NUMBERS.has(field) ? WireType.Varint : BYTES_MAX.has(field) ? WireType.LengthDelimited : type;
    if (type !== expected) throw new BadMessage('A field of the message has another type than the protocol gives it.');
    if (type === WireType.StartGroup)
      throw new BadMessage('The message has a group, which the protocol does not know.');
    const start = reader.pos;
    reader.skip(type, field);
    const bound = BYTES_MAX.get(field);
    if (!bound) continue;
    const size = (sizes.get(field) ?? 0) + reader.pos - start;
    if (size > bound[1]) throw new BadMessage(`${bound[0]} has more than ${bound[1]} bytes.`);
    sizes.set(field, size);
  }
}

/** The fields of an answer beside the id of its agent and the capabilities, which each has. */
export type AnswerFields = Omit<
  MessageInitShape<typeof ServerToAgentSchema>,
  '$typeName' | 'instanceUid' | 'capabilities'
>;

/** An answer to an agent in bytes. @param instanceUid as the agent sent it */
export const answerBytes = (instanceUid: Uint8Array, fields: AnswerFields = {}): Uint8Array =>
  toBinary(
    ServerToAgentSchema,
    create(ServerToAgentSchema, {
      ...fields,
      instanceUid,
      // An error is told with nothing beside it.
      ...(!fields.errorResponse && { capabilities: SERVER_CAPABILITIES }),
    }),
  );

/** A message of an agent in bytes; for those who act as one. */
export const agentMessageBytes = (message: MessageInitShape<typeof AgentToServerSchema>): Uint8Array =>
  toBinary(AgentToServerSchema, create(AgentToServerSchema, message));

/** Reads an answer; for those who act as an agent. @throws Error where it is none */
export const readAnswer = (bytes: Uint8Array): ServerToAgent => fromBinary(ServerToAgentSchema, bytes);
