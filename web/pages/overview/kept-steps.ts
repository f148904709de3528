import { browserKeeps, valueOf } from '../../ui/kept.ts';

/* The accounts that this browser has shown the first steps of, and those for which they were put away. */

const NAME = 'muster-first-steps';
/** The one that was kept longest ago gives way. */
const ACCOUNTS_MAX = 50;

type State = 'begun' | 'away';

function all(): Map<string, State> {
  const states = Object.entries(valueOf(browserKeeps.read(NAME)) ?? {}).filter(
    (one): one is [string, State] => one[1] === 'begun' || one[1] === 'away',
  );
  return new Map(states);
}

export const keptSteps = (accountId: string): State | undefined => all().get(accountId);

/** @param state undefined forgets the account */
export function keepSteps(accountId: string, state: State | undefined): void {
  const kept = all();
  kept.delete(accountId);
  if (state !== undefined) kept.set(accountId, state);
  const text = JSON.stringify(Object.fromEntries([...kept].slice(-ACCOUNTS_MAX)));
  browserKeeps.write(NAME, kept.size === 0 ? undefined : text);
}
