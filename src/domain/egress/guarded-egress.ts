import type { LookupFunction } from 'node:net';
import { Semaphore } from '../../concurrency/semaphore.ts';
import { fetchBy } from '../../outgoing/agent-fetch.ts';
import { proxiedAgents } from '../../outgoing/proxied-agents.ts';
import { StoreUnavailable } from '../../store/port.ts';
import { isIPv6 } from '../../text/ip-addresses.ts';
import type { Clock } from '../../time/clock.ts';
import { VERSION } from '../../version.ts';
import { LIMITS } from '../limits.ts';
import { Busy } from '../refusal.ts';
import { createDestinations, type DestinationDeps } from './destinations.ts';
import { faultOf, type Unreached } from './faults.ts';

/** A request to an address that an owner has chosen. */
interface GuardedCall {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for none. */
  readonly body: string;
  /** Ends the call wherever it is: what it sends may not be used any more. */
  readonly withdrawn: AbortSignal;
  /**
   * Tells whether headers and body may still be used; asked when the connection is made, before any of them is sent.
   * @throws StoreUnavailable, and then nothing is sent
   */
  readonly maySend: () => Promise<boolean>;
}

/** What the call sends may not be used any more. */
class Withdrawn extends Error {}

/** The end of a call. Nothing of it repeats the request. */
export type EgressOutcome =
  | { readonly kind: 'answered'; readonly status: number }
  /** Nothing was sent: the address is one that owners may not reach. */
  | { readonly kind: 'not-allowed' }
  /** What it sends may not be used any more. It was ended, and nothing was sent unless that had been done before. */
  | { readonly kind: 'withdrawn' }
  | Unreached;

/** The way by which the service calls addresses that owners choose. */
export interface GuardedEgress {
  /**
   * Sends a POST, and follows no redirect. The answer is dropped.
   * @throws Busy where so many calls are under way that this one was not made; what `maySend` throws
   */
  post(call: GuardedCall): Promise<EgressOutcome>;
}

export interface EgressDeps extends Omit<DestinationDeps, 'clock' | 'isProxied'> {
  readonly clock: Clock;
  /** As for `createEgress`. */
  readonly proxy: string | undefined;
}

/**
 * Creates that way (ADR 0074): every address of the name is judged, and the connection is made to these very addresses,
 * so that a name which changes between the two gains nothing.
 */
export function createGuardedEgress({ clock, proxy, ...deps }: EgressDeps): GuardedEgress {
  const destinations = createDestinations({ ...deps, clock, isProxied: proxy !== undefined });
  const agentOf = proxiedAgents(proxy, { keepAlive: false, tunnelMs: LIMITS.egressCallMs });
  const places = new Semaphore(LIMITS.egressCallsMax);

  async function answerTo({ url, headers, body, maySend }: GuardedCall, signal: AbortSignal): Promise<EgressOutcome> {
    const addresses = await destinations(url, signal);
    if (addresses === 'not-allowed') return { kind: 'not-allowed' };
    const choice = {
      agent: agentOf(url.href),
      // NODE_TLS_REJECT_UNAUTHORIZED is for other programs.
      rejectUnauthorized: true,
      ...(addresses !== 'by-proxy' && { lookup: lookupOf(addresses) }),
      async beforeSending() {
        if (!(await maySend())) throw new Withdrawn();
      },
    };
    const sent = new Headers(headers);
    if (!sent.has('user-agent')) sent.set('user-agent', `muster/${VERSION}`);
    const response = await fetchBy(choice, url, {
      method: 'POST',
      headers: sent,
      ...(body !== '' && { body }),
      redirect: 'manual',
      signal,
    });
    await drop(response);
    return { kind: 'answered', status: response.status };
  }

  async function bounded(call: GuardedCall): Promise<EgressOutcome> {
    const [ending, over] = [new AbortController(), new AbortController()];
    void clock.sleep(LIMITS.egressCallMs, over.signal).then(() => ending.abort());
    try {
      return await answerTo(call, AbortSignal.any([ending.signal, call.withdrawn]));
    } catch (error) {
      if (error instanceof Withdrawn || call.withdrawn.aborted) return { kind: 'withdrawn' };
      if (error instanceof Busy || error instanceof StoreUnavailable) throw error;
      return ending.signal.aborted ? { kind: 'unreached', why: 'no-answer' } : faultOf(error);
    } finally {
      // It ends the connection, too, where an answer goes on.
      over.abort();
      ending.abort();
    }
  }

  return {
    async post(call) {
      const made = places.tryRun(() => bounded(call));
      if (!made) throw new Busy('queue_full', 'Too many calls to the outside are under way.');
      return await made;
    },
  };
}

/** The lookup of a connection that knows these addresses alone. */
function lookupOf(addresses: readonly [string, ...string[]]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_name, options, found) => {
    if (options.all === true) return found(null, all);
    const [first] = addresses;
    found(null, first, isIPv6(first) ? 6 : 4);
  };
}

/** Reads an answer to its end, or as far as a server may count on it. */
async function drop({ body: stream }: Response): Promise<void> {
  if (!stream) return;
  let bytes = 0;
  for await (const piece of stream as AsyncIterable<Uint8Array>) {
    bytes += piece.length;
    if (bytes > LIMITS.egressAnswerBytesMax) return;
  }
}
