import { randomBytes } from 'node:crypto';
import { enrolled, newApp } from '../src/domain/apps/app-state.ts';
import { generateAccountId, generateAppId, systemRandom } from '../src/domain/credentials/random-ids.ts';
import { put } from '../src/domain/records/codec.ts';
import { KEYS } from '../src/domain/records/keys.ts';
import { settleFormat } from '../src/domain/replicas/format.ts';
import { expectRevision } from '../src/store/entry.ts';
import type { Store, Write } from '../src/store/port.ts';
import { rawPut } from '../test/support/store/raw-key.ts';

const random = systemRandom();
const APPS_PER_ACCOUNT = 1000;
const WRITES_PER_COMMIT = 120;
const COMMITS_AT_ONCE = 64;
/** One account in so many has stored an OTel configuration. */
const CONFIGURED_EVERY = 10;

/** A random SHA-256 in the form of the records. */
const anyHash = (): string => randomBytes(32).toString('base64url');

/**
 * Writes a fleet straight into the store: accounts of 1000 apps, each enrolled with one credential, in key order, so
 * that a million take a minute or two.
 *
 * @param credentialHash the hash of the credential of each app by its number, from 0; where it is left out the
 *   credentials themselves are unknown
 */
export async function seedFleet(
  store: Store,
  apps: number,
  told: (apps: number) => void,
  credentialHash: (app: number) => string = anyHash,
): Promise<void> {
  await settleFormat(store);
  const format = await store.get(KEYS.format());
  if (!format) throw new Error('the store has no format');
  const expect = [expectRevision(KEYS.format(), format.revision)] as const;
  const ids = Array.from({ length: Math.ceil(apps / APPS_PER_ACCOUNT) }, () => generateAccountId(random)).sort();
  let under: Promise<unknown>[] = [];
  for (const [index, accountId] of ids.entries()) {
    const first = index * APPS_PER_ACCOUNT;
    const hashOf = (slot: number): string => credentialHash(first + slot);
    const writes = account(accountId, Math.min(APPS_PER_ACCOUNT, apps - first), index, hashOf);
    for (let i = 0; i < writes.length; i += WRITES_PER_COMMIT) {
      under.push(store.commit({ expect, write: writes.slice(i, i + WRITES_PER_COMMIT) }));
      if (under.length === COMMITS_AT_ONCE) {
        await Promise.all(under);
        under = [];
      }
    }
    if ((index + 1) % 100 === 0) told((index + 1) * APPS_PER_ACCOUNT);
  }
  await Promise.all(under);
}

function account(accountId: string, apps: number, index: number, hashOf: (slot: number) => string): Write[] {
  const at = Date.now();
  const configured = index % CONFIGURED_EVERY === 0;
  const writes: Write[] = [
    put(KEYS.account(accountId), {
      name: `account ${index}`,
      entitlement: configured ? 'enterprise' : 'standard',
      disabled: false,
      createdAt: at,
    }),
    put(KEYS.counters(accountId), { apps, nextSlot: apps, idempotencyNext: 0 }),
  ];
  if (configured) writes.push(rawPut(KEYS.otel(accountId), configuration(at)));
  const appIds = Array.from({ length: apps }, () => generateAppId(random)).sort();
  for (const [slot, appId] of appIds.entries()) {
    const [code, credential] = [anyHash(), hashOf(slot)];
    const pending = newApp(`daemon ${slot}`, slot, at, { hash: code, issuedAt: at });
    const told = { platform: 'linux/amd64', agentVersion: '1.4.2', connection: 'cloud' } as const;
    writes.push(
      put(KEYS.app(accountId, appId), enrolled(pending, { code, credential, ...told, at })),
      put(KEYS.credential(credential), { accountId, appId }),
    );
  }
  return writes;
}

const configuration = (at: number): object => ({
  revision: 1,
  tag: randomBytes(8).toString('hex'),
  at,
  config: { enabled: true, endpoint: 'https://otel.example.com', evidenceLevel: 'hashes' },
});
