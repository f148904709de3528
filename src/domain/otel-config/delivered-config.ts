import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { FoundApp } from '../fleet/reader.ts';
import type { Envelope } from '../keys/envelope.ts';
import type { Versioned } from '../records/codec.ts';
import type { OtelRecord } from '../records/records.ts';
import { collectorHeaders } from './collector-header.ts';
import { NEVER_STORED, openHeader } from './otel-config.ts';

/** What a daemon is told on its poll. */
export interface DeviceConfig {
  /** The configuration's revision; 0 where the never-stored one is told. */
  readonly revision: number;
  /** Strong, with its quotes: it stands for the whole body. */
  readonly etag: string;
  /** When this revision was stored or purged; undefined where the never-stored one is told. */
  readonly changedAt: number | undefined;
  /** The JSON of the answer, built only when it is asked for: most polls end with 304. */
  readonly body: () => string;
}

export interface DeviceConfigs {
  of(found: FoundApp): MaybePromise<DeviceConfig>;
  /** The base interval with a spread of ±10 % that is fixed per app, so that a fleet does not poll in step. */
  pollIntervalSeconds(appId: string): number;
}

const SPREAD = 0.1;

export function createDeviceConfigs(envelope: Envelope, baseIntervalSeconds: number): DeviceConfigs {
  /** The delivered part of a configuration, as long as its record is the current one and the keys are the same. */
  let delivered = new WeakMap<Versioned<OtelRecord>, Delivered>();
  let { keyNumbers } = envelope;

  function deliver(accountId: string, otel: Versioned<OtelRecord> | undefined): Delivered {
    if (!otel) return NOTHING;
    if (keyNumbers !== envelope.keyNumbers) {
      keyNumbers = envelope.keyNumbers;
      delivered = new WeakMap();
    }
    let part = delivered.get(otel);
    if (!part) delivered.set(otel, (part = deliverable(envelope, accountId, otel.record)));
    return part;
  }

  function pollIntervalSeconds(appId: string): number {
    // The id is random, and so is its beginning.
    const place = (Number.parseInt(appId.slice(0, 5), 36) / 36 ** 5) * 2 - 1;
    return Math.max(1, Math.round(baseIntervalSeconds * (1 + SPREAD * place)));
  }

  /** One for all devices of the same interval, of which there are few: most polls only compare its ETag. */
  function tell(appId: string, { revision, name, changedAt, otel, told }: Delivered): DeviceConfig {
    const interval = pollIntervalSeconds(appId);
    let config = told.get(interval);
    if (!config) {
      config = {
        revision,
        etag: `"${name}-${interval}"`,
        changedAt,
        body: () => `{"revision":${revision},"pollIntervalSeconds":${interval},"otel":${otel()}}`,
      };
      told.set(interval, config);
    }
    return config;
  }

  return {
    pollIntervalSeconds,
    of({ account, app }) {
      // O11: cloud devices of accounts that are Enterprise now.
      const entitled = app.connection === 'cloud' && account.record.entitlement === 'enterprise';
      if (!entitled) return tell(app.id, NOTHING);
      return andThen(account.otel(), (otel) => tell(app.id, deliver(account.id, otel)));
    },
  };
}

/** The revision that an ETag of a poll stands for; undefined where it is none of ours. */
export function revisionOfEtag(etag: string): number | undefined {
  const digits = /^"(\d{1,15})-[^"]*"$/.exec(etag)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

interface Delivered {
  readonly revision: number;
  /** Names the content, whatever the interval. */
  readonly name: string;
  readonly changedAt: number | undefined;
  readonly otel: () => string;
  /** What is told of it, by the interval. */
  readonly told: Map<number, DeviceConfig>;
}

function otelJson(config: Omit<typeof NEVER_STORED, 'authHeaderSet'>, headers: Record<string, string>): string {
  const { enabled, endpoint, evidenceLevel } = config;
  return JSON.stringify({ enabled, endpoint, headers, evidenceLevel });
}

const NEVER_STORED_JSON = otelJson(NEVER_STORED, {});
const NOTHING: Delivered = {
  revision: 0,
  name: '0',
  changedAt: undefined,
  otel: () => NEVER_STORED_JSON,
  told: new Map(),
};

function deliverable(envelope: Envelope, accountId: string, record: OtelRecord): Delivered {
  const { revision, tag, at: changedAt, config } = record;
  if (!config)
    return { revision, name: `${revision}-${tag}`, changedAt, otel: () => NEVER_STORED_JSON, told: new Map() };
  const header = openHeader(envelope, accountId, record);
  // A header that no key opens is told as none: another content, so another name.
  const name = config.header && !header ? `${revision}-${tag}-unset` : `${revision}-${tag}`;
  return {
    revision,
    name,
    changedAt,
    // Built for each answer that needs it: 304 is the rule, and the text holds the plaintext.
    otel: () => otelJson(config, header ? collectorHeaders(header.reveal()) : {}),
    told: new Map(),
  };
}
