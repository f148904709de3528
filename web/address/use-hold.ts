import { useLayoutEffect } from 'preact/hooks';
import { holdPage } from './address.ts';

/** While something would be lost, leaving the page is asked about first; the render that ends it ends the question. */
export function useHold(wouldLose: boolean): void {
  useLayoutEffect(() => (wouldLose ? holdPage() : undefined), [wouldLose]);
}
