/* Written by `npm run client` from docs/openapi/v1.json: do not edit. */

import { Client } from '../client.ts';
import { segment } from '../connection.ts';
import { conditionOf, keyed } from '../operations.ts';
import type { CallOptions, ConditionalOptions, CreateOptions } from '../options.ts';

/** The operations of the API as methods: the ids of the path, then the body or the query, then the options. */
export abstract class OwnerOperations extends Client {
  /** Creates an app with its first enrollment code. Send an `Idempotency-Key` where an answer may be lost: for 24 hours the same key gets the same answer. */
  async createApp(body: CreateAppRequest = {}, options: CreateOptions = {}): Promise<CreatedApp> {
    return await this.answered('appId', keyed({ method: 'POST', path: '/v1/apps', body }, options), options);
  }

  /** Lists all apps of the account, oldest first. An account has at most 1000, so there are no pages. */
  async listApps(options?: CallOptions): Promise<AppList> {
    return await this.listed('apps', { method: 'GET', path: '/v1/apps', repeatable: true }, options);
  }

  /** Reads one app. An app of another account is 404 like one that does not exist. */
  async readApp(appId: string, options?: CallOptions): Promise<App> {
    return await this.answered(
      'appId',
      { method: 'GET', path: `/v1/apps/${segment(appId)}`, repeatable: true },
      options,
    );
  }

  /** Removes the app with all that belongs to it; the audit stays. Its daemon is refused from now on. */
  async deleteApp(appId: string, options?: CallOptions): Promise<void> {
    await this.done({ method: 'DELETE', path: `/v1/apps/${segment(appId)}`, repeatable: true }, options);
  }

  /** Issues a further code, in every status of the app. An app has at most 20 open codes: a further one voids the oldest. A daemon that enrolls with it brings a revoked app back. */
  async issueEnrollCode(appId: string, options: CreateOptions = {}): Promise<IssuedEnrollCode> {
    return await this.answered(
      'enrollCode',
      keyed({ method: 'POST', path: `/v1/apps/${segment(appId)}/enroll-code` }, options),
      options,
    );
  }

  /** Cuts the daemon off and voids the open codes of the app, in every status. A repetition changes nothing. */
  async revokeApp(appId: string, options?: CallOptions): Promise<RevokedApp> {
    return await this.answered(
      'appId',
      { method: 'POST', path: `/v1/apps/${segment(appId)}/revoke`, repeatable: true },
      options,
    );
  }

  /** Reads the OpenTelemetry export configuration. The header of the collector is not shown. Only with the Enterprise entitlement. */
  async readOtelConfig(options?: CallOptions): Promise<OtelConfig> {
    return await this.answered('enabled', { method: 'GET', path: '/v1/otel-config', repeatable: true }, options);
  }

  /** Sets the configuration of all cloud-managed daemons of the account; each picks it up on its next poll. The whole body is judged before anything is stored. With `If-Match` it is stored over no configuration but the one that you have read: nothing that somebody else has changed meanwhile is undone. Only with the Enterprise entitlement. */
  async storeOtelConfig(body: StoreOtelConfigRequest, options: ConditionalOptions = {}): Promise<OtelConfig> {
    return await this.answered(
      'enabled',
      { method: 'PUT', path: '/v1/otel-config', body, headers: conditionOf(options), repeatable: true },
      options,
    );
  }

  /** Removes the configuration and its secret; daemons then export nothing. It works without the Enterprise entitlement too, and where nothing is stored. */
  async purgeOtelConfig(options: ConditionalOptions = {}): Promise<PurgedOtelConfig> {
    return await this.answered(
      'deleted',
      { method: 'DELETE', path: '/v1/otel-config', headers: conditionOf(options), repeatable: true },
      options,
    );
  }
}

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
