import { ConfigError } from '../../config/files/config-error.ts';
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
 * next renewal of roles. A file that had rules and has none is half written, or of a template that failed: it would
 * take the roles of all people, and is refused. At the start it gives no roles, and no API key ends for it
 * (domain/users/taken-roles.ts).
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
    files.add<readonly GroupRule[]>({ files: [groupsFile], parse: ([content], current) => rulesOf(content, current) });
  return { ...provider, clientSecret: () => secret.current, groups: () => groups?.current ?? [] };
}

/** @throws ConfigError */
function rulesOf(content: Buffer, current: readonly GroupRule[] = []): readonly GroupRule[] {
  const rules = parseGroups(content.toString());
  if (rules.length > 0 || current.length === 0) return rules;
  throw new ConfigError('no rules in it; to take the roles of all groups, start without MUSTER_OIDC_GROUPS_FILE');
}
