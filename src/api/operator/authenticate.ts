import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { OPERATOR_ROLES, type OperatorRole } from '../../config/operator-tokens.ts';
import type { OperatorToken } from '../../domain/replicas/operator-tokens.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { BodyField, RoleRight, RoleRights } from '../contract/operation.ts';
import { NotAuthenticated } from '../http/errors.ts';
import { bearerOf } from '../http/request-headers.ts';

/* Operator tokens and their roles: 401 for what is no token, and 403 for what its role does not include. */

/** The holder of an operator token. */
export interface Operator {
  /** The name of the holder in the audit. */
  readonly actor: string;
  readonly role: OperatorRole;
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
  operator: { actor: actorOf(name, role), role },
  digest: digest(secret.reveal()),
});

/** The actor is `operator`, `operator:<name>`, or `operator:<name>:<role>` of another role. A name has no colon. */
function actorOf(name: string | undefined, role: OperatorRole): string {
  if (name === undefined) return 'operator';
  return role === 'operator' ? `operator:${name}` : `operator:${name}:${role}`;
}

/**
 * Refuses what the role does not include before the body is read and before any record is looked for, so that nothing
 * is told of what is there.
 * @returns the same for the body, of which a role may have some fields alone
 * @throws Refusal `forbidden`
 */
export function refuseBeyondRole(role: OperatorRole, rights: RoleRights = {}): (body: object) => void {
  if (role === 'operator') return () => undefined;
  const right = rights[role];
  if (right === undefined) {
    const others = OPERATOR_ROLES.filter((one) => one !== 'operator' && rights[one] === true);
    throw new Refusal('forbidden', `The role ${role} of your operator token does not allow this. ${useOf(others)}`);
  }
  return (body) => {
    if (isWithin(right, body)) return;
    throw new Refusal(
      'forbidden',
      `The role ${role} of your operator token allows nothing here but ${rightInWords(right)}. ${useOf([])}`,
    );
  };
}

const ALTERNATIVES = new Intl.ListFormat('en-GB', { type: 'disjunction' });
const useOf = (others: readonly string[]): string =>
  `Use a token with the role ${ALTERNATIVES.format([...others, 'operator'])}.`;

/** Tells whether a body has none but the fields of the right. */
function isWithin(right: RoleRight, body: object): boolean {
  if (right === true) return true;
  const given = Object.entries(body).filter(([, value]) => value !== undefined);
  return given.every(([name, value]: [string, unknown]) => right.some((field) => isOf(field, name, value)));
}

const isOf = (field: BodyField<string>, name: string, value: unknown): boolean =>
  typeof field === 'string' ? field === name : field.field === name && field.is === value;

/** A right as a person reads it, such as `disabled: true`. */
export const rightInWords = (right: RoleRight): string =>
  right === true
    ? 'all'
    : right.map((field) => (typeof field === 'string' ? field : `${field.field}: ${String(field.is)}`)).join(', ');
