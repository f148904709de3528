import { Secret } from '../../../domain/credentials/secret.ts';
import type { UserEntry } from '../../../domain/fleet/reader.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { HttpRefusal } from '../../http/exchange.ts';
import { browserMark } from './begin-session.ts';
import type { OpenRequest, PanelServices } from './route.ts';

/**
 * Compares the password of a signed-in user, as bounded as at a sign-in: a stolen session guesses no more than a stranger.
 * @param says the sentence of the refusal
 * @throws Refusal `sign_in_failed`; HttpRefusal `rate_limited`, `overloaded`; StoreUnavailable; BadRecord
 */
export async function comparePassword(
  request: Pick<OpenRequest<unknown>, 'cookie' | 'cookies'>,
  { signIns, passwords }: Pick<PanelServices, 'signIns' | 'passwords'>,
  { id, record }: UserEntry,
  password: string,
  says = 'password: this is not your password.',
): Promise<void> {
  const attempt = { login: record.login, userId: id };
  const seconds = await signIns.charge(attempt, browserMark(request));
  if (seconds !== undefined) throw new HttpRefusal('rate_limited', ['Retry-After', String(seconds)]);
  const isRight = await passwords.matches(new Secret(password), record.password?.hash);
  if (isRight === false) {
    signIns.failed(attempt);
    throw new Refusal('sign_in_failed', says);
  }
  signIns.release(attempt);
  if (isRight === undefined) throw new HttpRefusal('overloaded');
}
