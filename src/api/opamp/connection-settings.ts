import { createHash } from 'node:crypto';
import type { AgentAbilities } from '../../domain/opamp/agent-state.ts';
import type { AnswerFields } from '../../opamp/messages.ts';

/** The connection settings that agents may be offered. */
export interface OfferedConnection {
  /** The public URL of the endpoint; undefined where the installation states none. */
  readonly url: string | undefined;
  /**
   * The authority that signed the endpoint's certificate, as PEM, at present; undefined where the system of the agent
   * knows it.
   */
  readonly authority: () => Buffer | undefined;
  /** Whether a code is taken in place of a credential. */
  readonly bootstrap: boolean;
}

/** Connection settings for an agent, and their hash. */
export interface Settings {
  readonly hash: string;
  /** Whether they replace those that the agent has, so that they are offered once. */
  readonly isWhole: boolean;
  /** Makes the message, with the agent's credential: most answers have none. */
  readonly message: () => NonNullable<AnswerFields['connectionSettings']>;
}

/** The connection settings of an installation, for each of its agents. */
export interface ConnectionSettings {
  /**
   * The settings by which an agent polls at its interval; undefined where it is to be offered none. An agent that
   * accepts connection settings takes them whole, with its own credential; others take the interval alone.
   * @param bearer the token of the request
   */
  poll(abilities: AgentAbilities, intervalSeconds: number, bearer: string): Settings | undefined;
  /**
   * All that an agent needs to connect. Without a certificate the supervisor of the collector would switch off the
   * verification of certificates.
   */
  complete(intervalSeconds: number, bearer: string): Settings;
}

/** The address with its authority, and a name that is another one for another authority: agents then get it. */
interface Place {
  readonly bytes: Buffer | undefined;
  readonly pem: string | undefined;
  readonly name: string;
}

export function connectionSettings({ url, authority }: OfferedConnection): ConnectionSettings {
  let known: Place | undefined;
  function present(): Place {
    const bytes = authority();
    if (known && known.bytes === bytes) return known;
    const pem = bytes?.toString();
    const hash = createHash('sha256').update(`${url ?? ''}\n${pem ?? ''}`);
    return (known = { bytes, pem, name: hash.digest('base64url').slice(0, 12) });
  }

  function complete(intervalSeconds: number, bearer: string): Settings {
    const { bytes, pem, name } = present();
    const hash = `connection-${intervalSeconds}-${name}`;
    return {
      hash,
      isWhole: true,
      message: () => ({
        hash: Buffer.from(hash),
        opamp: {
          destinationEndpoint: url ?? '',
          headers: { headers: [{ key: 'Authorization', value: `Bearer ${bearer}` }] },
          certificate: bytes ? { caCert: bytes } : {},
          tls: { includeSystemCaCertsPool: true, ...(pem !== undefined && { caPemContents: pem }) },
          heartbeatIntervalSeconds: BigInt(intervalSeconds),
        },
      }),
    };
  }

  return {
    complete,
    poll({ reportsHeartbeat, acceptsSettings }, intervalSeconds, bearer) {
      if (!reportsHeartbeat) return undefined;
      if (acceptsSettings) return url === undefined ? undefined : complete(intervalSeconds, bearer);
      const hash = `interval-${intervalSeconds}`;
      const opamp = { heartbeatIntervalSeconds: BigInt(intervalSeconds) };
      return { hash, isWhole: false, message: () => ({ hash: Buffer.from(hash), opamp }) };
    },
  };
}
