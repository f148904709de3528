import { expectUnchanged, type ChangeParts, type Store } from '../../store/port.ts';
import type { FleetReader, UserEntry } from '../fleet/reader.ts';
import { parseRecord, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';
import { comparableLogin } from '../../text/logins.ts';
import { loginKeys } from './user-state.ts';

/* Names to sign in with: whose they are, and that no new one is another's (RFC 8265, 3.3). */

interface LoginDeps {
  readonly store: Pick<Store, 'get'>;
}

/** Whether a stored name may be compared otherwise than it was once: printable ASCII never was. */
const isOfOther = (login: string): boolean => !/^[\x21-\x7e]*$/.test(login);

type Locator = Versioned<{ readonly userId: string }>;

async function locators({ store }: LoginDeps, login: string): Promise<readonly Locator[]> {
  const entries = await Promise.all(loginKeys(login).map((key) => store.get(key)));
  return entries.flatMap((entry) => (entry ? [parseRecord(KEYS.login, entry)] : []));
}

/** The id of the user with a name; undefined where nobody has it. @throws StoreUnavailable; BadRecord */
export async function userOfLogin(deps: LoginDeps, login: string): Promise<string | undefined> {
  const [found] = await locators(deps, login);
  return found?.record.userId;
}

/**
 * Refuses the name of a new user that is somebody's. An earlier user may have one that became equal since, under a key
 * of its own; the commit expects that nobody takes the name meanwhile.
 * @throws Refusal `conflict`; StoreUnavailable; BadRecord
 */
export async function refuseTaken(
  deps: LoginDeps,
  reader: Pick<FleetReader, 'users'>,
  login: string,
  says: string,
): Promise<void> {
  const compared = comparableLogin(login);
  const isTaken =
    (await userOfLogin(deps, login)) !== undefined ||
    Array.from(await reader.users()).some(
      ({ record: { login: other } }) => isOfOther(other) && comparableLogin(other) === compared,
    );
  if (isTaken) throw new Refusal('conflict', says);
}

/**
 * Removes the records that lead from a user's name to the user, and not those of another. @throws StoreUnavailable
 */
export async function loginRemoval(
  deps: LoginDeps,
  { id, record: { login } }: Pick<UserEntry, 'id' | 'record'>,
): Promise<ChangeParts> {
  const own = login === '' ? [] : (await locators(deps, login)).filter(({ record }) => record.userId === id);
  return { expect: own.map(expectUnchanged), write: own.map(({ key }) => ({ remove: key })) };
}
