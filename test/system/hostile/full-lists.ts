import { join } from 'node:path';
import { seed } from '../../../bench/seed.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { openStore } from '../../../src/service/open-store.ts';
import { writeEntries } from '../../support/records/audit.ts';

/** An account whose lists fill a page. */
export interface FullAccount {
  readonly accountId: string;
  readonly apiKey: string;
  readonly credential: string;
}

/** A name that takes six bytes of JSON for each of its characters, as the longest lists have them. */
const LONG_NAME = '\u0001'.repeat(100);

/** Writes the account into the embedded store of a service that has not started yet. */
export async function seedFullLists(dataDir: string): Promise<FullAccount> {
  const choice = { kind: 'sqlite', path: join(dataDir, 'muster.db') } as const;
  const [[account] = []] = await seed(choice, [{ accounts: 1, appsEach: LIMITS.listPageMax, appName: LONG_NAME }]);
  if (!account) throw new Error('no account was seeded');
  const { accountId, token: apiKey, credential } = account;
  await using store = await openStore(choice);
  const ats = Array.from({ length: LIMITS.listPageMax }, () => Date.now());
  await writeEntries(store, ats, accountId, { actor: 'operator', action: 'app.changed', detail: { name: LONG_NAME } });
  return { accountId, apiKey, credential };
}
