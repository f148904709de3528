import { timingSafeEqual } from 'node:crypto';
import { expectAsFound, expectUnchanged, type Write } from '../../store/port.ts';
import type { Caller } from '../apps/own-app.ts';
import { generateMarker, generateTag } from '../credentials/random-ids.ts';
import type { Secret } from '../credentials/secret.ts';
import type { AccountReader, FleetReader } from '../fleet/reader.ts';
import { sealingKey, type SealingKey } from '../keys/active-key.ts';
import type { Envelope } from '../keys/envelope.ts';
import { authorisedBy, type Authorised } from '../mutation/authority.ts';
import { mutate } from '../mutation/mutation.ts';
import { StaleRead } from '../mutation/stale-read.ts';
import { isUnchanged, withParts, type MutationDeps, type Step, type Unchanged } from '../mutation/step.ts';
import { put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { OtelRecord } from '../records/otel-records.ts';
import type { Sealed } from '../records/shapes.ts';
import { Refusal } from '../refusal.ts';
import { restoring, type Restoration, type Wanted } from './restoration.ts';
import { keeping } from './revisions.ts';

/** Section 2.3: the body of a read. */
export interface OtelConfig {
  readonly enabled: boolean;
  readonly endpoint: string;
  readonly authHeaderSet: boolean;
  readonly evidenceLevel: 'hashes' | 'redacted' | 'full';
}

/** Section 4.8: the change of a PUT. `authHeader`: undefined keeps, `'remove'` deletes, a Secret sets. */
export interface OtelChange {
  readonly enabled: boolean;
  readonly endpoint: string;
  readonly authHeader: Secret | 'remove' | undefined;
  readonly evidenceLevel: OtelConfig['evidenceLevel'];
}

/** O1: the configuration of an account that never stored one. */
export const NEVER_STORED: OtelConfig = { enabled: false, endpoint: '', authHeaderSet: false, evidenceLevel: 'hashes' };

/** A configuration with the tag by which a client says which one it has seen (H22). */
export interface TaggedConfig {
  readonly config: OtelConfig;
  /**
   * Names the content, and never another one: not after a purge, nor after a restore. It tells nothing of the header.
   */
  readonly tag: string;
}

/** Tells by its tag whether a change is meant for the configuration that is there. */
export type IsMeant = (tag: string, isStored: boolean) => boolean;

/** The conditions of a change, beside its authority. */
export interface StoreConditions {
  readonly isMeant?: IsMeant | undefined;
  /** False where a stored header that the change does not name may be sent to no other address (A18). */
  readonly mayMoveHeader?: boolean;
}

/** The encryption context of an account's collector header (O9). */
export const headerContext = (accountId: string): string => `otel-header:${accountId}`;

/**
 * Opens the stored collector header; undefined where there is none, or no key opens it (O10: after a restore).
 * @throws StoreUnavailable where its key is not in this replica's key file yet
 */
export function openHeader(envelope: Envelope, accountId: string, record: OtelRecord | undefined): Secret | undefined {
  const sealed = record?.config?.header;
  return sealed && envelope.open(sealed, headerContext(accountId));
}

/** The owner's operations on the configuration of an account. */
export interface OtelConfigs {
  /**
   * Section 4.7. The caller checks the account's entitlement before.
   * @throws StoreUnavailable where the header's key is not in this replica's key file yet
   */
  read(account: AccountReader): Promise<TaggedConfig>;
  /**
   * Section 4.8: stores a configuration.
   * @throws Refusal `enterprise_required`, `proof_required`, or as `authorisedBy`; StaleRead where the change is not
   *   meant for what is there; StoreUnavailable; Busy
   */
  store(caller: Caller, change: OtelChange, conditions?: StoreConditions): Promise<TaggedConfig>;
  /**
   * Stores what a kept revision has, as a new revision. It changes nothing where all is so already.
   * @throws Refusal `not_found` where it is not kept, `invalid_auth_header` where the header must be named, or as
   *   `store`; StaleRead; StoreUnavailable; Busy
   */
  restore(caller: Caller, restoration: Restoration, conditions?: StoreConditions): Promise<TaggedConfig>;
  /** Tells whether `store` would change nothing. @throws StoreUnavailable where the header's key is not here yet */
  holds(account: AccountReader, change: OtelChange): Promise<boolean>;
  /**
   * Section 4.9: removes the configuration, also without the entitlement.
   * @throws Refusal as `authorisedBy`; StaleRead where it is not meant for what is there; StoreUnavailable; Busy
   */
  purge(caller: Caller, isMeant?: IsMeant): Promise<void>;
}

interface OtelDeps extends MutationDeps {
  readonly envelope: Envelope;
  /** As `staleAfterMs()`, for the rollouts that are kept with the revisions. */
  readonly staleAfterMs: number;
}

/** Creates the operations on configurations; see `OtelConfigs`. */
export function createOtelConfigs(deps: OtelDeps): OtelConfigs {
  return {
    async read(account) {
      const record = (await account.otel())?.record;
      const header = openHeader(deps.envelope, account.id, record);
      return { config: view(record, header !== undefined), tag: contentName(record, header) };
    },
    store: (caller, change, conditions) => store(deps, caller, async () => ({ change }), conditions),
    restore: (caller, restoration, conditions) =>
      store(deps, caller, (before) => restoring(deps.store, caller.accountId, before, restoration), conditions),
    async holds(account, change) {
      return compare(deps.envelope, account.id, (await account.otel())?.record, change).unchanged;
    },
    purge: (caller, isMeant) => purge(deps, caller, isMeant),
  };
}

/**
 * Names what a record says to a reader. Its tag is random, and another one after each change.
 * @param header the opened one: a configuration whose header no key opens is told without it, so it is other content
 */
export function contentName(record: OtelRecord | undefined, header: Secret | undefined): string {
  if (!record) return '0';
  const { revision, tag, config } = record;
  return config?.header && !header ? `${revision}-${tag}-unset` : `${revision}-${tag}`;
}

/** @throws StaleRead where the change is meant for another configuration than this one */
function check(isMeant: IsMeant | undefined, deps: OtelDeps, accountId: string, record: OtelRecord | undefined): void {
  if (!isMeant) return;
  const tag = contentName(record, openHeader(deps.envelope, accountId, record));
  if (!isMeant(tag, record?.config !== undefined)) throw new StaleRead('The configuration is another one by now.');
}

function view(record: OtelRecord | undefined, authHeaderSet: boolean): OtelConfig {
  if (!record?.config) return NEVER_STORED;
  const { enabled, endpoint, evidenceLevel } = record.config;
  return { enabled, endpoint, authHeaderSet, evidenceLevel };
}

interface Generated {
  readonly tag: string;
  readonly marker: string;
}

async function store(
  deps: OtelDeps,
  caller: Caller,
  wantedOver: (before: OtelRecord | undefined) => Promise<Wanted>,
  { isMeant, mayMoveHeader = true }: StoreConditions = {},
): Promise<TaggedConfig> {
  const { accountId } = caller;
  const generated: Generated = { tag: generateTag(deps.random), marker: generateMarker(deps.random) };
  const plan = async (reader: FleetReader): Promise<Step<TaggedConfig> | Unchanged<TaggedConfig>> => {
    const { account, ...authorised } = await authorisedBy(reader, accountId, caller.authority);
    if (account.record.entitlement !== 'enterprise') throw new Refusal('enterprise_required');
    const before = await account.otel();
    check(isMeant, deps, accountId, before?.record);
    const { change, restores } = await wantedOver(before?.record);
    if (!mayMoveHeader && movesHeader(before?.record, change)) throw new Refusal('proof_required');
    const key = typeof change.authHeader === 'object' ? await sealingKey(reader, deps.envelope) : undefined;
    const step = decideStore({ envelope: deps.envelope, key }, caller, before, change, generated, authorised);
    if (isUnchanged(step)) return step;
    const restored = restores === undefined ? {} : { restores };
    const next = { revision: revisionAfter(before), ...step.result.config, ...restored };
    const kept = await keeping(deps, { reader, account, origin: caller.origin, before: before?.record, next });
    return withParts({ ...step, detail: { ...step.detail, ...restored } }, kept);
  };
  return await mutate(deps, caller.origin, plan, caller.reader);
}

/** Whether the change sends a stored header to another address, without telling what it is. */
const movesHeader = (before: OtelRecord | undefined, { authHeader, endpoint }: OtelChange): boolean =>
  before?.config?.header !== undefined && authHeader === undefined && before.config.endpoint !== endpoint;

interface Compared {
  /** The stored header, and the one after the change. */
  readonly stored: Secret | undefined;
  readonly next: Secret | undefined;
  readonly sameHeader: boolean;
  readonly unchanged: boolean;
}

function compare(
  envelope: Envelope,
  accountId: string,
  before: OtelRecord | undefined,
  { authHeader, enabled, endpoint, evidenceLevel }: OtelChange,
): Compared {
  const stored = openHeader(envelope, accountId, before);
  const next = authHeader === undefined ? stored : authHeader === 'remove' ? undefined : authHeader;
  const sameHeader = isSameSecret(stored, next);
  const old = before?.config;
  const isUnreadable = old?.header !== undefined && stored === undefined;
  const same = old?.enabled === enabled && old.endpoint === endpoint && old.evidenceLevel === evidenceLevel;
  return { stored, next, sameHeader, unchanged: same && sameHeader && !isUnreadable };
}

function decideStore(
  { envelope, key }: { envelope: Envelope; key: SealingKey | undefined },
  caller: Caller,
  before: Versioned<OtelRecord> | undefined,
  change: OtelChange,
  generated: Generated,
  authorised: Omit<Authorised, 'account'>,
): Step<TaggedConfig> | Unchanged<TaggedConfig> {
  const { accountId, origin } = caller;
  const { stored, next, sameHeader, unchanged } = compare(envelope, accountId, before?.record, change);
  // A header that no key opens reads as not set, and is removed by every change.
  const kept = sameHeader && stored ? before?.record.config?.header : undefined;
  const { enabled, endpoint, evidenceLevel } = change;
  const old = before?.record.config;
  const config: OtelConfig = { enabled, endpoint, authHeaderSet: next !== undefined, evidenceLevel };
  if (unchanged) return { unchanged: { config, tag: contentName(before?.record, stored) } };

  // It is sealed for this attempt alone: at the next one another key may be active.
  const sealed = key && next && !kept ? envelope.seal(next, headerContext(accountId), key.number) : undefined;
  const header = kept ?? sealed;
  const revision = revisionAfter(before);
  const record: OtelRecord = {
    ...before?.record,
    revision,
    tag: generated.tag,
    at: origin.at,
    config: { keptFrom: revision, ...old, enabled, endpoint, evidenceLevel, ...(header && { header }) },
  };
  if (!header) delete record.config?.header;
  const replaced =
    old?.header !== undefined && !(sameHeader && stored) ? [purgeNote(generated.marker, origin.at, old.header)] : [];
  return {
    accountId,
    action: 'otel.stored',
    detail: {
      revision: record.revision,
      enabled,
      evidenceLevel,
      endpointChanged: old?.endpoint !== endpoint,
      authHeader: sameHeader ? 'kept' : next ? 'set' : 'removed',
    },
    expect: [...authorised.expect, expectAsFound(KEYS.otel(accountId), before), ...(key && sealed ? [key.expect] : [])],
    write: [put(KEYS.otel(accountId), record), ...replaced, ...authorised.write],
    withdraws: isWithdrawal(old, record.config, sealed !== undefined),
    result: { config, tag: contentName(record, next) },
  };
}

const revisionAfter = (before: Versioned<OtelRecord> | undefined): number => (before?.record.revision ?? 0) + 1;

/**
 * Whether the change switches the export off, or removes the header, and neither adds one nor switches on. Either can
 * follow only upon its contrary, so that a full store takes each once.
 */
function isWithdrawal(old: OtelRecord['config'], next: OtelRecord['config'], newHeader: boolean): boolean {
  if (newHeader || (next?.enabled === true && old?.enabled !== true)) return false;
  const switchedOff = old?.enabled === true && next?.enabled === false;
  return switchedOff || (old?.header !== undefined && next?.header === undefined);
}

async function purge(deps: OtelDeps, caller: Caller, isMeant?: IsMeant): Promise<void> {
  const { accountId, origin } = caller;
  const [tag, marker] = [generateTag(deps.random), generateMarker(deps.random)];
  const plan = async (reader: FleetReader): Promise<Step<void> | Unchanged<void>> => {
    const { account, expect, write } = await authorisedBy(reader, accountId, caller.authority);
    const before = await account.otel();
    check(isMeant, deps, accountId, before?.record);
    if (!before?.record.config) return { unchanged: undefined };
    const { config, ...rest } = before.record;
    const record: OtelRecord = { ...rest, revision: rest.revision + 1, tag, at: origin.at };
    return {
      accountId,
      action: 'otel.purged',
      detail: { revision: record.revision, authHeader: config.header ? 'removed' : 'none' },
      expect: [...expect, expectUnchanged(before)],
      write: [
        put(KEYS.otel(accountId), record),
        { removeAll: KEYS.otelRevision.under(accountId) },
        purgeNote(marker, origin.at, config.header),
        ...write,
      ],
      result: undefined,
    };
  };
  await mutate(deps, origin, plan, caller.reader);
}

/** O10: a note for the purge loop that the history holds a secret which must leave it. */
function purgeNote(marker: string, at: number, header: Sealed | undefined): Write {
  return put(KEYS.purge(marker), { at, ...(header && { keyNumber: header.keyNumber }) });
}

function isSameSecret(a: Secret | undefined, b: Secret | undefined): boolean {
  if (!a || !b) return a === b;
  const [left, right] = [Buffer.from(a.reveal()), Buffer.from(b.reveal())];
  return left.length === right.length && timingSafeEqual(left, right);
}
