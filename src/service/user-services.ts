import type { Config } from '../config/config.ts';
import type { LastUses } from '../domain/last-uses/last-uses.ts';
import type { MutationDeps } from '../domain/mutation/step.ts';
import { createMadeKeyList, type ListMadeKeys } from '../domain/users/made-keys.ts';
import { createLinks, type Links } from '../domain/users/links.ts';
import { createMembers, type Members } from '../domain/users/members.ts';
import { createUserDeletion, type UserDeletion } from '../domain/users/user-deletion.ts';
import { createNewcomers, createUsers, type UserDeps, type Users } from '../domain/users/users.ts';

/** The services on the people who use the panel, which the operator API has as well. */
export interface UserServices {
  readonly users: Users;
  readonly userDeletion: UserDeletion;
  readonly members: Members;
  readonly links: Links;
  readonly madeKeys: ListMadeKeys;
  readonly userDeps: UserDeps;
}

/** Makes the services on people; see `UserServices`. */
export function createUserServices(
  mutations: MutationDeps,
  { panel }: Pick<Config, 'panel'>,
  { lastUses }: Pick<LastUses, 'lastUses'>,
): UserServices {
  const ways = panel && { passwords: panel.passwords, issuer: panel.provider?.issuer };
  const deps: UserDeps = { ...mutations, ways, newcomers: createNewcomers(mutations) };
  return {
    users: createUsers(deps),
    userDeletion: createUserDeletion(deps),
    members: createMembers(deps),
    links: createLinks(deps),
    madeKeys: createMadeKeyList({ fleet: deps.fleet, lastUses }),
    userDeps: deps,
  };
}
