import type { State, StoredAudit } from '../judgement/state.ts';
import { grouped, type Checker } from './checker.ts';

/** The state as a whole, whenever it is read: every record agrees with those that were written with it. */
export const halfWritten: Checker = (_, { state }) => faultsOf(state).map((words) => ({ rule: 'half-written', words }));

export function faultsOf({ apps, accounts, credentials, audits }: State): string[] {
  const entries = grouped(audits, ({ app }) => app);
  const byAccount = grouped(apps, ([, { account }]) => account);
  const counts = [...accounts].map(
    ([account, { counters }]) => [account, counters, byAccount.get(account)?.length ?? 0] as const,
  );
  const slots = [...byAccount].flatMap(([account, all]) => {
    const shared = all.length - new Set(all.map(([, { slot }]) => slot)).size;
    return shared === 0 ? [] : [`${shared} apps of ${account} share their slot with another`];
  });
  return [
    ...counts
      .filter(([, counters, count]) => counters !== count)
      .map(([account, counters, count]) => `${account}: counters of ${counters}, ${count} apps`),
    ...slots,
    ...[...apps].flatMap(([app, stored]) =>
      appFaults(stored, entries.get(app) ?? []).map((words) => `${app}: ${words}`),
    ),
    ...[...apps].flatMap(([app, { credential }]) =>
      credential !== undefined && credentials.get(credential) !== app ? [`${app}: its credential leads elsewhere`] : [],
    ),
  ];
}

function appFaults(
  stored: State['apps'] extends ReadonlyMap<string, infer App> ? App : never,
  audits: readonly StoredAudit[],
): string[] {
  const has = (action: string): boolean => audits.some((entry) => entry.action === action);
  return [
    has('app.created') ? [] : ['no entry of its creation'],
    has('app.enrolled') === stored.enrolled ? [] : ['enrolled, or not?'],
    stored.status === 'revoked' && !has('app.revoked') ? ['revoked without an entry'] : [],
    (stored.status === 'active') === (stored.credential !== undefined) ? [] : ['active, or not?'],
  ].flat();
}
