import { Refusal } from '../../domain/refusal.ts';
import { PATH_IDS, type PathId } from '../contract/fields.ts';

/** The ids in a path, by the names of its parameters; `''` for a name that the path does not have. */
export type PathIds = { readonly [Name in PathId]: string };

const NO_IDS: PathIds = {
  appId: '',
  accountId: '',
  keyId: '',
  entryId: '',
  userId: '',
  sessionId: '',
  linkId: '',
  passkeyId: '',
  tokenId: '',
};

/**
 * Judges the parameters of a path by the shapes of ids.
 * @throws Refusal `not_found`
 */
export function pathIds(parameters: Readonly<Record<string, string | string[]>>): PathIds {
  const ids = { ...NO_IDS };
  for (const [name, given] of Object.entries(parameters)) {
    const judged = PATH_IDS[name]?.safeParse(given);
    if (judged?.success !== true || !isPathId(name)) throw new Refusal('not_found');
    ids[name] = judged.data;
  }
  return ids;
}

/** A path with the ids in place of its parameters. */
export const pathWith = (path: string, ids: PathIds): string =>
  path.replaceAll(/:(\w+)/g, (parameter, name: string) => (isPathId(name) ? ids[name] : parameter));

const isPathId = (name: string): name is PathId => name in NO_IDS;
