import { Authenticator } from './authenticator.ts';
import type { Visitor } from './visitor.ts';

/** Adds a passkey to the signed-in user. @returns the authenticator that made it */
export async function withPasskey(visitor: Visitor, name = 'Laptop'): Promise<Authenticator> {
  const authenticator = new Authenticator();
  const begun = await visitor.post('/me/passkeys/options');
  const response = authenticator.create(begun.body['options'], visitor.origin);
  const answer = await visitor.post('/me/passkeys', { name, response });
  if (answer.status !== 201) throw new Error(`POST /me/passkeys: ${answer.status} ${answer.text}`);
  return authenticator;
}
