import { LIMITS } from '../../../src/domain/limits.ts';
import { grouped, type Checker } from './checker.ts';

/** An account has at most 1000 apps, by a list, by the store, and by the counters, which must agree with the store. */
export const cap: Checker = ({ calls }, { state }) => {
  const lists = calls.filter(({ told }) => (told.count ?? 0) > LIMITS.appsPerAccountMax);
  const apps = grouped(state.apps.values(), ({ account }) => account);
  const stored = [...state.accounts].flatMap(([account, { counters }]) => {
    const count = apps.get(account)?.length ?? 0;
    const faults: string[] = [];
    if (count > LIMITS.appsPerAccountMax) faults.push(`${account} has ${count} apps`);
    if (count !== counters) faults.push(`the counters of ${account} counts ${counters} apps of ${count}`);
    return faults;
  });
  return [
    ...lists.map(({ end, asked, told }) => ({
      rule: 'cap',
      at: end,
      words: `${asked.account} listed ${told.count} apps`,
    })),
    ...stored.map((words) => ({ rule: 'cap', words })),
  ];
};
