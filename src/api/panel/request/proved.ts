import { lacksSecondFactor, refuseStaleProof, refuseStaleSignIn } from '../../../domain/sessions/proof.ts';
import type { SignedIn } from '../../../domain/sessions/sessions.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Operation } from '../../contract/operation.ts';
import { hasProvedField } from '../../contract/proved-fields.ts';
import type { PanelServices } from './route.ts';

/** An operation, as the session of its request is judged. */
export type Proved = Pick<Operation, 'freshProof' | 'beforeSecondFactor'>;

/** @throws Refusal `second_factor_required`; StoreUnavailable */
export async function refuseWithoutSecondFactor(
  { beforeSecondFactor }: Proved,
  signedIn: SignedIn,
  { panel }: Pick<PanelServices, 'panel'>,
): Promise<void> {
  if (beforeSecondFactor === true) return;
  if (await lacksSecondFactor(signedIn, panel.secondFactor)) throw new Refusal('second_factor_required');
}

/**
 * A18: what makes a further way in needs a fresh proof. It is asked for once all else that the request shows is right.
 * @throws Refusal `proof_required`
 */
export function refuseUnproved(
  { freshProof }: Proved,
  { session, user }: SignedIn,
  body: object,
  { clock, panel }: Pick<PanelServices, 'clock' | 'panel'>,
): void {
  if (freshProof === undefined || freshProof === 'by-state') return;
  const now = clock.now();
  if (freshProof === 'or-new-sign-in') refuseStaleSignIn(session.record, user.record, panel.passwords, now);
  else if (freshProof === true || hasProvedField({ freshProof }, body)) refuseStaleProof(session.record, now);
}
