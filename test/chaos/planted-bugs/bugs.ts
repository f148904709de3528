import type { Config } from '../../../src/config/config.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import {
  expectAsFound,
  HEAD_KEY,
  StoreUnavailable,
  type Change,
  type Head,
  type Store,
} from '../../../src/store/port.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';

/*
 * Eight bugs that such a service is likely to have, each planted in what the service is composed of: its store, or its
 * configuration. Nothing of this is in src.
 */

interface Bug {
  /** The rule that must be found broken. */
  readonly breaks: string;
  readonly store?: (store: Store) => Store;
  readonly config?: (config: Config) => Config;
}

const isAudit = (key: string): boolean => key.startsWith(KEYS.audit.under());

/** The actions of a change, by its audit entries. */
function does(change: Change, action: string): boolean {
  return change.write.some(
    (write) => 'put' in write && isAudit(write.put) && write.value.includes(`"action":"${action}"`),
  );
}

function without(change: Change, isDropped: (key: string) => boolean): Change {
  const [first, ...others] = change.expect.filter(({ key }) => !isDropped(key));
  return first ? { ...change, expect: [first, ...others] } : change;
}

const changing = (store: Store, changed: (change: Change) => Change): Store =>
  wrappedStore(store, { commit: (change) => store.commit(changed(change)) });

/** The store's revision is taken from the watch that fills memory, and not read. */
function cachedAuthentication(store: Store): Store {
  let seen: Head | undefined;
  return wrappedStore(store, {
    head: async () => (seen ??= await store.head()),
    watch: (prefix, from, listener) =>
      store.watch(prefix, from, {
        onOpen: () => listener.onOpen(),
        onEnd: (reason) => listener.onEnd(reason),
        onBatch(batch) {
          const heads = batch.changes.filter(({ key }) => key === HEAD_KEY);
          for (const { revision, value: epochId } of heads) if (epochId !== undefined) seen = { revision, epochId };
          listener.onBatch(batch);
        },
      }),
  });
}

const AUDIT_LATER_MS = 20;

/** The change is committed first, and its audit entry in a commit of its own. */
const auditLater = (store: Store): Store =>
  wrappedStore(store, {
    async commit(change) {
      const entries = change.write.filter((write) => 'put' in write && isAudit(write.put));
      const { expect } = without(change, isAudit);
      const result = await store.commit({
        ...change,
        expect,
        write: change.write.filter((write) => !entries.includes(write)),
      });
      const first = change.expect.find(({ key }) => isAudit(key));
      if (result.outcome === 'conflict' || !first) return result;
      setTimeout(() => {
        store.commit({ expect: [first], write: entries }).catch(() => undefined);
      }, AUDIT_LATER_MS);
      return result;
    },
  });

/** After a lost answer the same commit is sent again, and its conflict is taken for another writer's. */
const repeating = (store: Store): Store =>
  wrappedStore(store, {
    commit: (change) =>
      store.commit(change).catch((error: unknown) => {
        if (error instanceof StoreUnavailable) return store.commit(change);
        throw error;
      }),
  });

/** A change with this action expects the account as it is by now, and not as it was judged. */
const expectingAnew = (store: Store, action: string): Store =>
  wrappedStore(store, {
    async commit(change) {
      if (!does(change, action)) return await store.commit(change);
      const isAccount = (key: string): boolean => /^d\/a\/[^/]+$/.test(key);
      const [first, ...others] = await Promise.all(
        change.expect.map(async (one) => (isAccount(one.key) ? expectAsFound(one.key, await store.get(one.key)) : one)),
      );
      return await store.commit(first ? { ...change, expect: [first, ...others] } : change);
    },
  });

export const BUGS: ReadonlyMap<string, Bug> = new Map<string, Bug>([
  ['cached-authentication', { breaks: 'revocation', store: cachedAuthentication }],
  [
    'read-then-write-enroll',
    {
      breaks: 'single-use',
      store: (store) =>
        changing(store, (change) =>
          does(change, 'app.enrolled') ? without(change, (key) => /^d\/(?:day$|a\/[^/]+\/app\/)/.test(key)) : change,
        ),
    },
  ],
  [
    'count-then-create',
    {
      breaks: 'cap',
      store: (store) =>
        changing(store, (change) =>
          does(change, 'app.created') ? without(change, (key) => key.endsWith('/tally')) : change,
        ),
    },
  ],
  ['per-replica-limit', { breaks: 'rate-window', config: (config) => ({ ...config, rateWindow: 'local' }) }],
  ['expected-anew', { breaks: 'lost-update', store: (store) => expectingAnew(store, 'account.changed') }],
  ['enrolled-anew', { breaks: 'lost-update', store: (store) => expectingAnew(store, 'app.enrolled') }],
  ['audit-after-commit', { breaks: 'audit', store: auditLater }],
  ['repeated-commit', { breaks: 'audit', store: repeating }],
]);
