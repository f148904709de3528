import type { Reconciler } from './loop.ts';

export interface RewrapDeps {
  /** One round over what is still sealed under another key than the active one; made for this term, under its fence. */
  readonly rewrap: () => Promise<void>;
}

const LOOK_EVERY_MS = 2000;

/** O10: after a rotation nothing stays sealed under the old key. */
export function rewrapReconciler({ rewrap }: RewrapDeps): Reconciler {
  return { name: 'rewrap', everyMs: LOOK_EVERY_MS, reconcile: rewrap };
}
