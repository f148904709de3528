import type { AuditEntry } from '../../api/panel.ts';

/** Entries one after the other that say the same of different targets. */
export interface Run {
  readonly newest: AuditEntry;
  /** How many there are beside the newest. */
  readonly more: number;
}

/** Gathers entries, newest first, of one action by one actor, or by daemons, with nothing else in between. */
export function runsOf(entries: readonly AuditEntry[]): readonly Run[] {
  const runs: Run[] = [];
  for (const entry of entries) {
    const last = runs.at(-1);
    if (last && isAlike(last.newest, entry)) runs[runs.length - 1] = { ...last, more: last.more + 1 };
    else runs.push({ newest: entry, more: 0 });
  }
  return runs;
}

/** Daemons count as one: each of a thousand that enroll is another actor. */
const byOne = ({ actor }: AuditEntry): string => (isDaemon(actor) ? 'device' : actor);
const isAlike = (one: AuditEntry, other: AuditEntry): boolean =>
  one.action === other.action && byOne(one) === byOne(other);
const isDaemon = (actor: string): boolean => actor.startsWith('device:');

/** The filters with which the page of the audit shows these entries. */
export const filtersFor = ({ newest: { actor, action } }: Run): Readonly<Record<string, string>> => ({
  group: 'other',
  action,
  ...(!isDaemon(actor) && { actor }),
});
