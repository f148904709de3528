import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { TlsPair } from '../../api/listener/http-server.ts';
import { ConfigError, type CertificatePaths } from '../../config/config.ts';
import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';
import { boundedContent, fileFault, watchedFile, type WatchedFile } from './watched-file.ts';

/** A long chain with large keys is far smaller. */
const FILE_BYTES_MAX = 1_048_576;

/** A certificate that can be presented, and its expiry. */
export interface Certificate {
  readonly pair: TlsPair;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** A pair that cannot be read, is malformed or has expired changes nothing, and one error line says why. */
export interface CertificateFiles extends WatchedFile {
  readonly current: Certificate;
}

export interface CertificateFilesDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Called with each new certificate, which the listener is to present from now on. */
  readonly renewed: (certificate: Certificate) => void;
}

/**
 * The certificate of a listener, which is renewed while the service runs.
 * @throws ConfigError that names the variables and the rule where the first certificate cannot be used
 */
export function watchedCertificate(
  listener: 'api' | 'device' | 'ops' | 'panel',
  paths: CertificatePaths,
  { clock, log, renewed }: CertificateFilesDeps,
): CertificateFiles {
  const names = `MUSTER_${listener.toUpperCase()}_TLS_CERT_FILE, …_KEY_FILE`;
  let current = firstOf(paths, names);
  if (current.expiresAt <= clock.now()) {
    log.error({ listener, expiresAt: iso(current.expiresAt) }, 'the certificate of the listener has expired: renew it');
  }

  async function take(): Promise<void> {
    const cert = await contentOf(paths.certificate);
    const key = await contentOf(paths.key);
    if (same({ cert, key }, current.pair)) return;
    // The two names come to point to new files one after the other: the next round finds both halves of the pair.
    if (!cert.equals(await contentOf(paths.certificate))) return;
    const next = parseCertificate({ cert, key });
    if (next.expiresAt <= clock.now()) throw new Error(`the new certificate has expired, ${iso(next.expiresAt)}`);
    current = next;
    renewed(next);
    log.info({ listener, expiresAt: iso(next.expiresAt) }, 'the listener presents a new certificate');
  }

  const { reread } = watchedFile({
    take,
    failed: (why) =>
      log.error({ listener, paths, why }, 'the certificate files cannot be used; the certificate from before stays'),
    recovered: () => log.info({ listener }, 'the certificate files can be used again'),
  });
  return {
    reread,
    get current() {
      return current;
    },
  };
}

function firstOf({ certificate, key }: CertificatePaths, names: string): Certificate {
  try {
    return parseCertificate({ cert: readFileSync(certificate), key: readFileSync(key) });
  } catch (error) {
    throw new ConfigError(`${names}: ${fileFault(error)}`);
  }
}

/** @throws Error in words, without the content of the files */
export function parseCertificate(pair: TlsPair): Certificate {
  let validTo: string;
  try {
    ({ validTo } = new X509Certificate(pair.cert));
  } catch (error) {
    throw new Error('the certificate is no PEM certificate', { cause: error });
  }
  try {
    createSecureContext(pair);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH') {
      throw new Error('the key is not that of the certificate', { cause: error });
    }
    throw new Error(`certificate and key are no PEM pair (${code ?? 'unknown'})`, { cause: error });
  }
  return { pair, expiresAt: Date.parse(validTo) };
}

const contentOf = (path: string): Promise<Buffer> => boundedContent(path, FILE_BYTES_MAX);
const same = (a: TlsPair, b: TlsPair): boolean => a.cert.equals(b.cert) && a.key.equals(b.key);
const iso = (at: number): string => new Date(at).toISOString();
