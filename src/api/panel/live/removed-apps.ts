import type { RecordListener } from '../../../domain/fleet/change-notices.ts';
import type { FleetMemory } from '../../../domain/fleet/memory.ts';
import { RecentMap } from '../../../packed/recent-map.ts';

/** Removals that a replica remembers, of all accounts together: some 200 KB. */
const REMOVALS_MAX = 2000;

interface Removal {
  readonly accountId: string;
  /** A revision of the store, no older than the removal. */
  readonly revision: number;
}

/** The apps that were removed lately: a page that has them is told so, and need not read its whole list again. */
export interface RemovedApps {
  /** The revision since which every removal is remembered. */
  readonly since: number;
  /** The removals of an account after a revision, by the app's id. */
  of(accountId: string, after: number): Iterable<readonly [appId: string, revision: number]>;
}

interface RemovedAppsDeps {
  readonly memory: Pick<FleetMemory, 'account'> & { onRecordChange(listener: RecordListener): unknown };
  /** The store revision that memory has reached. */
  readonly revision: () => number;
}

/** Remembers removals from now on, as memory hears of them. */
export function createRemovedApps({ memory, revision }: RemovedAppsDeps): RemovedApps {
  const removals = new RecentMap<string, Removal>(REMOVALS_MAX);
  let since = revision();
  memory.onRecordChange((changes) => {
    const now = revision();
    for (const change of changes) {
      if (change.kind === 'all') {
        // Nothing is known of earlier changes.
        removals.clear();
        since = now;
      } else if (change.kind === 'app' && memory.account(change.accountId)?.app(change.id) === undefined) {
        const [oldest] = removals.size < REMOVALS_MAX ? [] : removals.values();
        if (oldest) since = oldest.revision;
        removals.set(change.id, { accountId: change.accountId, revision: now });
      }
    }
  });
  return {
    get since() {
      return since;
    },
    *of(accountId, after) {
      for (const [appId, removal] of removals) {
        if (removal.accountId === accountId && removal.revision > after) yield [appId, removal.revision];
      }
    },
  };
}
