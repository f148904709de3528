import type { Config } from '../config/config.ts';
import { createAccessTokens } from '../domain/access-tokens/access-tokens.ts';
import type { LastUses } from '../domain/last-uses/last-uses.ts';
import type { MutationDeps } from '../domain/mutation/step.ts';
import { createCredentialList } from '../domain/users/credential-list.ts';
import { createMadeKeyList } from '../domain/users/made-keys.ts';
import { createLinks } from '../domain/users/links.ts';
import { createMembers } from '../domain/users/members.ts';
import { createUserDeletion } from '../domain/users/user-deletion.ts';
import { createNewcomers, createUsers, type UserDeps } from '../domain/users/users.ts';

/** Makes the services on the people who use the panel, which the operator API has as well. */
export function createUserServices(
  mutations: MutationDeps,
  { panel }: Pick<Config, 'panel'>,
  keyUses: Pick<LastUses, 'usesAndCalls' | 'usesOfMany'>,
  personUses: Pick<LastUses, 'used' | 'lastUses' | 'usesOfMany'>,
) {
  const ways = panel && { passwords: panel.passwords, issuer: panel.provider?.issuer };
  const deps: UserDeps = { ...mutations, ways, newcomers: createNewcomers(mutations) };
  return {
    users: createUsers(deps),
    userDeletion: createUserDeletion(deps),
    members: createMembers(deps),
    links: createLinks(deps),
    madeKeys: createMadeKeyList({ fleet: deps.fleet, keyUses, tokenUses: personUses }),
    accessTokens: createAccessTokens({ ...mutations, uses: personUses }),
    credentials: createCredentialList({ fleet: deps.fleet, keyUses, personUses }),
    userDeps: deps,
  };
}
