import { join } from 'node:path';
import { seed } from '../../../bench/seed.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { openStore } from '../../../src/service/open-store.ts';
import { expectAbsent } from '../../../src/store/port.ts';

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
  for (let number = 0; number < LIMITS.listPageMax; number += 1) {
    const at = Date.now();
    const key = KEYS.audit(accountId, at, String(number).padStart(22, 'p'));
    const entry = { at, actor: 'operator', action: 'app.changed', requestId: 'r', detail: { name: LONG_NAME } };
    await store.commit({ expect: [expectAbsent(key)], write: [put(key, entry)] });
  }
  return { accountId, apiKey, credential };
}
