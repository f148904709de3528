/* The accounts that this browser has shown the first steps of, and those for which they were put away. */

const NAME = 'muster-first-steps';
/** The one that was kept longest ago gives way. */
const ACCOUNTS_MAX = 50;

type State = 'begun' | 'away';

function all(): Map<string, State> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(NAME) ?? '{}');
    const states = Object.entries(kept ?? {}).filter(
      (one): one is [string, State] => one[1] === 'begun' || one[1] === 'away',
    );
    return new Map(states);
  } catch {
    return new Map();
  }
}

export const keptSteps = (accountId: string): State | undefined => all().get(accountId);

/** @param state undefined forgets the account */
export function keepSteps(accountId: string, state: State | undefined): void {
  const kept = all();
  kept.delete(accountId);
  if (state !== undefined) kept.set(accountId, state);
  try {
    if (kept.size === 0) localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, JSON.stringify(Object.fromEntries([...kept].slice(-ACCOUNTS_MAX))));
  } catch {
    // A browser that keeps nothing shows them again at the next visit.
  }
}
