import type { Entry } from '../../../src/store/port.ts';
import type { Answer } from '../service/muster.ts';
import { TOLD_BY_LEADER } from '../records/told-by-itself.ts';

/*
 * Answers and records as text that two scenes share: ids and hashes that the test knows have names, those that the
 * service has drawn are `<new>`, and instants are left out.
 */

/** What an answer means, without what is drawn. */
export function spelledAnswer(answer: Answer | undefined): string {
  if (!answer) return 'none';
  const { status, body } = answer;
  const { error } = body as { error?: { code?: string } };
  return error?.code === undefined ? `${status}` : `${status} ${error.code}`;
}

/** Names by the ids and hashes that they stand for. */
export type Names = ReadonlyMap<string, string>;

const INSTANT = /^(?:1[6-9]\d{11}|\d{4}-\d\d-\d\dT[\d:.]+Z)$/;
/** Hashes, tags and what is encrypted, in base64 or hexadecimal; ids, which may have no digit. */
const DRAWN = /^(?:(?=.*[0-9A-Z])[\w+/=-]{12,}|[a-z0-9]{12}|[a-z0-9]{16}|[a-z0-9]{20})$/;
/** The end of the id of a detection. */
const DIGEST = /-[0-9a-f]{32}$/;

function spelledText(names: Names, text: string): string {
  if (INSTANT.test(text)) return '<instant>';
  let known = text;
  for (const [id, name] of names) known = known.replaceAll(id, `<${name}>`);
  return DRAWN.test(known) ? '<new>' : known.replace(DIGEST, '-<digest>');
}

/** A value of JSON with names in place of what is known, and nothing that is drawn or told by the clock. */
function spelledJson(names: Names, value: unknown): unknown {
  if (typeof value === 'string') return spelledText(names, value);
  if (typeof value === 'number') return INSTANT.test(`${value}`) ? '<instant>' : value;
  if (Array.isArray(value)) return value.map((one) => spelledJson(names, one));
  if (typeof value !== 'object' || value === null) return value;
  // A record from memory and one from the store may have their fields in another order.
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // Each client of a round has an address of its own.
  const spelled = (field: string, one: unknown) => (field === 'client' ? '<address>' : spelledJson(names, one));
  return Object.fromEntries(fields.map(([field, one]) => [field, spelled(field, one)]));
}

/** A text of JSON. */
export const spelledObject = (names: Names, json: string): string =>
  JSON.stringify(spelledJson(names, JSON.parse(json)));

/** A record with its key. */
export function spelledRecord(names: Names, key: string, value: string): string {
  const segments = key.split('/').map((segment) => spelledText(names, segment));
  return `${segments.join('/')} = ${spelledObject(names, value)}`;
}

/**
 * Entries that tell of a refused secret: they are written after the answer, at most one in an hour, and one that meets
 * another commit is given up. Others tell what became so: the leader looks once a minute.
 */
const BEST_EFFORT: ReadonlySet<string> = new Set([
  'enrollment.refused',
  'key.refused',
  'sign-in.refused',
  ...TOLD_BY_LEADER,
]);

/** The entries of an audit in the order of their revisions; those of one revision are a group. */
export function auditGroups(names: Names, entries: readonly Entry[]): readonly (readonly string[])[] {
  const byRevision = new Map<number, string[]>();
  for (const { value, revision } of [...entries].sort((a, b) => a.revision - b.revision)) {
    const { action, appId, detail } = JSON.parse(value) as { action: string; appId?: string; detail: object };
    if (BEST_EFFORT.has(action)) continue;
    const { countsAt: _instant, ...told } = detail as Record<string, unknown>;
    const line = [action, spelledText(names, appId ?? ''), spelledObject(names, JSON.stringify(told))].join(' ');
    byRevision.set(revision, [...(byRevision.get(revision) ?? []), line]);
  }
  return [...byRevision.values()].map((group) => group.sort());
}
