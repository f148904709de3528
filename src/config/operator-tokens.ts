import { ConfigError } from './files/config-error.ts';
import { operatorToken } from './environment.ts';

/** An operator token; the audit tells by its name who acted. */
export interface NamedToken {
  readonly name: string | undefined;
  readonly token: string;
}

const LINE = /^(?:([a-z0-9][a-z0-9-]{0,31}):)?([^:]*)$/;
/** RFC 6750 knows no colon in a bearer token: so a line has one meaning, and a slip in a name makes no token of it. */
const LINE_RULE = 'must be a token, or name:token with a name of 1 to 32 of a-z, 0-9 and -, and no other colon';
/** Every request of an operator is compared with each token. */
const TOKENS_MAX = 1000;
const TWO_NAMES = 'the same token stands there under two names, or with a name and without one';

/**
 * The tokens of a text, one a line, each valid: a token, or a name, a colon and a token.
 * @param beside the tokens that are valid as well, and come first
 * @throws ConfigError that names the line and the rule, and not the variable
 */
export function operatorTokensIn(text: string, beside: readonly NamedToken[] = []): readonly NamedToken[] {
  const tokens = [...beside];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line === '') continue;
    const [, of, token] = LINE.exec(line) ?? [];
    const rule = token === undefined ? LINE_RULE : operatorToken.safeParse(token).error?.issues[0]?.message;
    if (rule !== undefined) throw new ConfigError(`line ${index + 1} ${rule}`);
    if (tokens.length === TOKENS_MAX) throw new ConfigError(`there may be ${TOKENS_MAX} tokens: remove some`);
    tokens.push({ name: of, token: token ?? '' });
  }
  refuseTwoNames(tokens);
  return tokens;
}

/** The same of a text that must have a token. @throws ConfigError as `operatorTokensIn` */
export function parseOperatorTokens(text: string, beside: readonly NamedToken[] = []): readonly NamedToken[] {
  const tokens = operatorTokensIn(text, beside);
  if (tokens.length === beside.length) throw new ConfigError('no token in it');
  return tokens;
}

/** Nobody could tell who acted. @throws ConfigError */
function refuseTwoNames(tokens: readonly NamedToken[]): void {
  const names = new Map(tokens.map(({ name, token }) => [token, name]));
  if (tokens.some(({ name, token }) => names.get(token) !== name)) throw new ConfigError(TWO_NAMES);
}
