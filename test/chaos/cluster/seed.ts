import { randomBytes } from 'node:crypto';
import { newApp } from '../../../src/domain/apps/app-state.ts';
import {
  generateAccountId,
  generateAppId,
  generateMarker,
  systemRandom,
} from '../../../src/domain/credentials/random-ids.ts';
import { generateApiKey, generateEnrollCode, tokenHash } from '../../../src/domain/credentials/tokens.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { settleFormat } from '../../../src/domain/replicas/format.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import type { Store, Write } from '../../../src/store/port.ts';
import type { Recorder } from '../judgement/history.ts';
import type { Owner } from './calls.ts';

const LEFT = 5;
const WRITES_PER_COMMIT = 120;

/**
 * An account with a few places left, written straight into an empty store: over HTTP it would take minutes, by its own
 * rate limit.
 */
export async function seedNearlyFull(store: Store, recorder: Recorder): Promise<Owner> {
  await settleFormat(store);
  const random = systemRandom();
  const account = generateAccountId(random);
  const { keyId, token } = generateApiKey(random);
  const marker = `marker${randomBytes(6).toString('hex')}`;
  const at = Date.now();
  const apps = LIMITS.appsPerAccountMax - LEFT;
  const writes: Write[] = [
    put(KEYS.account(account), { name: marker, entitlement: 'enterprise', disabled: false, createdAt: at }),
    put(KEYS.apiKey(account, keyId), { name: '', hash: tokenHash(token.reveal()), createdAt: at }),
    put(KEYS.keyLocator(keyId), { accountId: account }),
    put(KEYS.counters(account), { apps, nextSlot: apps, idempotencyNext: 0 }),
  ];
  for (let slot = 0; slot < apps; slot += 1) {
    const appId = generateAppId(random);
    const code = { hash: tokenHash(generateEnrollCode(random).reveal()), issuedAt: at };
    const entry = { at, actor: 'operator', action: 'app.created', appId, requestId: `seed-${slot}`, detail: {} };
    writes.push(
      put(KEYS.app(account, appId), newApp(`${marker} seed`, slot, at, code)),
      put(KEYS.audit(account, at, generateMarker(random)), entry),
    );
  }
  const format = await store.get(KEYS.format());
  for (let from = 0; from < writes.length; from += WRITES_PER_COMMIT) {
    const write = writes.slice(from, from + WRITES_PER_COMMIT);
    await store.commit({ expect: [expectRevision(KEYS.format(), format?.revision ?? 0)], write });
  }
  recorder.markerOf.set(account, marker);
  return { account, key: keyId, apiKey: token.reveal(), marker };
}
