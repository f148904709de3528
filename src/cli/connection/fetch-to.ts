import { X509Certificate } from 'node:crypto';
import { Agent } from 'node:https';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { ConfigError } from '../../config/files/config-error.ts';
import { fetchBy } from '../../outgoing/agent-fetch.ts';
import { proxiedAgents } from '../../outgoing/proxied-agents.ts';
import type { Proxy } from '../../outgoing/proxy-variables.ts';
import { boundedText } from './context-file.ts';

/** The code of an error where a listener of this machine presents a certificate that its CA file does not vouch for. */
export const OTHER_CERTIFICATE = 'CERT_OF_ANOTHER_FILE';

/** How OpenSSL tells that none of the certificates that are believed is there. */
const OTHERS: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** The parts of an Address that tell how it is asked. */
interface Asked {
  readonly url?: string;
  readonly isLocal?: boolean;
  readonly caFiles?: readonly string[];
  readonly isThere?: () => boolean;
  readonly proxy?: Proxy | undefined;
}

/** How long a proxy has to make a tunnel. */
const TUNNEL_MS = 30_000;

/**
 * `fetch` for an address. One that somebody keeps while a service listens there is asked so long only: once that is
 * over, whoever takes the port would be sent the secret, so it is a refused connection then, until the service is back.
 */
export function fetchTo({ url = '', isThere, isLocal = false, caFiles, proxy }: Asked): typeof fetch {
  const isEncrypted = url.startsWith('https:');
  const own = isEncrypted && isLocal && caFiles !== undefined ? fetchHere(caFiles) : fetchThrough(proxy);
  if (!isThere) return own;
  return async (input, init) => {
    if (isThere()) return await own(input, init);
    throw new TypeError('fetch failed', {
      cause: Object.assign(new Error('nobody keeps it'), { code: 'ECONNREFUSED' }),
    });
  };
}

function fetchThrough(proxy: Proxy | undefined): typeof fetch {
  if (!proxy) return fetch;
  const agentOf = proxiedAgents(proxy.url, { keepAlive: true, tunnelMs: TUNNEL_MS });
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    return await fetchBy({ agent: agentOf(url) }, input, init);
  };
}

/**
 * `fetch` for a listener of this machine with CA files. It is reached at an address that no certificate may be issued
 * for: so a file that begins with the certificate of a listener, as the service has it, stands for that very
 * certificate, whatever its names are, and for no other one, also not of its chain. A file that begins with an
 * authority stands for what that has issued for the address as well. The files are read for each request, since they
 * are renewed. No redirect is followed.
 * @throws ConfigError, at a request, where a file has no certificate
 */
export function fetchHere(caFiles: readonly string[]): typeof fetch {
  const agent = new Agent({ keepAlive: true });
  return async (input, init) => {
    const files = caFiles.map(certificatesIn);
    const isAuthority = files.some(([first]) => first?.ca);
    const believed = files.flatMap((file) => (file[0]?.ca ? file : file.filter(({ ca }) => !ca)));
    const own = new Set(believed.map(({ fingerprint256 }) => fingerprint256));
    const choice = {
      agent,
      ca: believed.map(String).join(''),
      allowPartialTrustChain: true,
      checkServerIdentity: (host: string, peer: PeerCertificate) => {
        if (own.has(peer.fingerprint256)) return undefined;
        return isAuthority ? checkServerIdentity(host, peer) : another(caFiles);
      },
    };
    try {
      return await fetchBy(choice, input, init);
    } catch (error) {
      const { code = '' } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
      throw OTHERS.has(code) ? new TypeError('fetch failed', { cause: another(caFiles) }) : error;
    }
  };
}

const another = (caFiles: readonly string[]): Error =>
  Object.assign(new Error(`no certificate of ${caFiles.join(', ')}`), { code: OTHER_CERTIFICATE });

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The certificates of a CA file. @throws ConfigError */
export function certificatesIn(path: string): readonly X509Certificate[] {
  let text: string | undefined;
  let code = 'ENOENT';
  try {
    text = boundedText(path);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
  if (text === undefined) throw new ConfigError(`${path}: the CA file cannot be read (${code})`);
  try {
    const certificates = (text.match(CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem));
    if (certificates.length > 0) return certificates;
  } catch {
    // It is told below.
  }
  throw new ConfigError(`${path}: must have certificates in PEM`);
}
