import { LIMITS } from '../limits.ts';
import type { SessionRecord, UserRecord } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import { installationRight } from '../users/roles.ts';
import type { SignedIn } from './sessions.ts';

/*
 * A stolen cookie must not become a sign-in for ever: what makes a further way in needs a proof of the person that is
 * fresh (A18; ASVS 5.0, V7.5.1). A proof begins another session in the place of the one that asked for it, so that a
 * copy of its cookie does not become fresh as well (V7.2.4).
 */

/**
 * Whether a proof that was given at an instant is still fresh, by the clock of a provider or a replica. One of the
 * future would be fresh for longer than ten minutes, or for ever. Times are milliseconds since 1970.
 */
export const isFresh = (at: number, now: number): boolean =>
  now - at <= LIMITS.freshProofMs && at - now <= LIMITS.proofAheadMs;

/** @throws Refusal `proof_required` */
export function refuseStaleProof({ proof }: SessionRecord, now: number): void {
  if (proof === undefined || !isFresh(proof.at, now)) throw new Refusal('proof_required');
}

/**
 * A provider that does not say when somebody signed in proves nothing by itself. Its user, who has neither a password
 * nor a passkey, makes a passkey right after a new sign-in.
 * @param passwords whether anybody signs in by one in this installation
 * @throws Refusal `proof_required`
 */
export function refuseStaleSignIn(session: SessionRecord, user: UserRecord, passwords: boolean, now: number): void {
  const { signedInAt } = session;
  const canProve = user.passkeys.length > 0 || (passwords && user.password !== undefined);
  if (canProve || signedInAt === undefined || !isFresh(signedInAt, now)) refuseStaleProof(session, now);
}

/** The users whose sessions need a second factor; `operators` is whoever has a role on the installation. */
export type SecondFactorPolicy = 'off' | 'operators' | 'all';

/**
 * Whether the session lacks the second factor that the installation asks of its user. The one of a passkey counts while
 * the user has a passkey.
 * @throws StoreUnavailable
 */
export async function lacksSecondFactor(
  { reader, session, user }: SignedIn,
  policy: SecondFactorPolicy,
): Promise<boolean> {
  if (policy === 'off') return false;
  const { secondFactor } = session.record;
  if (secondFactor === 'provider') return false;
  if (secondFactor === 'passkey' && user.record.passkeys.length > 0) return false;
  return policy === 'all' || (await installationRight(reader, user)) !== undefined;
}
