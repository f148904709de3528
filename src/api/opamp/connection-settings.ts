import { createHash } from 'node:crypto';
import type { AgentAbilities } from '../../domain/opamp/agent-state.ts';
import type { AnswerFields } from '../../opamp/messages.ts';
import type { OfferedConnection } from './deps.ts';

/** Connection settings for an agent, and their hash. */
export interface Settings {
  readonly hash: string;
  /** Whether they replace those that the agent has, so that they are offered once. */
  readonly isWhole: boolean;
  readonly message: NonNullable<AnswerFields['connectionSettings']>;
}

/**
 * The settings by which an agent polls at its interval; undefined where it is to be offered none. An agent that accepts
 * connection settings takes them whole, with its own credential; others take the interval alone.
 * @param bearer the token of the request
 */
export function pollSettings(
  { reportsHeartbeat, acceptsSettings }: AgentAbilities,
  connection: OfferedConnection,
  intervalSeconds: number,
  bearer: string,
): Settings | undefined {
  if (!reportsHeartbeat) return undefined;
  if (acceptsSettings)
    return connection.url === undefined ? undefined : wholeSettings(connection, intervalSeconds, bearer);
  const hash = `interval-${intervalSeconds}`;
  const message = { hash: Buffer.from(hash), opamp: { heartbeatIntervalSeconds: BigInt(intervalSeconds) } };
  return { hash, isWhole: false, message };
}

/**
 * All that an agent needs to connect. Without a certificate the supervisor of the collector would switch off the
 * verification of certificates.
 */
export function wholeSettings(
  { url = '', authority }: OfferedConnection,
  intervalSeconds: number,
  bearer: string,
): Settings {
  const place = createHash('sha256')
    .update(`${url}\n${authority?.toString() ?? ''}`)
    .digest('base64url')
    .slice(0, 12);
  const hash = `connection-${intervalSeconds}-${place}`;
  return {
    hash,
    isWhole: true,
    message: {
      hash: Buffer.from(hash),
      opamp: {
        destinationEndpoint: url,
        headers: { headers: [{ key: 'Authorization', value: `Bearer ${bearer}` }] },
        certificate: authority ? { caCert: authority } : {},
        tls: { includeSystemCaCertsPool: true, ...(authority && { caPemContents: authority.toString() }) },
        heartbeatIntervalSeconds: BigInt(intervalSeconds),
      },
    },
  };
}
