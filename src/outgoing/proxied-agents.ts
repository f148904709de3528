import { Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';

interface Bounds {
  readonly keepAlive: boolean;
  /** How long a proxy has to make a tunnel; without a bound it would hold the connection for ever. */
  readonly tunnelMs: number;
}

/**
 * Agents that go by this proxy alone, and directly without one, whatever the environment of this process says:
 * NODE_USE_ENV_PROXY is about the agent that requests have without one of their own.
 * @param proxy such as `http://proxy.example:3128`
 * @returns the agent of a URL
 */
export function proxiedAgents(proxy: string | undefined, { keepAlive, tunnelMs }: Bounds): (url: string) => Agent {
  const proxyEnv = proxy === undefined ? {} : { http_proxy: proxy, https_proxy: proxy };
  const options = { keepAlive, timeout: tunnelMs, proxyEnv };
  const [plain, tls] = [new Agent(options), new TlsAgent(options)];
  return (url) => (url.startsWith('https:') ? tls : plain);
}
