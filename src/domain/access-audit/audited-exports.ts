import type { Sections } from '../../metrics/instruments/sections.ts';
import { RecentMap } from '../../packed/recent-map.ts';
import { isFull } from '../../store/port.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import { namesStored } from '../audit/names.ts';
import { commitSteps } from '../mutation/commit.ts';
import type { InstantDeps } from '../mutation/commit-instant.ts';
import { requestFields, type MutationDeps, type Origin, type Step } from '../mutation/step.ts';
import type { Quotas } from '../quota/quotas.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { Busy } from '../refusal.ts';

/** The exports that the audit of the service tells of, each with its action there. */
const ACTIONS = { backup: 'backup.begun', usage: 'usage.exported', audit: 'audit.exported' } as const;
export type Export = keyof typeof ACTIONS;
const EXPORTS = Object.keys(ACTIONS) as readonly Export[];

export const exportMetrics = ({ keeping }: Sections) => ({
  exported: keeping.counterOf({
    name: 'muster_exports_total',
    help: 'Exports that began, by what was exported; each is an entry in the audit of the service.',
    labels: { export: EXPORTS },
    unit: 'exports',
  }),
});

export interface AuditedExportsDeps extends Pick<MutationDeps, 'store' | 'random' | 'log'>, InstantDeps {
  readonly quotas: Pick<Quotas, 'countOwnAct'>;
  readonly metrics: MutationDeps['metrics'] & ReturnType<typeof exportMetrics>;
}

/** The place of an answer in a list of several pages: the `after` of the request, and the `next` of the answer. */
export interface ExportedPage {
  readonly after: string | undefined;
  readonly next: string | undefined;
}

/**
 * Tells of an export before anything of it leaves the service. A page whose `after` this replica has given to the same
 * operator, or was asked for by it, goes on with the export that this was of, as when an audit is followed, for an hour
 * since that was told; any other `after` begins one, so that nobody reads on untold.
 */
export type AuditedExport = (
  what: Export,
  origin: Origin,
  detail: Step<void>['detail'],
  page?: ExportedPage,
) => Promise<void>;

/** Cursors that are remembered, and how long an export lasts; who goes on from another one begins an export. */
const CURSORS_MAX = 1000;
const EXPORT_MS = HOUR_MS;

/** Creates the tale of exports of this replica; see `AuditedExport`. */
export function createAuditedExport(deps: AuditedExportsDeps): AuditedExport {
  /** When the export was told that each cursor is of, in milliseconds; the cursor that was given last is the last. */
  const toldAt = new RecentMap<string, number>(CURSORS_MAX);
  return async (what, origin, detail, { after, next } = { after: undefined, next: undefined }) => {
    const now = deps.clock.now();
    const cursorOf = (cursor: string): string => JSON.stringify([what, origin.actor, detail, cursor]);
    let told = after === undefined ? undefined : toldAt.get(cursorOf(after));
    if (told === undefined || now >= told + EXPORT_MS) {
      await auditExport(deps, what, origin, detail);
      told = now;
      if (after !== undefined) toldAt.set(cursorOf(after), told);
    }
    // Not the present: who goes from page to page would be told of once, however long that takes.
    if (next !== undefined) toldAt.set(cursorOf(next), told);
  };
}

/**
 * Writes the entry that somebody takes data away, in the audit of the service, and a line of the log.
 * @throws Refusal `rate_limited` for a person who exports very often; Busy; StoreUnavailable, but not where the store
 * is full: a backup is the way out of that, a full store must not hide its audit, and the log has it
 */
export async function auditExport(
  deps: AuditedExportsDeps,
  what: Export,
  origin: Origin,
  detail: Step<void>['detail'],
): Promise<void> {
  const action = ACTIONS[what];
  const step: Step<void> = {
    accountId: OPERATOR_AUDIT,
    action,
    ...(detail && { detail }),
    expect: [],
    write: [],
    result: undefined,
  };
  const told = { actor: origin.actor, ...requestFields(origin), client: origin.client };
  deps.quotas.countOwnAct(origin, step);
  deps.log.info({ ...told, action, ...detail }, 'an export begins');
  deps.metrics.exported(what);
  try {
    const done = await commitSteps(deps, [{ origin, step }], namesStored(deps.store), { quiet: true });
    if (done === 'conflict') throw new Busy('conflicts', 'The entry of the export could not be written.');
  } catch (error) {
    if (!isFull(error)) throw error;
    deps.log.error({ err: error, ...told, action }, 'the store is full, and the audit lacks an export');
    return;
  }
  deps.metrics.mutationCommitted(action);
}
