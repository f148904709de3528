import type { AccountReader, AppEntry } from '../../domain/fleet-reader.ts';
import { appJson } from './app-view.ts';
import { route } from './route.ts';

const KEPT_BYTES_MAX = 64 * 1024 * 1024;

/** Section 4.2: GET /v1/apps. */
export const listApps = route({
  method: 'get',
  path: '/v1/apps',

  async handle({ account }) {
    return { status: 200, body: await bodies.of(account) };
  },
});

/**
 * A list of 1000 apps takes longer to spell than all else of its request together, and mostly nothing has changed
 * since it was asked for last. Kept by the account's version, the least recently used going first.
 */
class Bodies {
  readonly #kept = new Map<AccountReader, { readonly version: number; readonly body: Buffer }>();
  #bytes = 0;

  async of(account: AccountReader): Promise<Buffer> {
    const version = account.appsVersion;
    const kept = this.#kept.get(account);
    const body = kept && kept.version === version ? kept.body : Buffer.from(await listJson(account));
    // What memory counts did not change while it was read: it answers at once.
    if (version !== undefined) this.#keep(account, version, body);
    return body;
  }

  #keep(account: AccountReader, version: number, body: Buffer): void {
    // Also where another request has spelled the same list meanwhile: its bytes must not stay in the sum.
    const before = this.#kept.get(account);
    if (before) this.#drop(account, before.body);
    this.#kept.set(account, { version, body });
    this.#bytes += body.length;
    for (const [oldest, { body: dropped }] of this.#kept) {
      if (this.#bytes <= KEPT_BYTES_MAX) return;
      this.#drop(oldest, dropped);
    }
  }

  #drop(account: AccountReader, body: Buffer): void {
    this.#kept.delete(account);
    this.#bytes -= body.length;
  }
}

const bodies = new Bodies();

async function listJson(account: AccountReader): Promise<string> {
  const [apps, seen] = [await account.apps(), await account.seen()];
  const items = apps.toSorted(byCreation).map((app) => appJson(app, seen));
  return `{"apps":[${items.join(',')}]}`;
}

/** H18. */
function byCreation(a: AppEntry, b: AppEntry): number {
  return a.record.createdAt - b.record.createdAt || (a.id < b.id ? -1 : 1);
}
