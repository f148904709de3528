import type { Store } from '../../store/port.ts';
import type { Secret } from '../credentials/secret.ts';
import type { OtelRecord, OtelRevisionRecord } from '../records/otel-records.ts';
import { Refusal } from '../refusal.ts';
import { needsHeader } from './collector-header.ts';
import { keptRevision } from './revisions.ts';

/**
 * The revision to restore. `authHeader`: undefined keeps the stored one where the revision has its origin, `'keep'` at
 * any origin, `'remove'` deletes it, a Secret sets it.
 */
export interface Restoration {
  readonly revision: number;
  readonly authHeader: Secret | 'remove' | 'keep' | undefined;
}

/** A change of the configuration, and the revision that it restores. */
export interface Wanted {
  readonly change: Pick<OtelRevisionRecord, 'enabled' | 'endpoint' | 'evidenceLevel'> & {
    readonly authHeader: Exclude<Restoration['authHeader'], 'keep'>;
  };
  readonly restores?: number;
}

const HEADER_NEEDED =
  'The header of this revision is not stored any more, or is stored for another origin: send authHeader, an empty text ' +
  'for none, or keepHeader where one is stored.';

/**
 * Makes the change that restores a revision.
 * @param before the configuration as it is now
 * @throws Refusal `not_found` where the revision is not kept, `invalid_auth_header` where the header must be named;
 *   StoreUnavailable
 */
export async function restoring(
  store: Pick<Store, 'get'>,
  accountId: string,
  before: OtelRecord | undefined,
  { revision, authHeader }: Restoration,
): Promise<Wanted> {
  const kept = await keptRevision(store, accountId, before, revision);
  if (!kept) throw new Refusal('not_found');
  const { enabled, endpoint, evidenceLevel } = kept;
  const now = { endpoint: before?.config?.endpoint ?? '', authHeaderSet: before?.config?.header !== undefined };
  const isNamed = authHeader === 'keep' ? now.authHeaderSet : authHeader !== undefined;
  if (!isNamed && needsHeader(now, kept)) throw new Refusal('invalid_auth_header', HEADER_NEEDED);
  const header = authHeader === 'keep' ? undefined : authHeader;
  return { change: { enabled, endpoint, evidenceLevel, authHeader: header }, restores: revision };
}
