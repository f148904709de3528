import { generateMarker } from '../../domain/credentials/random-ids.ts';
import type { Deadlines } from '../../domain/limits.ts';
import type { Precondition } from '../../domain/mutation/authority.ts';
import type { Log } from '../../log.ts';
import type { Expectation } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { KubeApi } from './client/kube-api.ts';
import type { DomainTools } from './runtime/kind.ts';
import { readableNamespaceUid } from './runtime/namespace-uid.ts';

/*
 * A consent names a namespace, and means the one that has the name now: whoever gets the name later gets nothing. An API
 * replica has no access to the cluster, so the leader asks for the UID.
 */

export interface OfferedNamespacesDeps {
  readonly api: Pick<KubeApi, 'namespaceUid'>;
  readonly term: { readonly fence: readonly Expectation[]; readonly signal: AbortSignal };
  readonly domain: Pick<DomainTools, 'offeredNamespaces' | 'random'>;
  readonly clock: Clock;
  readonly deadlines: Pick<Deadlines, 'requestMs'>;
  readonly log: Log;
}

const ROUND_MS = 15_000;
/** The most consents of one round; the next round goes on, since those have a UID then. */
const NOTED_MAX = 200;

/** Notes the UIDs of namespaces in consents until the term ends. Never rejects. */
export async function noteOfferedNamespaces(deps: OfferedNamespacesDeps): Promise<void> {
  const { clock, log, term } = deps;
  while (!term.signal.aborted) {
    try {
      await noteRound(deps);
    } catch (error) {
      if (term.signal.aborted) return;
      log.info({ err: error }, 'the namespaces of consents were not all asked for, will retry');
    }
    await clock.sleep(ROUND_MS, term.signal);
  }
}

/** One round. A namespace that is not there, or may not be read, leaves its consents as they are. @throws KubeError and as `note` */
export async function noteRound({ api, domain, term, clock, deadlines }: OfferedNamespacesDeps): Promise<void> {
  const uids = new Map<string, string | undefined>();
  const fenced: Precondition = { recheck: () => Promise.resolve(), expect: term.fence, write: [] };
  for (const offer of (await domain.offeredNamespaces.missing()).slice(0, NOTED_MAX)) {
    const [namespace = ''] = offer.adoptableBy.split('/');
    if (!uids.has(namespace)) uids.set(namespace, await readableNamespaceUid(api, namespace, term.signal));
    const uid = uids.get(namespace);
    if (uid === undefined) continue;
    const origin = {
      actor: 'muster',
      requestId: generateMarker(domain.random),
      at: clock.now(),
      deadline: clock.monotonic() + deadlines.requestMs,
    };
    await domain.offeredNamespaces.note(origin, offer, uid, fenced);
  }
}
