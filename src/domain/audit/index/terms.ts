import { hash } from 'node:crypto';
import { type AuditRecord, userOfActor } from '../../records/audit-records.ts';
import { targetOf } from '../names.ts';

/* The terms by which entries are asked for: the index has hashes of these texts. */

/** The entries of an audit that are asked for, whatever their instants. */
export interface AuditFilter {
  /** A user: what they did by their access tokens, too. */
  readonly actor?: string | undefined;
  /** As `targetOf` names it. */
  readonly target?: string | undefined;
  /** One action, or those that begin so where it ends in a dot. */
  readonly action?: string | undefined;
  readonly appId?: string | undefined;
}

/** The terms that an entry has: whatever a filter asks for is among those of each entry that it lets through. */
export function termsOf(accountId: string, entry: AuditRecord): readonly string[] {
  const { actor, action } = entry;
  const terms = [`actor:${actor}`, `action:${action}`];
  for (let dot = action.indexOf('.'); dot >= 0; dot = action.indexOf('.', dot + 1)) {
    terms.push(`action:${action.slice(0, dot + 1)}`);
  }
  const userId = userOfActor(actor);
  if (userId !== undefined) terms.push(`actor:user:${userId}`);
  const target = targetOf(accountId, entry);
  if (target !== undefined) terms.push(`target:${target}`);
  return terms;
}

/** The terms that a filter asks for, all of them. An app that is asked for is the target of its entries. */
export function termsAskedFor({ actor, target, action, appId }: AuditFilter): readonly string[] {
  return [
    ...(actor === undefined ? [] : [`actor:${actor}`]),
    ...(target === undefined ? [] : [`target:${target}`]),
    ...(action === undefined ? [] : [`action:${action}`]),
    ...(appId === undefined ? [] : [`target:app:${appId}`]),
  ];
}

/** Tells whether a filter lets an entry through. */
export function isAskedFor(accountId: string, entry: AuditRecord, filter: AuditFilter): boolean {
  const { target } = filter;
  return (target === undefined || targetOf(accountId, entry) === target) && hasAskedFor(entry, filter);
}

/** Tells the same but for the target. The command line goes by it where an earlier service gives every entry. */
export function hasAskedFor(
  entry: Pick<AuditRecord, 'actor' | 'action' | 'appId'>,
  { actor, action, appId }: Omit<AuditFilter, 'target'>,
): boolean {
  if (actor !== undefined && !isBy(entry.actor, actor)) return false;
  if (appId !== undefined && entry.appId !== appId) return false;
  if (action === undefined) return true;
  return action.endsWith('.') ? entry.action.startsWith(action) : entry.action === action;
}

/** Tells whether an actor is the one who is asked for, or an access token of that user. */
function isBy(actor: string, asked: string): boolean {
  const userId = userOfActor(actor);
  return actor === asked || (userId !== undefined && asked === `user:${userId}`);
}

/** 32 bits of a term's SHA-256. Two terms of one hash cost a read in vain. */
export const hashOf = (term: string): number => Number.parseInt(hash('sha256', term, 'hex').slice(0, 8), 16);
