import { Secret } from '../../../domain/credentials/secret.ts';
import type { About } from '../../../domain/passwords/password-rules.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { HttpRefusal } from '../../http/exchange.ts';
import type { PanelServices } from './route.ts';

/**
 * Judges a password that somebody chooses.
 * @returns the text to store
 * @throws Refusal with a sentence where it is refused; HttpRefusal when too many wait already
 */
export async function hashedPassword(
  { passwords }: Pick<PanelServices, 'passwords'>,
  password: string,
  about: About,
): Promise<string> {
  const chosen = new Secret(password);
  const judgement = await passwords.judge(chosen, about);
  if (judgement?.fault !== undefined) throw new Refusal('invalid_request', judgement.fault);
  const hashed = judgement && (await passwords.hash(chosen));
  if (hashed === undefined) throw new HttpRefusal('overloaded');
  return hashed;
}
