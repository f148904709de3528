import { ConfigError } from './config-error.ts';
import { operatorToken } from './environment.ts';

/** An operator token; the audit tells by its name who acted. */
export interface NamedToken {
  readonly name: string | undefined;
  readonly token: string;
}

const NAMED_TOKEN = /^([a-z0-9][a-z0-9-]{0,31}):(.*)$/;

/**
 * The tokens of a file, one a line, each valid: a token, or a name, a colon and a token.
 * @param name of the variable or file, for the words of the refusal
 * @throws ConfigError that names the line and the rule
 */
export function parseOperatorTokens(text: string, name: string): readonly NamedToken[] {
  const tokens: NamedToken[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line === '') continue;
    const [, of, token = line] = NAMED_TOKEN.exec(line) ?? [];
    const rule = operatorToken.safeParse(token).error?.issues[0]?.message;
    if (rule !== undefined) throw new ConfigError(`${name}: line ${index + 1} ${rule}`);
    tokens.push({ name: of, token });
  }
  if (tokens.length === 0) throw new ConfigError(`${name}: no token in it`);
  return tokens;
}
