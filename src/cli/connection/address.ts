import { X509Certificate } from 'node:crypto';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { ConfigError } from '../../config/files/config-error.ts';
import { proxyFor, type Proxy } from '../../outgoing/proxy-variables.ts';
import { chosenContext, given, type Asked, type ChosenContext } from './chosen-context.ts';
import { boundedText, isServiceUrl } from './context-file.ts';
import { keptAddress } from './kept-addresses.ts';
import { certificateIn } from './fetch-to.ts';
import { isLoopback, localUrl, type Urls } from './service-urls.ts';

/** The three listeners of the service. */
export type Plane = keyof Urls;

/** The address of a listener. */
export interface Address {
  /** It has no slash at its end. */
  readonly url: string;
  /** Where it is from, as in `MUSTER_URL`, for words that tell what to change. */
  readonly from: string;
  /** The listener is one of this machine, so that its data directory may be asked for a secret. */
  readonly isLocal: boolean;
  /** PEM: whom to trust beside the authorities that Node knows. */
  readonly caFile?: string;
  /** PEM: the certificate that the listener presents, the only one that is believed then; of this machine alone. */
  readonly certificateFile?: string;
  readonly proxy?: Proxy;
  /** Whether the service listens there still, asked before each request; absent where only an answer tells. */
  readonly isThere?: () => boolean;
}

interface Sources {
  readonly variable: string;
  readonly inContext: 'url' | 'opsUrl' | 'deviceUrl';
  readonly option: string;
  readonly listen: string;
  readonly unset: string;
  /** The listener speaks TLS where this is set. */
  readonly certificate: string;
}

const SOURCES: Readonly<Record<Plane, Sources>> = {
  api: {
    variable: 'MUSTER_URL',
    inContext: 'url',
    option: '--url',
    listen: 'MUSTER_API_LISTEN',
    unset: '127.0.0.1:8080',
    certificate: 'MUSTER_API_TLS_CERT_FILE',
  },
  device: {
    variable: 'MUSTER_DEVICE_URL',
    inContext: 'deviceUrl',
    option: '--device-url',
    listen: 'MUSTER_DEVICE_LISTEN',
    unset: '127.0.0.1:8081',
    certificate: 'MUSTER_DEVICE_TLS_CERT_FILE',
  },
  ops: {
    variable: 'MUSTER_OPS_URL',
    inContext: 'opsUrl',
    option: '--ops-url',
    listen: 'MUSTER_OPS_LISTEN',
    unset: '127.0.0.1:8082',
    certificate: 'MUSTER_OPS_TLS_CERT_FILE',
  },
};

/** The variable that names a listener's address. */
export const variableOf = (plane: Plane): string => SOURCES[plane].variable;

/**
 * Finds a listener: by `--url`, by `--context`, by its variable, by the context of MUSTER_CONTEXT or the current one,
 * and else where a service on this machine listens.
 * @throws ConfigError; CommandFault for an unknown context
 */
export function addressOf(plane: Plane, asked: Asked, chosen = chosenContext(asked)): Address {
  const { env, globals } = asked;
  const { variable } = SOURCES[plane];
  // The authority of a context is trusted for its own services alone.
  const authority = given(env, 'MUSTER_CA_FILE');
  if (globals.url !== undefined) {
    return remote(globals.url, '--url', (chosen?.byOption ? chosen.context.caFile : undefined) ?? authority, env);
  }
  if (chosen?.byOption) return ofContext(plane, chosen, env);
  const named = given(env, variable);
  if (named !== undefined) return remote(named, variable, authority, env);
  return chosen ? ofContext(plane, chosen, env) : listening(plane, asked);
}

function ofContext(plane: Plane, chosen: ChosenContext, env: Asked['env']): Address {
  const { inContext, option } = SOURCES[plane];
  const url = chosen.context[inContext];
  if (url !== undefined) return remote(url, `the context ${chosen.name}`, chosen.context.caFile, env);
  throw new ConfigError(`the context ${chosen.name}: it has no address of this listener; add it with ${option}`);
}

/** @throws ConfigError that does not repeat the text, which may hold a secret */
function remote(text: string, from: string, caFile: string | undefined, env: Asked['env']): Address {
  if (!isServiceUrl(text)) throw new ConfigError(`${from}: must be http://HOST:PORT or https://HOST:PORT`);
  const isLocal = isLoopback(new URL(text).hostname);
  const proxy = proxyFor(text, env);
  const url = text.replace(/\/+$/, '');
  return { url, from, isLocal, ...(caFile !== undefined && { caFile }), ...(proxy && { proxy }) };
}

/**
 * Where a service on this machine listens, by its own variables, or else as `muster dev` has kept it; so also where a
 * variable lets the system choose the port.
 * @throws ConfigError
 */
export function listening(plane: Plane, { env }: Pick<Asked, 'env'>): Address {
  const { listen, unset, certificate } = SOURCES[plane];
  const told = given(env, listen);
  const kept = told === undefined || told.endsWith(':0') ? keptAddress(plane, env) : undefined;
  if (kept) return { ...kept, isLocal: true };
  const address = told ?? unset;
  const at = address.lastIndexOf(':');
  const [host, port] = [address.slice(0, at).replace(/^\[|\]$/g, ''), address.slice(at + 1)];
  const certificateFile = given(env, certificate);
  const url = localUrl(certificateFile === undefined ? 'http' : 'https', host, port);
  if (at <= 0 || !URL.canParse(url)) throw new ConfigError(`${listen}: must be host:port`);
  return {
    url,
    from: told === undefined ? `the default of ${listen}` : listen,
    isLocal: true,
    ...(certificateFile !== undefined && { certificateFile }),
  };
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Lets this process trust the authorities of an address from here on.
 * @throws ConfigError where the file, or that of the listener's own certificate, cannot be read or has no PEM certificate
 */
export function trustAuthority({ caFile, certificateFile }: Pick<Address, 'caFile' | 'certificateFile'>): void {
  if (certificateFile !== undefined) certificateIn(certificateFile);
  if (caFile === undefined) return;
  const certificates = authoritiesIn(caFile).match(CERTIFICATE) ?? [];
  if (certificates.length === 0 || !certificates.every(isCertificate)) {
    throw new ConfigError(`${caFile}: must have certificates in PEM`);
  }
  setDefaultCACertificates([...getCACertificates('default'), ...certificates]);
}

function authoritiesIn(caFile: string): string {
  let code = 'ENOENT';
  try {
    const text = boundedText(caFile);
    if (text !== undefined) return text;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
  throw new ConfigError(`${caFile}: the CA file cannot be read (${code})`);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
