import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { randomUUID } from 'node:crypto';
import { createOpAMPClient, DIAG_CH_SEND_FAIL, DIAG_CH_SEND_SUCCESS } from '@elastic/opamp-client-node';
import * as z from 'zod';
import { AGENT_CAN, REPORT_FULL_STATE } from '../../../src/opamp/capabilities.ts';
import { RemoteConfigStatuses } from '../../../src/opamp/generated/opamp_pb.ts';

/** The client sends a message this often, whatever it is offered. */
const HEARTBEAT_SECONDS = 0.1;

/** A configuration that an agent was sent. */
export interface Received {
  readonly hash: string;
  readonly contentType: string;
  readonly text: string;
  /** How many answers the agent had before. */
  readonly answersBefore: number;
}

// The types of the client lead to files that its package does not have.
const bytes = z.instanceof(Uint8Array);
const file = z.object({ contentType: z.string(), body: bytes });
const offered = z.object({
  remoteConfig: z.object({ configHash: bytes, config: z.object({ configMap: z.object({ '': file }) }) }).optional(),
});
const answered = z.object({ instanceUidStr: z.string(), s2a: z.object({ flags: z.bigint() }) });
const failed = z.object({ instanceUidStr: z.string(), err: z.unknown() });

/** An agent by Elastic's client for Node, which takes every configuration and says so. */
export class ElasticAgent implements AsyncDisposable {
  readonly configs: Received[] = [];
  /** What went wrong with a message, in the client's words. */
  readonly failures: string[] = [];
  answers = 0;
  /** How often it was asked for its full state. */
  fullStates = 0;
  readonly #client: ReturnType<typeof createOpAMPClient>;
  readonly #instance = randomUUID();

  /** @param url of the OpAMP endpoint */
  constructor(url: string, credential: string) {
    this.#client = createOpAMPClient({
      endpoint: url,
      instanceUid: this.#instance,
      headers: { authorization: `Bearer ${credential}` },
      heartbeatIntervalSeconds: HEARTBEAT_SECONDS,
      capabilities: AGENT_CAN.acceptRemoteConfig | AGENT_CAN.reportRemoteConfig,
      diagEnabled: true,
      onMessage: (told: unknown) => {
        const { remoteConfig } = offered.parse(told);
        if (!remoteConfig) return;
        const { configHash, config } = remoteConfig;
        const { contentType, body } = config.configMap[''];
        this.configs.push({
          hash: Buffer.from(configHash).toString(),
          contentType,
          text: Buffer.from(body).toString(),
          answersBefore: this.answers - 1,
        });
        this.#client.setRemoteConfigStatus({
          status: RemoteConfigStatuses.APPLIED,
          lastRemoteConfigHash: configHash,
        });
      },
    });
    this.#client.setAgentDescription({
      identifyingAttributes: { 'service.name': 'elastic', 'service.version': '1.2.3' },
      nonIdentifyingAttributes: { 'os.type': 'linux' },
    });
    // The channels are those of the whole process: other clients publish there as well.
    subscribe(DIAG_CH_SEND_SUCCESS, this.#onAnswer);
    subscribe(DIAG_CH_SEND_FAIL, this.#onFailure);
    this.#client.start();
  }

  readonly #onAnswer = (message: unknown): void => {
    const { instanceUidStr, s2a } = answered.parse(message);
    if (instanceUidStr !== this.#instance) return;
    this.answers += 1;
    if ((s2a.flags & REPORT_FULL_STATE) !== 0n) this.fullStates += 1;
  };

  readonly #onFailure = (message: unknown): void => {
    const { instanceUidStr, err } = failed.parse(message);
    if (instanceUidStr === this.#instance) this.failures.push(String(err));
  };

  async [Symbol.asyncDispose](): Promise<void> {
    unsubscribe(DIAG_CH_SEND_SUCCESS, this.#onAnswer);
    unsubscribe(DIAG_CH_SEND_FAIL, this.#onFailure);
    await this.#client.shutdown();
  }
}
