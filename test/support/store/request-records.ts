import { expect } from 'vitest';
import type { Store } from '../../../src/store/port.ts';

/** Records that requests of the operator API and of the panel write, and no loop of an idle service. */
const OF_REQUESTS =
  /^(?:d\/a\/[^/]+(?:\/key\/.*|\/app\/.*|\/otel|\/members)?$|d\/u\/|d\/o$|d\/s\/|d\/keys$|key\/|audit\/|link\/|idem\/|login\/|recovery\/)/;

/** The keys and revisions of what requests write, to compare them before and after requests that must write nothing. */
export async function requestRecords(store: Store): Promise<readonly string[]> {
  const found: string[] = [];
  for (let after = ''; ;) {
    const { entries, next } = await store.list({ prefix: '', limit: 1000, ...(after !== '' && { after }) });
    found.push(...entries.flatMap(({ key, revision }) => (OF_REQUESTS.test(key) ? [`${key} ${revision}`] : [])));
    if (next === undefined) break;
    after = next;
  }
  expect(found.length).toBeGreaterThan(0);
  return found;
}
