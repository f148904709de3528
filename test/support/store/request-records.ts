import { expect } from 'vitest';
import type { Store } from '../../../src/store/port.ts';
import { TOLD_BY_LEADER } from '../records/told-by-itself.ts';

/** Records that requests of the operator API and of the panel write, and no loop of an idle service. */
const OF_REQUESTS =
  /^(?:d\/a\/[^/]+(?:\/key\/.*|\/app\/.*|\/otel|\/members)?$|d\/u\/|d\/o$|d\/s\/|d\/keys$|key\/|audit\/|link\/|idem\/|login\/|recovery\/)/;

/** The leader sums refused requests up in the audit, and tells what became so: when is no matter of the request. */
const OF_THE_LEADER: ReadonlySet<unknown> = new Set([
  'key.refused',
  'token.refused',
  'sign-in.refused',
  'role.refused',
  ...TOLD_BY_LEADER,
]);

/** The keys and revisions of what requests write, to compare them before and after requests that must write nothing. */
export async function requestRecords(store: Store): Promise<readonly string[]> {
  const found: string[] = [];
  for (let after = ''; ;) {
    const { entries, next } = await store.list({ prefix: '', limit: 1000, ...(after !== '' && { after }) });
    for (const { key, value, revision } of entries) {
      if (!OF_REQUESTS.test(key)) continue;
      const isOfLeader =
        key.startsWith('audit/') && OF_THE_LEADER.has((JSON.parse(value) as { action?: unknown }).action);
      if (!isOfLeader) found.push(`${key} ${revision}`);
    }
    if (next === undefined) break;
    after = next;
  }
  expect(found.length).toBeGreaterThan(0);
  return found;
}
