/* Written by `npm run client` from docs/openapi/device.json: do not edit. */

import { Client } from '../client.ts';
import type { CallOptions } from '../options.ts';

/** The operations of the API as methods: the ids of the path, then the body or the query, then the options. */
export abstract class DeviceOperations extends Client {
  /** Tells whether the daemon could apply a revision, for the view of the rollout. After a lost answer it is not sent again. */
  async acknowledgeConfig(body: AcknowledgeConfigRequest, options?: CallOptions): Promise<void> {
    await this.done({ method: 'POST', path: '/device/v1/config/ack', body, repeatable: false }, options);
  }

  /** Adds entries to the review queue of the account. The same request may be repeated: an event that is known by its `id` is not added again. An event that is wrong is refused alone: `refused` names it, and the others are taken. Private daemons are refused; their detections go to their own collector. After a lost answer it is not sent again. */
  async reportDetections(body: ReportDetectionsRequest, options?: CallOptions): Promise<AcceptedDetections> {
    return await this.answered(
      'accepted',
      { method: 'POST', path: '/device/v1/detections', body, repeatable: false },
      options,
    );
  }
}

/** How many detections were taken. */
export interface AcceptedDetections {
  /** The number of events in the request that were taken, repeats included. */
  readonly accepted: number;
  /** The events that were not taken, and will not be; absent where there is none. */
  readonly refused?: readonly RefusedDetection[] | undefined;
}

/** How it went. */
export type AckStatus = 'applied' | 'failed';

/** The outcome of a revision on one machine. */
export interface AcknowledgeConfigRequest {
  /** The revision that the daemon applied, or could not; one that it was never given is 400. */
  readonly revision: number;
  readonly status: AckStatus;
  /** What went wrong; cut after 512 characters. No secret belongs here. */
  readonly error?: string | undefined;
}

/** Only a `cloud` daemon of an Enterprise account receives the configuration; a `private` one, as without this field, is configured locally. */
export type Connection = 'cloud' | 'private';

/** The export configuration. */
export interface DeliveredOtelConfig {
  /** Whether to export at all. */
  readonly enabled: boolean;
  /** The OTLP/HTTP address of the collector; empty where none is set. */
  readonly endpoint: string;
  /** The headers to send to the collector, secrets among them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly evidenceLevel: EvidenceLevel;
}

/** A detection of a daemon. */
export interface Detection {
  /** An id that never repeats for this app: random rather than counted, printable ASCII. */
  readonly id: string;
  /** When it happened, not before 1970, with `Z` or an offset. */
  readonly at: string;
  /** The rule that found it, printable ASCII. */
  readonly rule: string;
  readonly severity: Severity;
  readonly evidence: ReportedEvidence;
}

/** The configuration of a daemon. */
export interface DeviceConfig {
  /** The revision of the configuration, which each change of it raises; 0 for the one that was never stored. */
  readonly revision: number;
  /** Seconds from one poll of this app’s daemon to the next; it has a spread of its own, so that a fleet does not poll in step. */
  readonly pollIntervalSeconds: number;
  readonly otel: DeliveredOtelConfig;
}

/** What a daemon shows to enroll. */
export interface EnrollDeviceRequest {
  /** The id of the app that the daemon enrolls as. One of another form is as wrong as an unknown one. */
  readonly appId: string;
  /** An open enrollment code of the app, a secret. It is used up. One of another form is as wrong as an unknown one. */
  readonly enrollCode: string;
  /** The platform of the machine; printable ASCII, empty without it. */
  readonly platform?: string | undefined;
  /** The version of the daemon; printable ASCII, empty without it. */
  readonly agentVersion?: string | undefined;
  readonly connection?: Connection | undefined;
  /** The SHA-256 of a credential that the daemon made itself, in 64 hex digits. Without it the service makes one, and an answer that is lost costs the code. */
  readonly credentialHash?: string | undefined;
}

/** An enrolled daemon. */
export interface EnrolledDevice {
  /** The id of the app. */
  readonly appId: string;
  /** The status of the app from now on. */
  readonly status: 'active';
  /** Seconds from one poll of this app’s daemon to the next; it has a spread of its own, so that a fleet does not poll in step. */
  readonly pollIntervalSeconds: number;
  /** The credential that the service made, a secret that no other answer shows; absent where the daemon sent a hash. */
  readonly credential?: string | undefined;
}

/** How much of a detection leaves the machine: the hash alone, redacted evidence too, or all of it. */
export type EvidenceLevel = 'hashes' | 'redacted' | 'full';

/** A detection that was not taken. */
export interface RefusedDetection {
  /** The place of the event in the request, from 0 on. */
  readonly index: number;
  /** Why it was refused, for programs. */
  readonly code: 'invalid_request';
  /** Why it was refused, for people. */
  readonly message: string;
}

/** Detections of one machine. */
export interface ReportDetectionsRequest {
  /** The detections, at most 100. */
  readonly events: readonly Detection[];
}

/** What was found. The service cuts what is above the account’s `evidenceLevel` before it stores anything. */
export interface ReportedEvidence {
  /** A hash of what was found, printable ASCII. */
  readonly hash: string;
  /** What was found, without what is private; cut after 2048 characters. */
  readonly redacted?: string | undefined;
  /** All that was found; cut after 4096 characters. */
  readonly full?: string | undefined;
}

/** How grave a detection is. */
export type Severity = 'low' | 'medium' | 'high' | 'critical';
