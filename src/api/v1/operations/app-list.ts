import { andThen, type MaybePromise } from '../../../concurrency/maybe-promise.ts';
import type { AccountReader, AppEntry } from '../../../domain/fleet/reader.ts';
import { jsonOfList, type JsonBytes } from '../../contract/answers.ts';
import type { AppList } from '../../contract/v1/apps.ts';
import { appJson } from './app-view.ts';

const CACHED_BYTES_MAX = 64 * 1024 * 1024;
/** Rough cost of an entry beside its body. */
const ENTRY_BYTES = 300;

interface CachedBody {
  readonly version: number;
  readonly body: JsonBytes<AppList>;
}

/**
 * Rendering a list of 1000 apps takes longer than the rest of its request, and mostly nothing has changed since the
 * last one. Bodies are kept by the account's version; the least recently used one goes first.
 */
class BodyCache {
  readonly #cached = new Map<string, CachedBody>();
  #bytes = 0;

  of(account: AccountReader): MaybePromise<JsonBytes<AppList>> {
    const version = account.appsVersion;
    const cached = this.#cached.get(account.id);
    if (cached && cached.version === version) return this.#used(account.id, cached);
    return andThen(listOf(account), (body) => {
      // Only an account in memory has a version, and memory answers at once: the account did not change during the
      // read.
      if (version !== undefined) this.#put(account.id, version, body);
      return body;
    });
  }

  #used(accountId: string, cached: CachedBody): JsonBytes<AppList> {
    this.#cached.delete(accountId);
    this.#cached.set(accountId, cached);
    return cached.body;
  }

  /**
   * The key is the id, not the account's memory: that is dropped when the account is listed anew, and must not live on
   * here.
   */
  #put(accountId: string, version: number, body: JsonBytes<AppList>): void {
    this.#drop(accountId);
    this.#cached.set(accountId, { version, body });
    this.#bytes += body.length + ENTRY_BYTES;
    for (const oldest of this.#cached.keys()) {
      if (this.#bytes <= CACHED_BYTES_MAX) return;
      this.#drop(oldest);
    }
  }

  #drop(accountId: string): void {
    const cached = this.#cached.get(accountId);
    if (!cached) return;
    this.#cached.delete(accountId);
    this.#bytes -= cached.body.length + ENTRY_BYTES;
  }
}

const bodyCache = new BodyCache();

/** H18: the body of the list of an account's apps. */
export const listBody = (account: AccountReader): MaybePromise<JsonBytes<AppList>> => bodyCache.of(account);

const listOf = (account: AccountReader): MaybePromise<JsonBytes<AppList>> =>
  andThen(account.apps(), (apps) =>
    andThen(account.lastSeen(), ({ record: seen }) =>
      jsonOfList(
        'apps',
        apps.toSorted(byCreation).map((app) => appJson(app, seen)),
      ),
    ),
  );

/** H18: in the order of creation. */
function byCreation(a: AppEntry, b: AppEntry): number {
  return a.record.createdAt - b.record.createdAt || (a.id < b.id ? -1 : 1);
}
