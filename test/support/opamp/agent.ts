import type { MessageInitShape } from '@bufbuild/protobuf';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { AGENT_CAN } from '../../../src/opamp/capabilities.ts';
import {
  type AgentToServerSchema,
  RemoteConfigStatuses,
  type ServerToAgent,
} from '../../../src/opamp/generated/opamp_pb.ts';
import { agentMessageBytes, readAnswer } from '../../../src/opamp/messages.ts';

/** What a message of an agent may say; the rest is the agent's own. */
type Fields = Omit<MessageInitShape<typeof AgentToServerSchema>, '$typeName' | '$unknown'>;

export const REPORTS =
  AGENT_CAN.reportStatus | AGENT_CAN.acceptRemoteConfig | AGENT_CAN.reportRemoteConfig | AGENT_CAN.reportHealth;

/** An answer to a message: HTTP's, and the message in it where it is one. */
export interface OpampAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Inflated, where it came compressed. */
  readonly bytes: Uint8Array;
  /** The error's code where the answer is an error of HTTP. */
  readonly code: string | undefined;
  readonly message: ServerToAgent | undefined;
}

interface RawPost {
  readonly url: string;
  readonly bearer?: string | undefined;
  readonly body: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  /** The connection to use; one of its own by default. */
  readonly connection?: Agent;
}

/** Sends bytes to an endpoint, whatever they are. */
export async function post({
  url,
  bearer,
  body,
  headers = {},
  method = 'POST',
  connection,
}: RawPost): Promise<OpampAnswer> {
  const sent = request(url, {
    method,
    ...(connection && { agent: connection }),
    headers: {
      'Content-Type': 'application/x-protobuf',
      ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }),
      ...headers,
    },
  });
  sent.end(method === 'POST' ? body : undefined);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const raw = await buffer(response);
  const bytes = response.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
  const isMessage = response.headers['content-type'] === 'application/x-protobuf';
  const error = isMessage || bytes.length === 0 ? undefined : (JSON.parse(bytes.toString()) as Failed);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    bytes,
    code: error?.error.code,
    message: isMessage ? readAnswer(bytes) : undefined,
  };
}

interface Failed {
  readonly error: { readonly code: string };
}

/** An agent that says what it is told to say, with the numbers that it owes. */
export class OpampAgent {
  readonly url: string;
  bearer: string;
  instanceUid: Uint8Array = randomBytes(16);
  capabilities: bigint;
  sequence = 0n;
  /** One connection, as an agent has it. */
  readonly #connection = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(device: string, bearer: string, capabilities: bigint = REPORTS) {
    this.url = `${device}/v1/opamp`;
    this.bearer = bearer;
    this.capabilities = capabilities;
  }

  bytes(fields: Fields = {}): Uint8Array {
    this.sequence += 1n;
    const { instanceUid, capabilities, sequence: sequenceNum } = this;
    return agentMessageBytes({ instanceUid, capabilities, sequenceNum, ...fields });
  }

  send(fields: Fields = {}, headers: Readonly<Record<string, string>> = {}): Promise<OpampAnswer> {
    return this.sendBytes(this.bytes(fields), headers);
  }

  sendBytes(body: Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<OpampAnswer> {
    return post({ url: this.url, bearer: this.bearer, body, headers, connection: this.#connection });
  }

  sendCompressed(fields: Fields = {}): Promise<OpampAnswer> {
    const body = gzipSync(this.bytes(fields));
    return this.sendBytes(body, { 'Content-Encoding': 'gzip' });
  }

  /** The message in the answer. @throws Error where there is none, or it is an error */
  async say(fields: Fields = {}): Promise<ServerToAgent> {
    const { status, code, message } = await this.send(fields);
    if (!message) throw new Error(`OpAMP: ${status} ${code ?? ''}`);
    if (message.errorResponse) throw new Error(`OpAMP: ${message.errorResponse.errorMessage}`);
    return message;
  }

  /** All that an agent says when it starts. */
  start(fields: Fields = {}): Promise<ServerToAgent> {
    return this.say({ agentDescription: described(), remoteConfigStatus: {}, ...fields });
  }

  /** Says that it has applied, or could not, what it was offered. */
  acknowledge(
    { remoteConfig }: ServerToAgent,
    status: RemoteConfigStatuses = RemoteConfigStatuses.APPLIED,
    errorMessage = '',
  ): Promise<ServerToAgent> {
    if (!remoteConfig) throw new Error('nothing was offered');
    return this.say({ remoteConfigStatus: { lastRemoteConfigHash: remoteConfig.configHash, status, errorMessage } });
  }
}

/** The description of an agent. */
export const described = (
  attributes: Readonly<Record<string, string>> = { 'service.version': '0.149.0', 'os.type': 'linux' },
) => {
  const [identifying, others] = [['service.name', 'service.version'], Object.keys(attributes)];
  const of = (keys: readonly string[]) =>
    keys.flatMap((key) => (attributes[key] === undefined ? [] : [{ key, value: { stringValue: attributes[key] } }]));
  return {
    identifyingAttributes: of(identifying),
    nonIdentifyingAttributes: of(others.filter((key) => !identifying.includes(key))),
  };
};

/** The offered file as text; undefined where nothing is offered. */
export function offered({ remoteConfig }: ServerToAgent): string | undefined {
  const file = remoteConfig?.config?.configMap[''];
  return file && Buffer.from(file.body).toString();
}

/** The hash of what is offered, as text. */
export const hashOf = ({ remoteConfig }: ServerToAgent): string =>
  Buffer.from(remoteConfig?.configHash ?? new Uint8Array()).toString();
