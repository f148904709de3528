import { useMemo } from 'preact/hooks';
import { oneOf, useQuery } from './use-query.ts';

/** Whether the dialog that makes something is open: `new` in the address, so that a link opens it. */
export function useNew(what: string): [isOpen: boolean, open: (isOpen: boolean) => void] {
  const fields = useMemo(() => ({ new: oneOf('', what) }), [what]);
  const { state, change } = useQuery(fields);
  return [state.new === what, (isOpen) => change({ new: isOpen ? what : '' })];
}
