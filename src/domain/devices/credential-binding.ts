import { expectAbsent, expectUnchanged, type Expectation, type Store, type Write } from '../../store/port.ts';
import { bindingConfirmed, credentialTaken } from '../apps/app-state.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { AppEntry, FoundApp } from '../fleet/reader.ts';
import { UNAUDITED_CLASSES } from '../fullness/unaudited-classes.ts';
import { LIMITS } from '../limits.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { Busy } from '../refusal.ts';
import { authenticateDevice } from './authenticate.ts';

/*
 * Which app a credential's hash is bound to (docs/adr/0027-proof-of-possession.md). `cred/<hash>` decides: a binding is
 * `provisional` there while nobody has proved the credential. The app's record says so too, for memory holds no
 * `cred/`. Both are always written together.
 */

/** The right to bind a hash, with what the commit relies on and removes. */
export interface Claim {
  /** `cred/<hash>` is as it was found. */
  readonly expect: Expectation;
  /** Writes beside the binding itself. */
  readonly write: readonly Write[];
  /** The app that loses the hash. */
  readonly from: Loser | undefined;
}

/** Another app that the hash was bound to provisionally, with the change of it. */
export interface Loser {
  readonly accountId: string;
  readonly appId: string;
  readonly expect: Expectation;
  readonly write: readonly Write[];
}

/**
 * Whether the app may bind the hash: nobody has, or whoever has yields, since this enrollment proves the credential.
 * The commit expects the record as it was found here, so that two at once cannot both bind.
 * @returns undefined where the hash is or was bound to an existing app, and stays so
 * @throws StoreUnavailable; BadRecord
 */
export async function claimOf(
  store: Store,
  app: AppEntry,
  credential: string,
  proved: boolean,
): Promise<Claim | undefined> {
  const key = KEYS.credential(credential);
  const free: Claim = { expect: expectAbsent(key), write: [], from: undefined };
  const entry = await store.get(key);
  if (!entry) return free;
  const { record, revision } = parseRecord(KEYS.credential, entry);
  const expect = expectUnchanged(entry);
  const yields = proved && record.provisional === true;
  if (record.appId === app.id) {
    // It was bound to this app after the app was read: the same request was faster elsewhere. That is no reason to
    // refuse it: the commit conflicts, and the next attempt finds a replay.
    if (revision > app.revision) return free;
    // A credential that its app has lost, by a revocation or a swap, never comes back to it.
    return yields && app.record.credential === credential ? { expect, write: [], from: undefined } : undefined;
  }
  const { accountId, appId } = record;
  const owner = await store.get(KEYS.app(accountId, appId));
  // The id of an app is never used again: a record that leads to a deleted app binds nothing.
  if (!owner) return { expect, write: [{ remove: KEYS.pastCredential(appId, credential) }], from: undefined };
  if (!yields) return undefined;
  const { record: before } = parseRecord(KEYS.app, owner);
  const isCurrent = before.credential === credential;
  return {
    expect,
    write: [],
    from: {
      accountId,
      appId,
      expect: expectUnchanged(owner),
      // The app is written also where only a past credential goes: a deletion that has listed it must conflict.
      write: [
        put(KEYS.app(accountId, appId), isCurrent ? credentialTaken(before) : before),
        ...(isCurrent
          ? [{ remove: KEYS.ack(accountId, appId) }, { remove: KEYS.opampAgent(accountId, appId) }]
          : [{ remove: KEYS.pastCredential(appId, credential) }]),
      ],
    },
  };
}

/**
 * Makes a provisional binding final, for a request that the credential authenticates: only then may the request go on.
 * The commit expects both records, as does the one of an enrollment that proves the credential: one of them conflicts.
 * @param hash of the credential
 * @returns the app as it is then: another one where such an enrollment came first
 * @throws Refusal `invalid_credential` or `account_disabled`; StoreUnavailable; Busy where others changed the app under
 * every attempt
 */
export async function confirmed(
  { store, fleet }: { readonly store: Store; readonly fleet: Fleet },
  hash: string,
  found: FoundApp,
): Promise<FoundApp> {
  let { account, app } = found;
  for (let attempt = 1; attempt <= LIMITS.conflictAttemptsMax; attempt += 1) {
    if (!app.isProvisional) return { account, app };
    const entry = await store.get(KEYS.credential(hash));
    const bound = entry && parseRecord(KEYS.credential, entry);
    if (bound?.record.appId === app.id) {
      const { provisional: _, ...final } = bound.record;
      const [ofApp, locator] = [KEYS.app(account.id, app.id), KEYS.credential(hash)];
      await store.commit({
        expect: [expectUnchanged(app), expectUnchanged(bound)],
        write: [put(ofApp, bindingConfirmed(app.record)), put(locator, final)],
        writeClass: UNAUDITED_CLASSES.bindingConfirmed,
      });
    }
    ({ account, app } = await authenticateDevice(await fleet.current(), hash));
  }
  throw new Busy('conflicts', 'The record changed under every attempt.');
}
