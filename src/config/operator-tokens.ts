import { ConfigError } from './files/config-error.ts';
import { operatorToken } from './environment.ts';

/** The roles of operator tokens: `operator` may do everything, and the operations name what each other one may. */
export const OPERATOR_ROLES = ['operator', 'support', 'billing', 'auditor', 'metrics'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** An operator token; the audit tells by its name and role who acted. */
export interface NamedToken {
  readonly name: string | undefined;
  readonly role: OperatorRole;
  readonly token: string;
}

const LINE = /^(?:([a-z0-9][a-z0-9-]{0,31}):(?:([^:]*):)?)?([^:]*)$/;
/** RFC 6750 knows no colon in a bearer token: so a line has one meaning, and a slip in a name makes no token of it. */
const LINE_RULE =
  'must be a token, name:token or name:role:token, with a name of 1 to 32 of a-z, 0-9 and -, and no other colon';
const ROLE_RULE = `has an unknown role: the roles are ${OPERATOR_ROLES.join(', ')}`;
/** A line without its role, or with name and role the wrong way round, would do more than was meant. */
const NAMED_LIKE_ROLE_RULE = 'names a token like another role: write name:role:token, with a name that is no role';
/** Every request of an operator is compared with each token. */
const TOKENS_MAX = 1000;
const TWO_NAMES = 'the same token stands there under two names or roles, or with a name and without one';

/**
 * The tokens of a text, one a line, each valid: `token`, `name:token` or `name:role:token`. A token without
 * a role has the role `operator`.
 * @param beside the tokens that are valid as well, and come first
 * @throws ConfigError that names the line and the rule, and not the variable
 */
export function operatorTokensIn(text: string, beside: readonly NamedToken[] = []): readonly NamedToken[] {
  const tokens = [...beside];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line === '') continue;
    const read = tokenOf(line);
    if (typeof read === 'string') throw new ConfigError(`line ${index + 1} ${read}`);
    if (tokens.length === TOKENS_MAX) throw new ConfigError(`there may be ${TOKENS_MAX} tokens: remove some`);
    tokens.push(read);
  }
  refuseTwoNames(tokens);
  return tokens;
}

/** @returns the rule that the line breaks, where it is no token: never a part of the line, which may be the secret */
function tokenOf(line: string): NamedToken | string {
  const [, name, given, token] = LINE.exec(line) ?? [];
  if (token === undefined) return LINE_RULE;
  const role = given === undefined ? 'operator' : OPERATOR_ROLES.find((one) => one === given);
  if (role === undefined) return ROLE_RULE;
  if (name !== role && OPERATOR_ROLES.some((one) => one === name)) return NAMED_LIKE_ROLE_RULE;
  return operatorToken.safeParse(token).error?.issues[0]?.message ?? { name, role, token };
}

/** The same of a text that must have a token. @throws ConfigError as `operatorTokensIn` */
export function parseOperatorTokens(text: string, beside: readonly NamedToken[] = []): readonly NamedToken[] {
  const tokens = operatorTokensIn(text, beside);
  if (tokens.length === beside.length) throw new ConfigError('no token in it');
  return tokens;
}

/**
 * The token of a text by which a client acts: the first one of the role `operator`, or the first one of all.
 * @throws ConfigError as `operatorTokensIn`
 */
export function firstOperatorToken(text: string): string {
  const tokens = parseOperatorTokens(text);
  return (tokens.find(({ role }) => role === 'operator') ?? tokens[0])?.token ?? '';
}

/** Refuses a token with two holders: the audit could not tell who acted, and as what. @throws ConfigError */
function refuseTwoNames(tokens: readonly NamedToken[]): void {
  const holders = new Map(tokens.map((one) => [one.token, holderOf(one)]));
  if (tokens.some((one) => holders.get(one.token) !== holderOf(one))) throw new ConfigError(TWO_NAMES);
}

const holderOf = ({ name, role }: NamedToken): string => JSON.stringify([name, role]);
