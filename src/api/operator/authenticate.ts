import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { OperatorRole } from '../../config/operator-tokens.ts';
import type { OperatorToken } from '../../domain/replicas/operator-tokens.ts';
import { NotAuthenticated } from '../http/errors.ts';
import { bearerOf } from '../http/request-headers.ts';
import type { RoleHolder } from '../serve/role-rights.ts';

/* Operator tokens and their roles: 401 for what is no token. */

/** The holder of an operator token. */
export interface Operator extends RoleHolder {
  /** The name of the holder in the audit. */
  readonly actor: string;
}

/**
 * Makes the function that finds the operator of a request among the tokens that are valid then. It compares digests,
 * which have one length whatever was sent, in constant time and with every token.
 * @throws NotAuthenticated `invalid_token`
 */
export function operatorAuthentication(tokens: () => readonly OperatorToken[]): (request: IncomingMessage) => Operator {
  let list = tokens();
  let valid = list.map(known);
  return (request) => {
    const present = tokens();
    if (present !== list) [list, valid] = [present, present.map(known)];
    const { token } = bearerOf(request);
    const given = digest(token ?? '');
    const matches = valid.map((one) => timingSafeEqual(one.digest, given));
    const found = token === undefined ? undefined : valid[matches.indexOf(true)];
    if (found !== undefined) return found.operator;
    const reason = token === undefined ? 'malformed' : 'wrong_secret';
    throw new NotAuthenticated('invalid_token', { credential: 'operator_token', reason });
  };
}

const digest = (token: string): Buffer => createHash('sha256').update(token).digest();

const known = ({ name, role, secret }: OperatorToken) => ({
  operator: { actor: actorOf(name, role), role, by: 'token' as const },
  digest: digest(secret.reveal()),
});

/** The actor is `operator`, `operator:<name>`, or `operator:<name>:<role>` of another role. A name has no colon. */
function actorOf(name: string | undefined, role: OperatorRole): string {
  if (name === undefined) return 'operator';
  return role === 'operator' ? `operator:${name}` : `operator:${name}:${role}`;
}
