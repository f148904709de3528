import { Secret } from '../../../domain/credentials/secret.ts';
import type { UserEntry } from '../../../domain/fleet/reader.ts';
import { NotAuthenticated } from '../../http/errors.ts';
import { admitOwn } from './admit-password.ts';
import type { OpenRequest, PanelServices } from './route.ts';

/**
 * Compares the password of a signed-in user, as bounded as at a sign-in: a stolen session guesses no more than a
 * stranger.
 * @param says the sentence of the refusal
 * @throws NotAuthenticated `sign_in_failed`; HttpRefusal `rate_limited`, `overloaded`; StoreUnavailable; BadRecord;
 * Busy
 */
export async function comparePassword(
  request: OpenRequest<unknown>,
  services: PanelServices,
  user: UserEntry,
  password: string,
  says = 'password: this is not your password.',
): Promise<void> {
  using attempt = await admitOwn(request, services, user);
  const isRight = await attempt.matches(new Secret(password), user.record.password?.hash);
  if (!isRight) {
    const failed = { credential: 'password', reason: 'wrong_secret', userId: user.id } as const;
    throw new NotAuthenticated('sign_in_failed', failed, says);
  }
  attempt.takeBack();
}
