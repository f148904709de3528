import type { Reconciler } from './loop.ts';

interface RewrapDeps {
  /** One round over what is still sealed under another key than the active one; made for this term, under its fence. */
  readonly rewrap: () => Promise<void>;
}

const CHECK_EVERY_MS = 2000;

/**
 * O10: seals records of the former keys under the active one, so that those keys can be retired. A round throws
 * `StoreUnavailable`.
 */
export function rewrapReconciler({ rewrap }: RewrapDeps): Reconciler {
  return { name: 'rewrap', everyMs: CHECK_EVERY_MS, reconcile: rewrap };
}
