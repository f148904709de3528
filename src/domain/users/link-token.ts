import { generateSecretWord, type RandomSource } from '../credentials/random-ids.ts';
import { Secret } from '../credentials/secret.ts';
import { tokenHash } from '../credentials/tokens.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { KEYS } from '../records/keys.ts';

/*
 * The token of a link: `mst_link_<scope>_<43 base62>`. The scope is the account of an invitation, or `operator`: it is no
 * secret, and finds the record; the store has the hash of the whole. The prefix lets a scanner of secrets find a token.
 */

const TOKEN = /^mst_link_([a-z0-9]{16}|operator)_[0-9A-Za-z]{43}$/;

/** Draws the token of a link. @param accountId of an invitation; undefined for a link to a user */
export const drawLinkToken = (random: RandomSource, accountId: string | undefined): Secret =>
  new Secret(`mst_link_${accountId ?? OPERATOR_AUDIT}_${generateSecretWord(random)}`);

/** The key of the record of a link; undefined for what is no token. */
export function linkKeyOf(token: string): string | undefined {
  const scope = TOKEN.exec(token)?.[1];
  return scope === undefined ? undefined : KEYS.link(scope, tokenHash(token));
}
