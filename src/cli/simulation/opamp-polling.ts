import { MusterError } from '#client';
import { AGENT_CAN, REPORT_FULL_STATE } from '../../opamp/capabilities.ts';
import { RemoteConfigStatuses, type AgentRemoteConfig, type ServerToAgent } from '../../opamp/generated/opamp_pb.ts';
import { newInstanceUid } from '../../opamp/instance-uid.ts';
import { agentMessageBytes } from '../../opamp/messages.ts';
import { exchange } from './opamp-exchange.ts';
import type { DaemonSurroundings, OpampSurroundings, Polling, PollingDaemon } from './surroundings.ts';

const CAPABILITIES =
  AGENT_CAN.reportStatus |
  AGENT_CAN.acceptRemoteConfig |
  AGENT_CAN.reportRemoteConfig |
  AGENT_CAN.reportHealth |
  AGENT_CAN.reportHeartbeat;

/**
 * Polls as an agent of OpAMP over plain HTTP does: all of its state first, then a heartbeat in each interval, and what
 * has changed at once. No heartbeat can be held, so a change arrives up to an interval late.
 */
export class OpampPolling implements Polling {
  readonly #surroundings: DaemonSurroundings;
  readonly #opamp: OpampSurroundings;
  readonly #credential: string;
  #instanceUid: Uint8Array;
  /** The number of the last message that was answered: one that was not is sent again under its number. */
  #sequenceNum = 0n;
  /** The hash of the configuration that it has; undefined where it has none. */
  #configHash: Uint8Array | undefined;
  /** The service has not been told that the configuration is applied. */
  #isUntold = false;
  /** The version in the description that the service has. */
  #described: string | undefined;
  #owesFullState = true;
  #hasBegun = false;
  /** As the service offers it. */
  #offeredSeconds: number | undefined;

  constructor(surroundings: DaemonSurroundings, opamp: OpampSurroundings, credential: string) {
    this.#surroundings = surroundings;
    this.#opamp = opamp;
    this.#credential = credential;
    this.#instanceUid = newInstanceUid();
  }

  async turn(daemon: PollingDaemon, signal: AbortSignal): Promise<void> {
    const { clock, counters } = this.#surroundings;
    const { remoteConfig } = await this.#say(daemon.agentVersion, signal);
    counters.polls += 1;
    if (!remoteConfig) counters.unchanged += 1;
    // A request in the answer to this waits for the next turn: nobody can keep the agent busy.
    if (this.#isUntold || this.#owesFullState) await this.#say(daemon.agentVersion, signal);
    await clock.sleep(this.#pauseMs(daemon), signal);
  }

  #pauseMs({ pollIntervalSeconds }: PollingDaemon): number {
    const { intervalSeconds } = this.#opamp;
    // The service spreads what it offers. An interval that is set would keep those in step that began together.
    if (intervalSeconds !== undefined) return intervalSeconds * 1000 * (1 + this.#surroundings.jitter() / 10);
    return (this.#offeredSeconds ?? pollIntervalSeconds) * 1000;
  }

  async #say(agentVersion: string, signal: AbortSignal): Promise<ServerToAgent> {
    const { endpoint, fetch, slots } = this.#opamp;
    const isTold = this.#isUntold;
    const message = agentMessageBytes({
      instanceUid: this.#instanceUid,
      sequenceNum: this.#sequenceNum + 1n,
      capabilities: CAPABILITIES,
      ...(this.#owesFullState && { health: { healthy: true } }),
      ...((this.#owesFullState || isTold) && { remoteConfigStatus: this.#configStatus() }),
      ...((this.#owesFullState || this.#described !== agentVersion) && {
        agentDescription: describedAs(agentVersion, this.#instanceUid),
      }),
    });
    const answer = await slots.run(() =>
      exchange({ url: endpoint, credential: this.#credential, fetch }, message, signal),
    );
    if (Buffer.compare(answer.instanceUid, this.#instanceUid) !== 0) {
      throw new MusterError('The answer is for another agent.', { code: 'bad_answer', status: 200 });
    }
    this.#sequenceNum += 1n;
    this.#described = agentVersion;
    this.#owesFullState = false;
    if (isTold) this.#surroundings.counters.acknowledged += 1;
    this.#isUntold = false;
    this.#take(answer);
    return answer;
  }

  #take({ flags, agentIdentification, connectionSettings, remoteConfig }: ServerToAgent): void {
    const isFirst = !this.#hasBegun;
    this.#hasBegun = true;
    if ((flags & REPORT_FULL_STATE) !== 0n) this.#owesFullState = true;
    if (agentIdentification) this.#instanceUid = agentIdentification.newInstanceUid;
    const offered = Number(connectionSettings?.opamp?.heartbeatIntervalSeconds ?? 0n);
    if (offered > 0) this.#offeredSeconds = offered;
    if (remoteConfig) this.#takeConfig(remoteConfig, isFirst);
  }

  /** @param isFirst whether it finds the configuration there, which has not just been changed then */
  #takeConfig({ config, configHash }: AgentRemoteConfig, isFirst: boolean): void {
    const { clock, counters } = this.#surroundings;
    // One that it has already is told of again, since the service does not know.
    this.#isUntold = true;
    if (this.#configHash && Buffer.compare(this.#configHash, configHash) === 0) return;
    this.#configHash = configHash;
    counters.received += 1;
    if (isFirst) return;
    const text = Object.values(config?.configMap ?? {})
      .map(({ body }) => Buffer.from(body).toString())
      .join('\n');
    // The hash begins with the revision.
    const revision = Number.parseInt(Buffer.from(configHash).toString('latin1'), 10);
    counters.receivedChange(counters.endpointIn(text) ?? '', revision, clock.monotonic());
  }

  #configStatus(): { lastRemoteConfigHash: Uint8Array; status: RemoteConfigStatuses } {
    return this.#configHash === undefined
      ? { lastRemoteConfigHash: new Uint8Array(), status: RemoteConfigStatuses.UNSET }
      : { lastRemoteConfigHash: this.#configHash, status: RemoteConfigStatuses.APPLIED };
  }
}

function describedAs(version: string, instanceUid: Uint8Array) {
  const instance = Buffer.from(instanceUid)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  return {
    identifyingAttributes: [
      attribute('service.name', 'muster-simulated'),
      attribute('service.version', version),
      attribute('service.instance.id', instance),
    ],
    nonIdentifyingAttributes: [attribute('os.type', 'linux')],
  };
}

const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
