import type { ConfiguredFile } from '../../config/files/configured-file.ts';
import { operatorTokensIn, parseOperatorTokens, type NamedToken } from '../../config/operator-tokens.ts';
import { Secret } from '../../domain/credentials/secret.ts';
import type { OperatorToken } from '../../domain/replicas/operator-tokens.ts';
import type { WatchedFiles } from './watched-file.ts';

/**
 * The tokens of the operator that are valid at present, as another list whenever they change. A token that was removed
 * from the file is refused, also where none is left; while the file cannot be used for more than 10 minutes, all of
 * them are: whoever withdraws a token must be able to rely on it.
 * @param own those of a variable, which are valid as long as the process runs
 * @throws ConfigError
 */
export function watchedOperatorTokens(
  files: WatchedFiles,
  own: readonly NamedToken[],
  file: ConfiguredFile | undefined,
): () => readonly OperatorToken[] {
  const ofVariable = secretsOf(own);
  if (!file) return () => ofVariable;
  const watched = files.add<readonly OperatorToken[]>({
    files: [file],
    // A start without a token is a mistake, and an empty file later withdraws all of them.
    parse: ([content], current) =>
      secretsOf((current ? operatorTokensIn : parseOperatorTokens)(content.toString(), own)),
    taken: (next) => ({ tokens: next.length }),
    refused: 'its operator tokens are refused until it can be used',
  });
  return () => (watched.isOverdue ? ofVariable : watched.current);
}

const secretsOf = (tokens: readonly NamedToken[]): readonly OperatorToken[] =>
  tokens.map(({ name, role, token }) => ({ name, role, secret: new Secret(token) }));
