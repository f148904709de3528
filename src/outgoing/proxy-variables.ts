import { ConfigError } from '../config/files/config-error.ts';
import { isLoopbackHost } from '../config/panel.ts';
import { addressOf, isIn, isIPv6, rangesOf } from '../text/ip-addresses.ts';

/** The proxy by which a service is asked. */
export interface Proxy {
  readonly url: string;
  /** The variable that names it. */
  readonly from: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy by which a command asks a service, as curl and most programs find it: `http_proxy` or `https_proxy` by the
 * scheme, in small letters first, but for the hosts of `no_proxy`. This machine is always asked directly: a proxy would
 * look for its own, and would be shown the secret on the way.
 * @returns undefined where none is set for it
 * @throws ConfigError that names the variable, and repeats none of it: it may hold a password
 */
export function proxyFor(url: string, env: Environment): Proxy | undefined {
  const { protocol, hostname } = new URL(url);
  if (isLoopbackHost(hostOf(hostname))) return undefined;
  const [from, value] = spelled(protocol === 'https:' ? 'https_proxy' : 'http_proxy', env);
  if (value === undefined || isExcepted(new URL(url), spelled('no_proxy', env)[1] ?? '')) return undefined;
  // Without a scheme it is one of HTTP, as curl takes it. Another scheme would be passed over by Node without a word.
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return { url: text, from };
  throw new ConfigError(`${from}: must be http://HOST:PORT or https://HOST:PORT`);
}

function spelled(name: string, env: Environment): [variable: string, value: string | undefined] {
  if (env[name]) return [name, env[name]];
  return [name.toUpperCase(), env[name.toUpperCase()] || undefined];
}

const hostOf = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');

/** Whether an entry of `no_proxy` is the host, a domain or a range above it, as curl and Go read it; or a star. */
function isExcepted({ protocol, hostname, port }: URL, list: string): boolean {
  const host = hostOf(hostname);
  const address = addressOf(host);
  const used = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  return list.split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true;
    const [, name = '', only] = /^(.*?[^:])(?::(\d+))?$/.exec(isIPv6(entry) ? `[${entry}]` : entry) ?? [];
    if (only !== undefined && only !== used) return false;
    const bare = hostOf(name);
    if (address) return isIn(address, rangesOf(bare));
    const domain = bare.replace(/^\*?\./, '').toLowerCase();
    return domain !== '' && (host === domain || host.endsWith(`.${domain}`));
  });
}
