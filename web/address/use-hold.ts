import { useEffect } from 'preact/hooks';
import { holdPage } from './address.ts';

/** While something would be lost, leaving the page is asked about first. */
export function useHold(wouldLose: boolean): void {
  useEffect(() => (wouldLose ? holdPage() : undefined), [wouldLose]);
}
