import { StoreUnavailable } from '../store/port.ts';
import { ANSWER_MS_MAX, askOverTls, askPlainly, isHttp2, speaksTls, type Look, type Tls } from './etcd-probe.ts';

/** The address of etcd cannot be used as it is now. The message tells a person why, and what to do. */
export class UnusableAddress extends StoreUnavailable {
  /** Whether it is worth to wait: etcd may not have started yet, or be about to get another certificate. */
  readonly mayPass: boolean;
  /** The fault without the variable of the address. */
  readonly fault: string;

  constructor(fault: string, mayPass = true) {
    super(mayPass ? 'unreachable' : 'refused', `MUSTER_STORE: ${fault}`);
    this.mayPass = mayPass;
    this.fault = fault;
  }
}

/**
 * Asks each address of an etcd that cannot be reached for what is wrong with it. Never rejects.
 * @returns the fault of the first address, or of the first that will not pass by waiting; undefined where nothing can
 * be told
 */
export async function faultOfAddresses(
  urls: readonly string[],
  tls: Tls | undefined,
  answerMs = ANSWER_MS_MAX,
): Promise<UnusableAddress | undefined> {
  const faults = await Promise.all(urls.map(async (url) => faultOf(url, tls, answerMs)));
  return faults.find((fault) => fault?.mayPass === false) ?? faults.find((fault) => fault !== undefined);
}

async function faultOf(url: string, tls: Tls | undefined, answerMs: number): Promise<UnusableAddress | undefined> {
  const plain = await askPlainly(url, answerMs);
  if (plain.outcome === 'unnamed') return new UnusableAddress(unnamed(url));
  if (plain.outcome === 'unconnected') return new UnusableAddress(unconnected(url));
  if (plain.outcome === 'failed' && plain.code in OF_THE_SYSTEM) {
    return new UnusableAddress(`${OF_THE_SYSTEM[plain.code]?.(url)}`);
  }
  return url.startsWith('https:')
    ? await faultOverTls(url, plain, { tls, answerMs })
    : await faultInPlain(url, plain, answerMs);
}

const unconnected = (url: string): string =>
  `${url} does not answer a connection: its machine is off, or a firewall drops the packets; correct the address, or ` +
  'let them through';

const unnamed = (url: string): string =>
  `the name in ${url} cannot be looked up: the name servers of this machine do not answer`;

const OF_THE_SYSTEM: Readonly<Record<string, (url: string) => string>> = {
  ECONNREFUSED: (url) => `nothing listens at ${url}: start etcd, or correct the address`,
  ENOTFOUND: (url) => `the name in ${url} is not known: correct the address`,
  EAI_AGAIN: unnamed,
  EHOSTUNREACH: (url) => `there is no way to ${url}: correct the address, or the network of this machine`,
  ENETUNREACH: (url) => `there is no way to ${url}: correct the address, or the network of this machine`,
  ETIMEDOUT: unconnected,
};

const answerIn = (look: Look): string => (look.outcome === 'answered' ? look.bytes.toString('latin1') : '');

const silent = (url: string): string =>
  `${url} accepts connections and stays silent: etcd hangs, or something else listens there; restart it, or correct the ` +
  'address';
const closes = (url: string): string =>
  `${url} closes connections without an answer: what listens there is no etcd, or a proxy before it has none to offer; ` +
  'correct the address';
const noEtcd = (url: string, speaks: string): string =>
  `what listens at ${url} is no etcd: it ${speaks}; correct the address`;

async function faultInPlain(url: string, plain: Look, answerMs: number): Promise<UnusableAddress | undefined> {
  const answer = answerIn(plain);
  const isHttp = /^HTTP\/1\.[01] /.test(answer);
  if (!/^HTTP\/1\.[01] 2/.test(answer) && (await speaksTls(url, answerMs))) {
    return new UnusableAddress(`${url} speaks TLS: write https://, and set MUSTER_ETCD_CA_FILE`, false);
  }
  if (plain.outcome === 'answered') {
    if (isHttp2(plain.bytes) || answer.includes('"etcdserver"')) return undefined;
    return new UnusableAddress(noEtcd(url, isHttp ? 'answers as another web server' : 'does not speak HTTP'));
  }
  return new UnusableAddress(plain.outcome === 'silent' ? silent(url) : closes(url));
}

interface HowToAsk {
  readonly tls: Tls | undefined;
  readonly answerMs: number;
}

async function faultOverTls(
  url: string,
  plain: Look,
  { tls, answerMs }: HowToAsk,
): Promise<UnusableAddress | undefined> {
  // A server that speaks TLS answers a plain request with a refusal, if at all.
  if (/^HTTP\/1\.[01] 2/.test(answerIn(plain))) {
    return new UnusableAddress(`${url} does not speak TLS: write http://, or have etcd listen with TLS`, false);
  }
  const look = await askOverTls(url, tls, answerMs);
  if (look.outcome === 'answered') {
    return isHttp2(look.bytes) ? undefined : new UnusableAddress(noEtcd(url, 'speaks TLS, and no HTTP/2 over it'));
  }
  if (look.outcome === 'failed') return new UnusableAddress(ofTls(url, look, tls));
  return new UnusableAddress(look.outcome === 'closed' ? closes(url) : silent(url));
}

/** The codes of OpenSSL for a chain that ends in no authority of the client. */
const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
/** The alerts of a server that does not take the certificate of the client, or misses it. */
const CLIENT_REFUSED = /_ALERT_(?:CERTIFICATE_|BAD_CERTIFICATE|UNKNOWN_CA|UNSUPPORTED_CERTIFICATE|HANDSHAKE_FAILURE)/;

/** The fault of TLS in words. @param look has the code of OpenSSL, or of Node */
function ofTls(url: string, { code }: { readonly code: string }, tls: Tls | undefined): string {
  if (UNKNOWN_AUTHORITY.has(code)) {
    return `the certificate of ${url} is from an unknown authority: set MUSTER_ETCD_CA_FILE to the authority's certificate`;
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    const [is, mend] = code === 'CERT_HAS_EXPIRED' ? ['has expired', 'renew it'] : ['is not valid yet', 'wait'];
    return `the certificate of ${url} ${is}: ${mend}, or set the clock of this machine`;
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `the certificate of ${url} is for other names: write one of its names, or have it issued for this one`;
  }
  if (CLIENT_REFUSED.test(code)) {
    return tls?.certificate
      ? `${url} refuses the certificate in MUSTER_ETCD_CERT_FILE: have it issued by an authority that etcd trusts`
      : `${url} demands a certificate of its clients: set MUSTER_ETCD_CERT_FILE and MUSTER_ETCD_KEY_FILE`;
  }
  if (code.includes('NO_APPLICATION_PROTOCOL')) return noEtcd(url, 'speaks TLS, and does not offer HTTP/2 over it');
  if (code === 'ECONNRESET') return closes(url);
  return `no TLS connection to ${url} comes about (${code}): correct the address, or the TLS settings of etcd`;
}
