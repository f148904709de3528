import { actorNameOf, targetOf } from '../../../domain/audit/names.ts';
import type { AuditEntries } from '../../../domain/audit/reading/list.ts';
import type { FleetReader } from '../../../domain/fleet/reader.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { type AuditRecord, OPERATOR_AUDIT } from '../../../domain/records/audit-records.ts';
import * as operations from '../../contract/panel/history.ts';
import { MUCH_WORK } from '../request/much-work.ts';
import { handle, type PanelRequest, type PanelServices } from '../request/route.ts';
import { accountOf } from './account.ts';

/** GET /panel/v1/accounts/{accountId}/audit/names. */
export const listAuditNames = handle(
  operations.listAuditNames,
  MUCH_WORK,
)(async (request, services) => {
  const { accountId } = request;
  const account = await accountOf(request);
  const present = [
    ...(await services.members.list(accountId)).map(({ userId, name }) => ({ id: `user:${userId}`, name })),
    ...(await account.apiKeys()).map(({ id, record }) => ({ id: `key:${id}`, name: record.name || undefined })),
  ];
  return { status: 200, body: await namesBody(accountId, present, request, services) };
});

/** GET /panel/v1/audit/names. */
export const listServiceAuditNames = handle(
  operations.listServiceAuditNames,
  MUCH_WORK,
)(async (request, services) => {
  const memory = await services.fleet.whole();
  const operators = new Set(memory.operators().record.members);
  const present = [...memory.users()]
    .filter(({ id, record }) => operators.has(id) || record.mapped?.operator === true)
    .map(({ id, record }) => ({ id: `user:${id}`, name: record.name }));
  return { status: 200, body: await namesBody(OPERATOR_AUDIT, present, request, services) };
});

async function namesBody(
  accountId: string,
  present: readonly KnownName[],
  { reader, chargeChange }: PanelRequest<unknown>,
  { auditEntries }: PanelServices,
): Promise<operations.AuditNames> {
  const { actors, targets, complete } = await knownNames(auditEntries, { accountId, present, reader, chargeChange });
  return { actors: actors.map(nameBody), targets: targets.map(nameBody), complete };
}

const nameBody = ({ id, name }: KnownName) => ({ id, ...(name !== undefined && { name }) });

/** Somebody or something by whom, or by what, an audit can be filtered. */
interface KnownName {
  /** As the audit names actors and targets. */
  readonly id: string;
  /** The name of now, or the last one that the audit keeps; undefined where neither has one. */
  readonly name: string | undefined;
}

/** The actors and targets of an audit, each at most `LIMITS.auditNamesMax`, by their names. */
interface KnownNames {
  readonly actors: readonly KnownName[];
  readonly targets: readonly KnownName[];
  /** False where there were more, or the audit has older entries than those that were looked at. */
  readonly complete: boolean;
}

interface Looked {
  readonly accountId: string;
  /** The persons and keys of now, which come before all that the audit tells. */
  readonly present: readonly KnownName[];
  readonly reader: Pick<FleetReader, 'account'>;
  readonly chargeChange: () => void;
}

/**
 * Lists who and what an audit can be filtered by: the persons and keys of now, and those of the newest entries, which
 * may be gone. Apps that there are have a list of their own, and daemons are found by their apps.
 * @throws Refusal `not_found` where the account does not exist; StoreUnavailable; BadRecord
 */
async function knownNames(auditEntries: AuditEntries, looked: Looked): Promise<KnownNames> {
  const { accountId, present, reader, chargeChange } = looked;
  const items: AuditRecord[] = [];
  let after: string | undefined;
  do {
    const page = { limit: LIMITS.auditNamesLookedAtMax - items.length, after, order: 'desc' } as const;
    const found = await auditEntries.list(accountId, page, chargeChange);
    items.push(...found.items);
    after = found.next;
  } while (after !== undefined && items.length < LIMITS.auditNamesLookedAtMax);
  const account = await reader.account(accountId);
  const [actors, targets] = [new Known(present), new Known(present)];
  for (const entry of items) {
    const { actor, appId, targetName } = entry;
    if (!actor.startsWith('device:')) actors.add(actor, actorNameOf(entry));
    const target = targetOf(accountId, entry);
    if (target === undefined || target.startsWith('link:')) continue;
    if (appId === undefined || !(await account?.app(appId))) targets.add(target, targetName);
  }
  const complete = after === undefined && !actors.isCut && !targets.isCut;
  return { actors: actors.byName(), targets: targets.byName(), complete };
}

/** Names by their ids: the first name of an id counts, since entries come newest first. */
class Known {
  readonly #names: Map<string, string | undefined>;
  isCut: boolean;

  constructor(present: readonly KnownName[]) {
    this.#names = new Map(present.slice(0, LIMITS.auditNamesMax).map(({ id, name }) => [id, name]));
    this.isCut = present.length > LIMITS.auditNamesMax;
  }

  add(id: string, name: string | undefined): void {
    if (this.#names.get(id) !== undefined) return;
    if (this.#names.has(id) || this.#names.size < LIMITS.auditNamesMax) this.#names.set(id, name);
    else this.isCut = true;
  }

  byName(): readonly KnownName[] {
    const named = Array.from(this.#names, ([id, name]) => ({ id, name }));
    return named.toSorted((a, b) => order(a.name ?? '', b.name ?? '') || order(a.id, b.id));
  }
}

/** Entries without a name come last. */
const order = (a: string, b: string): number => {
  if (a === b) return 0;
  if (a === '' || b === '') return a === '' ? 1 : -1;
  return a < b ? -1 : 1;
};
