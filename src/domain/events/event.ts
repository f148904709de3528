import * as z from 'zod';
import { EVENT_TYPES, typeOf } from './catalogue.ts';
import { EVENT_FIELDS, type EventField } from './fields.ts';
import { actorNameOf, targetOf } from '../audit/names.ts';
import { OPERATOR_AUDIT, type AuditRecord } from '../records/audit-records.ts';

/** An event as it is delivered: `{type, timestamp, data}` of Standard Webhooks. */
export interface MusterEvent {
  /** One of the catalogue, or one that a later version adds. */
  readonly type: string;
  /** RFC 3339, of the commit. */
  readonly timestamp: string;
  readonly data: {
    /** Unique over all accounts and for ever; a restored store has it, too. */
    readonly id: string;
    /** The account; absent for what concerns no single one. */
    readonly account?: Named;
    readonly actor: Named;
    /** The target, such as `app:ID`; absent where it was nothing of these. */
    readonly target?: Named;
    readonly requestId: string;
    /** The fields of the type. */
    readonly details: AuditRecord['detail'];
  };
}

/** Somebody or something, with the name of that time where it has one. */
interface Named {
  readonly id: string;
  readonly name?: string;
}

const named = (id: string, name: string | undefined): Named => ({ id, ...(name !== undefined && { name }) });

/**
 * Makes the event of an entry.
 * @param suffix the last part of the entry's key
 * @param accountName the name of the account
 */
export function eventOf(
  { accountId, suffix, accountName }: { accountId: string; suffix: string; accountName: string | undefined },
  record: AuditRecord,
): MusterEvent {
  const target = targetOf(accountId, record);
  return {
    type: typeOf(record.action),
    timestamp: new Date(record.at).toISOString(),
    data: {
      id: suffix,
      ...(accountId !== OPERATOR_AUDIT && { account: named(accountId, accountName) }),
      actor: named(record.actor, actorNameOf(record)),
      ...(target !== undefined && { target: named(target, record.targetName) }),
      requestId: record.requestId,
      details: record.detail,
    },
  };
}

/** The shapes of the fields, by their kinds. */
export const FIELD_SHAPES = {
  text: z.string(),
  whole: z.int(),
  flag: z.boolean(),
  instant: z.iso.datetime(),
  'text or whole': z.union([z.string(), z.int()]),
} as const;

const shapeOf = (field: EventField): z.ZodOptional => {
  const [kind, means] = EVENT_FIELDS[field];
  return FIELD_SHAPES[kind].describe(means).optional();
};

const isAction = (action: string): action is keyof typeof EVENT_TYPES => Object.hasOwn(EVENT_TYPES, action);

/** The shape of the details of an action; undefined for one that is not in the catalogue. */
export function detailsOf(action: string): z.ZodType | undefined {
  if (!isAction(action)) return undefined;
  return z.strictObject(Object.fromEntries(EVENT_TYPES[action].fields.map((field) => [field, shapeOf(field)])));
}
