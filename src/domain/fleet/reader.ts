import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { Numbers } from '../../packed/number-map.ts';
import type { Versioned } from '../records/codec.ts';
import type { AccountRecord, ApiKeyRecord, CountersRecord } from '../records/account-records.ts';
import type { AppRecord } from '../records/app-records.ts';
import type { OtelRecord } from '../records/otel-records.ts';
import type { ActiveKeyRecord } from '../records/replica-records.ts';
import type {
  AccessTokenRecord,
  MembersRecord,
  NewcomerRecord,
  OperatorsRecord,
  SessionRecord,
  UserRecord,
} from '../records/user-records.ts';
import { summaryOf, type AppSummary } from './app-summary.ts';
import type { DayRecord } from '../records/metering-records.ts';

export type { MaybePromise } from '../../concurrency/maybe-promise.ts';

/** An app. The fields that are read all the time stand beside its record, which may have to be parsed first. */
export interface AppEntry extends Versioned<AppRecord>, AppSummary {
  readonly id: string;
  readonly accountId: string;
}

export const appEntry = (id: string, accountId: string, read: Versioned<AppRecord>): AppEntry => ({
  id,
  accountId,
  ...read,
  ...summaryOf(read.record),
});

export interface ApiKeyEntry extends Versioned<ApiKeyRecord> {
  readonly id: string;
}

export interface UserEntry extends Versioned<UserRecord> {
  readonly id: string;
}

export interface SessionEntry extends Versioned<SessionRecord> {
  readonly id: string;
}

export interface AccessTokenEntry extends Versioned<AccessTokenRecord> {
  readonly id: string;
}

/**
 * One account as of a revision no older than the moment when the reader was asked for. Its record and those that it
 * answers are snapshots: none of them changes, and a later answer may be a newer one.
 */
export interface AccountReader extends Versioned<AccountRecord> {
  readonly id: string;
  app(appId: string): MaybePromise<AppEntry | undefined>;
  /** All apps of the account, in no particular order. */
  apps(): MaybePromise<readonly AppEntry[]>;
  apiKey(keyId: string): MaybePromise<ApiKeyEntry | undefined>;
  apiKeys(): MaybePromise<readonly ApiKeyEntry[]>;
  otel(): MaybePromise<Versioned<OtelRecord> | undefined>;
  counters(): MaybePromise<Versioned<CountersRecord>>;
  /** Last contacts by slot, as written to the store. */
  lastSeen(): MaybePromise<Versioned<Numbers>>;
  /** The members by invitation; without a record where the account never had one. */
  members(): MaybePromise<Versioned<MembersRecord>>;
  /** Changes whenever an app or a last contact does; undefined in a reader of the store, which does not count. */
  readonly appsVersion: number | undefined;
}

/** An app with its account, both from one reader. */
export interface FoundApp {
  readonly account: AccountReader;
  readonly app: AppEntry;
}

/** An API key with its account, both from one reader. */
export interface FoundKey {
  readonly account: AccountReader;
  readonly key: ApiKeyEntry;
}

/**
 * The fleet as of now; every request gets a reader from `Fleet.current`. The methods of a reader of the store reject
 * with StoreUnavailable and BadRecord; those of memory throw StoreUnavailable once memory was dropped.
 */
export interface FleetReader {
  /** True for memory, which returns no promises. */
  readonly atOnce: boolean;
  /** The instant by which rights that end by themselves are judged, in milliseconds since 1970. */
  now(): number;
  account(accountId: string): MaybePromise<AccountReader | undefined>;
  accountOfKey(keyId: string): MaybePromise<FoundKey | undefined>;
  /** The app whose credential has this hash and works now. */
  appOfCredential(hash: string): MaybePromise<FoundApp | undefined>;
  appById(appId: string): MaybePromise<FoundApp | undefined>;
  user(userId: string): MaybePromise<UserEntry | undefined>;
  users(): MaybePromise<Iterable<UserEntry>>;
  /** @param invitedBy an account: only the users who came by its invitations */
  userCount(invitedBy?: string): MaybePromise<number>;
  session(sessionId: string): MaybePromise<SessionEntry | undefined>;
  sessionsOf(userId: string): MaybePromise<Iterable<SessionEntry>>;
  accessToken(tokenId: string): MaybePromise<AccessTokenEntry | undefined>;
  accessTokensOf(userId: string): MaybePromise<Iterable<AccessTokenEntry>>;
  /** The accounts that have the user among their members by invitation. */
  accountsOfMember(userId: string): MaybePromise<Iterable<AccountReader>>;
  /** The API keys that the user made, with their accounts. */
  keysMadeBy(userId: string): MaybePromise<Iterable<FoundKey>>;
  /** The users whom somebody made operators. */
  operators(): MaybePromise<Versioned<OperatorsRecord>>;
  /** The user who was created last; undefined before the first one. */
  newcomer(): MaybePromise<Versioned<NewcomerRecord> | undefined>;
  /** The day that changes of a status are stamped with; undefined before the first one. */
  day(): MaybePromise<Versioned<DayRecord> | undefined>;
  /** The key-encryption key that seals new values; undefined in a store that is older than this record. */
  activeKey(): MaybePromise<Versioned<ActiveKeyRecord> | undefined>;
}

/** A13: by enrollment or poll, whichever is later; null before the first enrollment. */
export function lastSeenAt(app: AppRecord, seen: Numbers): number | null {
  if (app.enrolledAt === undefined) return null;
  return Math.max(app.enrolledAt, seen.get(app.slot) ?? 0);
}
