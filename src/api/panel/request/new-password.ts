import { Secret } from '../../../domain/credentials/secret.ts';
import type { About } from '../../../domain/passwords/password-rules.ts';
import type { Guest } from '../../../domain/passwords/places.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { placeFor } from './admit-password.ts';
import type { PanelServices } from './route.ts';

/**
 * Judges a password that somebody chooses.
 * @param guest whose place it is computed in
 * @returns the text to store
 * @throws Refusal with a sentence where it is refused; HttpRefusal when too many wait already
 */
export async function hashedPassword(
  services: Pick<PanelServices, 'passwords' | 'signInMetrics'>,
  guest: Guest,
  password: string,
  about: About,
): Promise<string> {
  const chosen = new Secret(password);
  using place = placeFor(services, guest);
  const { fault } = await place.judge(chosen, about);
  if (fault !== undefined) throw new Refusal('invalid_request', fault);
  return await place.hash(chosen);
}
