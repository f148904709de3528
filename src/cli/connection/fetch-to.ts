import { X509Certificate } from 'node:crypto';
import { Agent } from 'node:https';
import type { PeerCertificate } from 'node:tls';
import { ConfigError } from '../../config/files/config-error.ts';
import { fetchBy } from '../../outgoing/agent-fetch.ts';
import { proxiedAgents } from '../../outgoing/proxied-agents.ts';
import type { Proxy } from '../../outgoing/proxy-variables.ts';
import { boundedText } from './context-file.ts';

/** The code of an error where a listener presents another certificate than its file has. */
export const OTHER_CERTIFICATE = 'CERT_OF_ANOTHER_FILE';

/** How OpenSSL tells that the one certificate that is believed is not there. */
const OTHERS: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** As the service bounds it (tls-certificate.ts). */
const FILE_BYTES_MAX = 1_048_576;

/** The parts of an Address that tell how it is asked. */
interface Asked {
  readonly certificateFile?: string;
  readonly isThere?: () => boolean;
  readonly proxy?: Proxy | undefined;
}

/** How long a proxy has to make a tunnel. */
const TUNNEL_MS = 30_000;

/**
 * `fetch` for an address. One that somebody keeps while a service listens there is asked so long only: once that is over,
 * whoever takes the port would be sent the secret, so it is a refused connection then, until the service is back.
 */
export function fetchTo({ isThere, certificateFile, proxy }: Asked): typeof fetch {
  const own = certificateFile === undefined ? fetchThrough(proxy) : fetchByCertificate(certificateFile);
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
 * `fetch` for a listener of this machine, whose certificate is in a file of the service's own settings. It is reached at
 * an address that no certificate is issued for, and its authority may be known to nobody here: so that very certificate
 * is believed, whatever its names are, and no other one. The file is read for each request, since it is renewed. No
 * redirect is followed.
 * @throws ConfigError, at a request, where the file has no certificate
 */
export function fetchByCertificate(path: string): typeof fetch {
  const agent = new Agent({ keepAlive: true });
  return async (input, init) => {
    const certificate = certificateIn(path);
    const { fingerprint256 } = certificate;
    const choice = {
      agent,
      ca: certificate.toString(),
      allowPartialTrustChain: true,
      checkServerIdentity: (_host: string, peer: PeerCertificate) =>
        peer.fingerprint256 === fingerprint256 ? undefined : another(path),
    };
    try {
      return await fetchBy(choice, input, init);
    } catch (error) {
      const { code = '' } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
      throw OTHERS.has(code) ? new TypeError('fetch failed', { cause: another(path) }) : error;
    }
  };
}

const another = (path: string): Error =>
  Object.assign(new Error(`another certificate than that of ${path}`), { code: OTHER_CERTIFICATE });

/** The listener's own certificate, which is the first one of its file. @throws ConfigError */
export function certificateIn(path: string): X509Certificate {
  let text: string | undefined;
  let code = 'ENOENT';
  try {
    text = boundedText(path, FILE_BYTES_MAX);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
  if (text === undefined) throw new ConfigError(`${path}: the certificate of the listener cannot be read (${code})`);
  try {
    return new X509Certificate(text);
  } catch {
    throw new ConfigError(`${path}: must have certificates in PEM`);
  }
}
