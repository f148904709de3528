import { create, fromBinary, toBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';
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

/** The number of `AgentToServer.agent_description`, and the bytes that it may have: an object is made for each attribute. */
const DESCRIPTION_FIELD = 3;
const DESCRIPTION_BYTES_MAX = 32_768;

/**
 * Reads a message of an agent. Fields that the schema does not have are skipped, the effective configuration among them:
 * nothing of it is kept for a moment.
 * @throws BadMessage
 */
export function readAgentMessage(bytes: Uint8Array): AgentToServer {
  try {
    // Most messages are heartbeats, which are shorter than the bound.
    if (bytes.length > DESCRIPTION_BYTES_MAX) boundDescription(bytes);
    return fromBinary(AgentToServerSchema, bytes, { readUnknownFields: false });
  } catch (error) {
    if (error instanceof BadMessage) throw error;
    throw new BadMessage('The body is no AgentToServer message of OpAMP.');
  }
}

function boundDescription(bytes: Uint8Array): void {
  const reader = new BinaryReader(bytes);
  let described = 0;
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    const start = reader.pos;
    reader.skip(type, field);
    if (field === DESCRIPTION_FIELD) described += reader.pos - start;
  }
  if (described <= DESCRIPTION_BYTES_MAX) return;
  throw new BadMessage(`agent_description has more than ${DESCRIPTION_BYTES_MAX} bytes: describe the agent by fewer.`);
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
    create(ServerToAgentSchema, { ...fields, instanceUid, capabilities: SERVER_CAPABILITIES }),
  );

/** A message of an agent in bytes; for those who act as one. */
export const agentMessageBytes = (message: MessageInitShape<typeof AgentToServerSchema>): Uint8Array =>
  toBinary(AgentToServerSchema, create(AgentToServerSchema, message));

/** Reads an answer; for those who act as an agent. @throws Error where it is none */
export const readAnswer = (bytes: Uint8Array): ServerToAgent => fromBinary(ServerToAgentSchema, bytes);
