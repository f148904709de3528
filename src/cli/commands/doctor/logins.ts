import { parseRecord } from '../../../domain/records/codec.ts';
import { KEYS } from '../../../domain/records/keys.ts';
import { comparableLogin } from '../../../text/logins.ts';
import { PAGE_ENTRIES_MAX, type Store } from '../../../store/port.ts';
import type { OperatorClient } from '#client';
import { CHECK_MS_MAX, finding, type Report } from './finding.ts';

/*
 * Names to sign in with that became one when their comparison changed: nobody is locked out, and a person must choose.
 */

/** More would hide the other findings. */
const NAMED_MAX = 5;

interface Named {
  readonly userId: string;
  readonly login: string;
}

/** Asks the running service for its users. @throws whatever the client throws */
export async function checkLoginsOfService(operator: OperatorClient, report: Report): Promise<void> {
  tellLogins((await operator.listUsers({ timeoutMs: CHECK_MS_MAX })).users, report);
}

/** Reads the users of a store. @throws StoreUnavailable; BadRecord */
export async function checkLoginsOfStore(store: Store, report: Report): Promise<void> {
  const users: Named[] = [];
  for (let after: string | undefined; ;) {
    const place = { prefix: KEYS.user.under(), limit: PAGE_ENTRIES_MAX, after };
    const { entries, next } = await store.list(place);
    for (const entry of entries) {
      const { login } = parseRecord(KEYS.user, entry).record;
      users.push({ userId: entry.key.slice(KEYS.user.under().length), login });
    }
    if (next === undefined) break;
    after = next;
  }
  tellLogins(users, report);
}

function tellLogins(users: readonly Named[], report: Report): void {
  const named = users.filter(({ login }) => login !== '');
  const groups = [...Map.groupBy(named, ({ login }) => comparableLogin(login)).values()];
  for (const group of groups.filter(({ length }) => length > 1).slice(0, NAMED_MAX)) {
    const all = group.map(({ login, userId }) => `${JSON.stringify(login)} (user ${userId})`).join(', ');
    const says = `${group.length} names are one now, and each signs in by its exact form: ${all}. Delete a user and make it anew`;
    report(finding('logins').warn(says));
  }
}
