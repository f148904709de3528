import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import { pollIntervalAt } from '../../time/poll-interval.ts';
import type { FoundApp } from '../fleet/reader.ts';
import type { Envelope } from '../keys/envelope.ts';
import type { Versioned } from '../records/codec.ts';
import type { OtelRecord } from '../records/otel-records.ts';
import { collectorHeaders } from './collector-header.ts';
import { contentName, NEVER_STORED, openHeader } from './otel-config.ts';

/** The configuration that a daemon gets on its poll. */
export interface DeviceConfig {
  /** The configuration's revision; 0 for the never-stored one. */
  readonly revision: number;
  /** A strong ETag, with its quotes: it identifies the whole body. */
  readonly etag: string;
  /** When this revision was stored or purged, in milliseconds since 1970; undefined for the never-stored one. */
  readonly changedAt: number | undefined;
  /** The poll interval of the app's daemon. */
  readonly intervalSeconds: number;
  /** Opens the header: it is called where an answer has the content, as most polls end with 304. */
  readonly settings: () => DeliveredSettings;
}

/** The data that a daemon exports, and the target: the header in clear, so it is kept no longer than it is needed. */
export interface DeliveredSettings extends Omit<typeof NEVER_STORED, 'authHeaderSet'> {
  /** The headers by name; empty where none is stored. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The content of a configuration, without what differs from daemon to daemon. */
export interface DeliveredContent {
  /** The configuration's revision; 0 for the never-stored one. */
  readonly revision: number;
  /** Identifies the content, by the revision's random tag: it tells nothing of it. */
  readonly name: string;
  /** When this revision was stored or purged, in milliseconds since 1970; undefined for the never-stored one. */
  readonly changedAt: number | undefined;
  /** Opens the header: it is called where an answer has the content, as most answers have none. */
  readonly settings: () => DeliveredSettings;
}

/** The configurations as daemons get them. */
export interface DeviceConfigs {
  /**
   * Returns the configuration of an app's daemon (section 4.10, O11).
   * @throws StoreUnavailable where the header's key is not in this replica's key file yet
   */
  of(found: FoundApp): MaybePromise<DeviceConfig>;
  /**
   * The content of the same configuration.
   * @throws StoreUnavailable as `of`
   */
  contentOf(found: FoundApp): MaybePromise<DeliveredContent>;
  /** The base interval with a spread of ±10 % that is fixed per app, so that a fleet does not poll in step. */
  pollIntervalSeconds(appId: string): number;
}

/** Creates the configurations of daemons, with the poll interval in seconds from which each one's own is spread. */
export function createDeviceConfigs(envelope: Envelope, baseIntervalSeconds: number): DeviceConfigs {
  /** The delivered part of a configuration, by its record; it is dropped when the keys change. */
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
    const spread = (Number.parseInt(appId.slice(0, 5), 36) / 36 ** 5) * 2 - 1;
    return pollIntervalAt(baseIntervalSeconds, spread);
  }

  /** Devices with the same interval share one object, as there are few intervals: most polls only compare its ETag. */
  function configFor(appId: string, { revision, name, changedAt, settings, byInterval }: Delivered): DeviceConfig {
    const interval = pollIntervalSeconds(appId);
    let config = byInterval.get(interval);
    if (!config) {
      config = {
        revision,
        etag: `"${name}-${interval}"`,
        changedAt,
        intervalSeconds: interval,
        settings,
      };
      byInterval.set(interval, config);
    }
    return config;
  }

  function deliveredTo({ account, app }: FoundApp): MaybePromise<Delivered> {
    // O11: only cloud devices of accounts that are Enterprise now get the stored configuration.
    const entitled = app.connection === 'cloud' && account.record.entitlement === 'enterprise';
    return entitled ? andThen(account.otel(), (otel) => deliver(account.id, otel)) : NOTHING;
  }

  return {
    pollIntervalSeconds,
    of: (found) => andThen(deliveredTo(found), (delivered) => configFor(found.app.id, delivered)),
    contentOf: deliveredTo,
  };
}

/** Returns the revision in an ETag of a poll; undefined for an ETag that this service does not make. */
export function revisionOfEtag(etag: string): number | undefined {
  const digits = /^"(\d{1,15})-[^"]*"$/.exec(etag)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

interface Delivered extends DeliveredContent {
  /** The configurations made of it, by the poll interval in seconds. */
  readonly byInterval: Map<number, DeviceConfig>;
}

/** In the order in which a daemon is told them. */
function settingsOf(
  { enabled, endpoint, evidenceLevel }: Omit<typeof NEVER_STORED, 'authHeaderSet'>,
  headers: Readonly<Record<string, string>>,
): DeliveredSettings {
  return { enabled, endpoint, headers, evidenceLevel };
}

const NEVER_STORED_SETTINGS = settingsOf(NEVER_STORED, {});
const NOTHING: Delivered = {
  revision: 0,
  name: contentName(undefined, undefined),
  changedAt: undefined,
  settings: () => NEVER_STORED_SETTINGS,
  byInterval: new Map(),
};

function deliverable(envelope: Envelope, accountId: string, record: OtelRecord): Delivered {
  const { revision, at: changedAt, config } = record;
  const header = openHeader(envelope, accountId, record);
  return {
    revision,
    name: contentName(record, header),
    changedAt,
    // It is made for each answer that needs it: most answers are 304, and it holds the plaintext.
    settings: () =>
      config ? settingsOf(config, header ? collectorHeaders(header.reveal()) : {}) : NEVER_STORED_SETTINGS,
    byInterval: new Map(),
  };
}
