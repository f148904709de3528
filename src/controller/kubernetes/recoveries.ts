import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';
import type { DomainTools } from './runtime/kind.ts';
import type { NamespaceCache } from './runtime/namespace-cache.ts';

export interface RecoveriesDeps {
  readonly term: { readonly signal: AbortSignal };
  readonly domain: { readonly recoveries: Pick<DomainTools['recoveries'], 'all'> };
  /** The memory of a namespace that is followed. */
  readonly cacheOf: (namespace: string) => Pick<NamespaceCache, 'addAll'> | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** An API replica writes the consents, and no replica has them in memory. */
const EVERY_MS = 5000;

/**
 * Has the resources of a namespace looked at when an operator consents that they take up what their names stood for,
 * until the term ends. Never rejects.
 */
export async function followRecoveries({ term, domain, cacheOf, clock, log }: RecoveriesDeps): Promise<void> {
  let known = new Map<string, number>();
  while (!term.signal.aborted) {
    try {
      const found = new Map<string, number>();
      for await (const { namespace, until } of domain.recoveries.all()) found.set(namespace, until);
      for (const [namespace, until] of found) if (known.get(namespace) !== until) cacheOf(namespace)?.addAll();
      known = found;
    } catch (error) {
      if (term.signal.aborted) return;
      log.info({ err: error }, 'the consents to recover namespaces were not read, will retry');
    }
    await clock.sleep(EVERY_MS, term.signal);
  }
}
