import type { ConfiguredFiles } from '../../config/files/configured-file.ts';
import {
  parseClientSecret,
  parseGroups,
  type GroupRule,
  type ProviderConfig,
  type WatchedProvider,
} from '../../config/panel.ts';
import type { WatchedFiles } from './watched-file.ts';

/**
 * The provider of sign-ins: a new secret is used from the next call of it on, and new rules at the next sign-in and the
 * next renewal of roles.
 * @returns undefined where there is no provider
 * @throws ConfigError
 */
export function watchedProvider(
  files: WatchedFiles,
  { MUSTER_OIDC_CLIENT_SECRET_FILE: secretFile, MUSTER_OIDC_GROUPS_FILE: groupsFile }: ConfiguredFiles,
  provider: ProviderConfig | undefined,
): WatchedProvider | undefined {
  if (!provider || !secretFile) return undefined;
  const secret = files.add<string>({
    files: [secretFile],
    parse: ([content]) => parseClientSecret(content.toString()),
  });
  const groups =
    groupsFile &&
    files.add<readonly GroupRule[]>({ files: [groupsFile], parse: ([content]) => parseGroups(content.toString()) });
  return { ...provider, clientSecret: () => secret.current, groups: () => groups?.current ?? [] };
}
