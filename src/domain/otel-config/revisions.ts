import type { ChangeParts, Entry, Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { namesRead } from '../audit/names.ts';
import type { AccountReader, FleetReader } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import type { Origin } from '../mutation/step.ts';
import { BadRecord, parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { OtelRecord, OtelRevisionRecord } from '../records/otel-records.ts';
import { rolloutCounts, type RolloutCounts } from '../rollouts/rollout.ts';

/*
 * The last revisions of a configuration (ADR 0072). Each is written by the commit that stores it, and all of them go
 * with the commit of a purge (O10). A replica of an earlier version keeps none: its revision is a gap in the list. A
 * purge of such a replica leaves the records, which are of no configuration then: `keptFrom` is gone with it.
 */

/** A kept revision, with its rollout as it was when the next one replaced it; undefined where that is not known. */
export interface KeptRevision extends OtelRevisionRecord {
  readonly rollout: RolloutCounts | undefined;
}

/** Whether the revision belongs to the configuration, and not to one that was purged before it. */
const isKept = (otel: OtelRecord | undefined, revision: number): boolean =>
  revision >= (otel?.config?.keptFrom ?? Number.POSITIVE_INFINITY);

/**
 * Reads the kept revisions of an account, the newest first. A record that cannot be read is left out.
 * @param otel the configuration as it is now
 * @throws StoreUnavailable
 */
export async function keptRevisions(
  store: Pick<Store, 'list'>,
  accountId: string,
  otel: OtelRecord | undefined,
): Promise<readonly KeptRevision[]> {
  const { entries } = await store.list({ prefix: KEYS.otelRevision.under(accountId), limit: LIMITS.otelRevisionsMax });
  const kept = entries.flatMap((entry) => parsed(entry) ?? []).filter(({ revision }) => isKept(otel, revision));
  const rollouts = new Map(kept.flatMap(({ replaced }) => (replaced ? [[replaced.revision, replaced]] : [])));
  return kept
    .map((record) => ({ ...record, rollout: rollouts.get(record.revision) }))
    .sort((a, b) => b.revision - a.revision);
}

/** Reads one of them; undefined where it is not kept, or cannot be read. @throws StoreUnavailable */
export async function keptRevision(
  store: Pick<Store, 'get'>,
  accountId: string,
  otel: OtelRecord | undefined,
  revision: number,
): Promise<OtelRevisionRecord | undefined> {
  if (!isKept(otel, revision)) return undefined;
  const entry = await store.get(KEYS.otelRevision(accountId, revision));
  const record = entry && parsed(entry);
  return record?.revision === revision ? record : undefined;
}

function parsed(entry: Entry): OtelRevisionRecord | undefined {
  try {
    return parseRecord(KEYS.otelRevision, entry).record;
  } catch (error) {
    if (error instanceof BadRecord) return undefined;
    throw error;
  }
}

interface KeepDeps {
  readonly store: Pick<Store, 'list'>;
  readonly clock: Clock;
  readonly staleAfterMs: number;
}

/** A change of a configuration as its plan has decided it. */
interface Decided {
  readonly reader: FleetReader;
  readonly account: AccountReader;
  readonly origin: Origin;
  /** The configuration that is replaced. */
  readonly before: OtelRecord | undefined;
  readonly next: Pick<
    OtelRevisionRecord,
    'revision' | 'enabled' | 'endpoint' | 'evidenceLevel' | 'authHeaderSet' | 'restores'
  >;
}

/**
 * Makes the writes that keep a revision, for the commit that stores it.
 * @throws StoreUnavailable
 */
export async function keeping(deps: KeepDeps, decided: Decided): Promise<Pick<ChangeParts, 'write'>> {
  const { reader, account, origin, before, next } = decided;
  const name = await namesRead(reader)(account.id, origin.actor);
  const replaced = before?.config && {
    revision: before.revision,
    ...(await rolloutCounts(deps.store, account, { now: deps.clock.now(), staleAfterMs: deps.staleAfterMs })),
  };
  const { restores, ...content } = next;
  const record: OtelRevisionRecord = {
    ...content,
    at: origin.at,
    by: { actor: origin.actor, ...(name !== undefined && { name }) },
    ...(restores !== undefined && { restores }),
    ...(replaced && { replaced }),
  };
  const key = KEYS.otelRevision(account.id, next.revision);
  const others = isOrphanable(before) ? await othersThan(deps, account.id, key) : [];
  return { write: [put(key, record), ...others.map((other) => ({ remove: other }))] };
}

/** Whether a replica of an earlier version may have purged, and left revisions that are of no configuration. */
const isOrphanable = (before: OtelRecord | undefined): boolean =>
  before !== undefined && before.config?.keptFrom === undefined;

async function othersThan({ store }: KeepDeps, accountId: string, key: string) {
  const prefix = KEYS.otelRevision.under(accountId);
  const { entries } = await store.list({ prefix, limit: LIMITS.otelRevisionsMax, keysOnly: true });
  return entries.map((entry) => entry.key).filter((other) => other !== key);
}
