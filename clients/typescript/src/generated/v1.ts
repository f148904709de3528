/* Written by `npm run client` from docs/openapi/v1.json: do not edit. */

/** An app: one daemon of the account. */
export interface App {
  /** The id of the app. */
  readonly appId: string;
  /** The name that the owner gave the app, at most 100 characters; it need not be unique. */
  readonly name: string;
  readonly status: AppStatus;
  /** The platform that the daemon reported; empty until it does. */
  readonly platform: string;
  /** The version that the daemon reported; empty until it does. */
  readonly agentVersion: string;
  /** The last contact of the daemon, at most a minute behind; null where there was none. UTC with milliseconds. */
  readonly lastSeenAt: string | null;
  /** When the app was created. UTC with milliseconds. */
  readonly createdAt: string;
}

/** The apps of an account. */
export interface AppList {
  /** The apps, oldest first. */
  readonly apps: readonly App[];
}

/** `pending` until the daemon enrolls, then `active`, and `revoked` once it is cut off. */
export type AppStatus = 'pending' | 'active' | 'revoked';

/** An app to create. */
export interface CreateAppRequest {
  /** A name for people, at most 100 characters; empty without it. */
  readonly name?: string | undefined;
}

/** A new app with its enrollment code. */
export interface CreatedApp {
  /** The id of the app. */
  readonly appId: string;
  /** The name that the owner gave the app, at most 100 characters; it need not be unique. */
  readonly name: string;
  /** A new app waits for its daemon. */
  readonly status: 'pending';
  /** A single-use enrollment code, a secret. No other answer shows it, but one to the same `Idempotency-Key`. */
  readonly enrollCode: string;
  /** When the code ends to be valid, 30 days after it was issued. UTC with milliseconds. */
  readonly enrollCodeExpiresAt: string;
}

/** An error. */
export interface Error {
  readonly error: ErrorDetail;
}

/** What is wrong. */
export interface ErrorDetail {
  /** Tells the error apart, for programs. */
  readonly code: string;
  /** Says what is wrong and what to do, for people. */
  readonly message: string;
}

/** How much of a detection leaves the machine: the hash alone, redacted evidence too, or all of it. */
export type EvidenceLevel = 'hashes' | 'redacted' | 'full';

/** An enrollment code. */
export interface IssuedEnrollCode {
  /** A single-use enrollment code, a secret. No other answer shows it, but one to the same `Idempotency-Key`. */
  readonly enrollCode: string;
  /** When the code ends to be valid, 30 days after it was issued. UTC with milliseconds. */
  readonly expiresAt: string;
}

/** The OpenTelemetry export configuration of the fleet, without its secret. */
export interface OtelConfig {
  /** Whether daemons export to the collector. */
  readonly enabled: boolean;
  /** The OTLP/HTTP address of the collector. `http:` is for loopback and private hosts only; no credentials, query or fragment. Empty where none is stored. */
  readonly endpoint: string;
  /** Whether a header is stored. Its value is never shown. */
  readonly authHeaderSet: boolean;
  readonly evidenceLevel: EvidenceLevel;
}

/** The configuration is purged. */
export interface PurgedOtelConfig {
  /** Always true. */
  readonly deleted: boolean;
}

/** A revoked app. */
export interface RevokedApp {
  /** The id of the app. */
  readonly appId: string;
  /** The status from now on. */
  readonly status: 'revoked';
}

/** The configuration to store. */
export interface StoreOtelConfigRequest {
  /** Whether daemons export to the collector. */
  readonly enabled: boolean;
  /** The OTLP/HTTP address of the collector. `http:` is for loopback and private hosts only; no credentials, query or fragment. Required when `enabled` is true. */
  readonly endpoint?: string | undefined;
  /** The value of the `Authorization` header for the collector, or `Name: value` for another header. A secret: it is stored encrypted and never shown. Without this field the stored value stays; an empty text deletes it. */
  readonly authHeader?: string | undefined;
  /** How much of a detection leaves the machine; `hashes` without it. */
  readonly evidenceLevel?: EvidenceLevel | undefined;
}
