import { useLayoutEffect, useState } from 'preact/hooks';
import { currentAddress, onAddress, type Address } from './address.ts';

/** A part of the address. What shows it is rendered anew where this part changes, not with each letter of a search. */
function usePart<Part>(partOf: (address: Address) => Part): Part {
  const [part, setPart] = useState(() => partOf(currentAddress()));
  useLayoutEffect(() => {
    const changed = (): void => setPart(partOf(currentAddress()));
    changed();
    return onAddress(changed);
  }, [partOf]);
  return part;
}

const pathOf = ({ path }: Address): string => path;
const queryOf = ({ query }: Address): string => query;

export const usePath = (): string => usePart(pathOf);
export const useQueryText = (): string => usePart(queryOf);
