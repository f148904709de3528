import { useState } from 'preact/hooks';
import { useQuery, type Field } from '../../address/use-query.ts';

/** More ids would make an address longer than proxies and mail programs take. */
const IN_ADDRESS_MAX = 50;

const ids: Field<string> = {
  initial: '',
  accepts: (value): value is string =>
    value.split('.').length <= IN_ADDRESS_MAX && /^(?:[a-z0-9]{20}(?:\.|$))*$/.test(value),
};
const SELECTION = { selected: ids };

/** The apps that somebody has chosen, by id: in the address up to 50 of them, more for this visit alone. */
export function useSelection(): [chosen: ReadonlySet<string>, choose: (chosen: ReadonlySet<string>) => void] {
  const { state, change } = useQuery(SELECTION);
  const [many, setMany] = useState<ReadonlySet<string>>();
  const chosen = many ?? new Set(state.selected.split('.').filter((id) => id !== ''));
  const choose = (next: ReadonlySet<string>): void => {
    const fits = next.size <= IN_ADDRESS_MAX;
    setMany(fits ? undefined : next);
    change({ selected: fits ? [...next].join('.') : '' });
  };
  return [chosen, choose];
}
