import { generateMarker } from '../../domain/credentials/random-ids.ts';
import type { Deadlines } from '../../domain/limits.ts';
import type { Precondition } from '../../domain/mutation/authority.ts';
import type { Log } from '../../log.ts';
import type { Expectation } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { KubeApi } from './client/kube-api.ts';
import type { DomainTools } from './runtime/kind.ts';
import { readableNamespaceUid } from './client/namespace-uid.ts';

/*
 * A consent names a namespace, and means the one that has the name when Muster first looks: a later one of that name
 * gets nothing. An API replica has no access to the cluster, so the leader looks as soon as it learns of the consent.
 */

export interface OfferedNamespacesDeps {
  readonly api: Pick<KubeApi, 'namespaceUid'>;
  readonly term: { readonly fence: readonly Expectation[]; readonly signal: AbortSignal };
  readonly domain: Pick<DomainTools, 'offeredNamespaces' | 'random'>;
  readonly clock: Clock;
  readonly deadlines: Pick<Deadlines, 'requestMs'>;
  readonly log: Log;
}

/** The pause after which namespaces are asked for again that were not there, or could not be read. */
const ROUND_MS = 15_000;
/** The least pause: a thousand consents that are given one after the other do not make a thousand rounds. */
const PAUSE_MS = 1000;
/** The most consents that one round notes; the next one goes on, since those have a UID then. */
const NOTED_MAX = 1000;
/**
 * The most namespaces that one round asks for. Operators alone name them; others wait until some of these consents end.
 */
const NAMESPACES_MAX = 1000;

/** Notes the UIDs of namespaces in consents until the term ends. Never rejects. */
export async function noteOfferedNamespaces(deps: OfferedNamespacesDeps): Promise<void> {
  const { clock, log, term, domain } = deps;
  let given = new AbortController();
  const stop = domain.offeredNamespaces.onMissing(() => given.abort());
  try {
    while (!term.signal.aborted) {
      given = new AbortController();
      const isNew = given.signal;
      try {
        if ((await noteRound(deps)) === 'full') given.abort();
      } catch (error) {
        if (term.signal.aborted) return;
        log.info({ err: error }, 'the namespaces of consents were not all asked for, will retry');
      }
      await clock.sleep(PAUSE_MS, term.signal);
      await clock.sleep(ROUND_MS - PAUSE_MS, AbortSignal.any([term.signal, isNew]));
    }
  } finally {
    stop();
  }
}

/**
 * One round. A namespace that is not there, or may not be read, leaves its consents as they are.
 * @returns `full` where there may be more to note
 * @throws KubeError and as `note`
 */
export async function noteRound(deps: OfferedNamespacesDeps): Promise<'full' | 'done'> {
  const { api, domain, term, clock, deadlines } = deps;
  const uids = new Map<string, string | undefined>();
  const fenced: Precondition = { recheck: () => Promise.resolve(), expect: term.fence, write: [] };
  let noted = 0;
  for await (const offer of domain.offeredNamespaces.missing()) {
    if (noted === NOTED_MAX || term.signal.aborted) return 'full';
    const [namespace = ''] = offer.adoptableBy.split('/');
    if (!uids.has(namespace)) {
      if (uids.size === NAMESPACES_MAX) continue;
      uids.set(namespace, await readableNamespaceUid(api, namespace, term.signal));
    }
    const uid = uids.get(namespace);
    if (uid === undefined) continue;
    const origin = {
      actor: 'muster',
      requestId: generateMarker(domain.random),
      at: clock.now(),
      deadline: clock.monotonic() + deadlines.requestMs,
    };
    await domain.offeredNamespaces.note(origin, offer, uid, fenced);
    noted += 1;
  }
  return 'done';
}
