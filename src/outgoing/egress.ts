import { fetchBy } from './agent-fetch.ts';
import { proxiedAgents } from './proxied-agents.ts';

/** `fetch` for an address outside. No redirect is followed. */
export type Egress = (url: URL, init?: RequestInit) => Promise<Response>;

const TUNNEL_MS = 5000;

/**
 * The one way by which the service itself calls what lies outside, such as the provider of sign-ins. It leads through
 * the proxy of MUSTER_EGRESS_PROXY, which then decides what addresses are reached, or directly; the variables that
 * other programs obey (`http_proxy`, NODE_USE_ENV_PROXY) do not count (ADR 0061).
 * @param proxy such as `http://proxy.example:3128`; undefined for none
 */
export function createEgress(proxy: string | undefined): Egress {
  const agentOf = proxiedAgents(proxy, {
    // The calls are minutes apart: a connection that is kept would be closed by then.
    keepAlive: false,
    tunnelMs: TUNNEL_MS,
  });
  return async (url, init) => await fetchBy({ agent: agentOf(url.href) }, url, init);
}
