import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { TlsPair } from '../api/listener/http-server.ts';
import { ConfigError, type CertificatePaths } from '../config/config.ts';
import type { Log } from '../log.ts';
import type { Clock } from '../time/clock.ts';

/** A long chain with large keys fits in it by far. */
const FILE_BYTES_MAX = 1_048_576;

export interface Certificate {
  readonly pair: TlsPair;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface CertificateFiles {
  readonly current: Certificate;
  /**
   * Takes what the files say now. What cannot be read, is malformed or has expired changes nothing, and one error line
   * says why. Never throws.
   */
  readonly reread: () => Promise<void>;
}

export interface CertificateFilesDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** A new one is to be presented. */
  readonly renewed: (certificate: Certificate) => void;
}

/**
 * The certificate of a listener. It goes by the content, as the key file does: of a mounted Secret neither inode nor
 * time tells.
 * @throws ConfigError that names listener and rule where the first one cannot be used
 */
export function watchedCertificate(
  listener: 'api' | 'device',
  paths: CertificatePaths,
  { clock, log, renewed }: CertificateFilesDeps,
): CertificateFiles {
  const names = `MUSTER_${listener.toUpperCase()}_TLS_CERT_FILE, …_KEY_FILE`;
  let current = firstOf(paths, names);
  let trouble: string | undefined;
  if (current.expiresAt <= clock.now()) {
    log.error({ listener, expiresAt: iso(current.expiresAt) }, 'the certificate of the listener has expired: renew it');
  }

  async function take(): Promise<void> {
    const cert = await contentOf(paths.certificate);
    const key = await contentOf(paths.key);
    if (same({ cert, key }, current.pair)) return;
    // Both names are led to new files, one after the other: the next round finds the other half.
    if (!cert.equals(await contentOf(paths.certificate))) return;
    const next = parseCertificate({ cert, key });
    if (next.expiresAt <= clock.now()) throw new Error(`the new certificate has expired, ${iso(next.expiresAt)}`);
    current = next;
    renewed(next);
    log.info({ listener, expiresAt: iso(next.expiresAt) }, 'the listener presents a new certificate');
  }

  return {
    get current() {
      return current;
    },
    async reread() {
      try {
        await take();
        if (trouble !== undefined) log.info({ listener }, 'the certificate files can be used again');
        trouble = undefined;
      } catch (error) {
        const words = wordsOf(error);
        if (words !== trouble) {
          log.error({ listener, paths, why: words }, 'the certificate files cannot be used; the one from before stays');
        }
        trouble = words;
      }
    },
  };
}

function firstOf({ certificate, key }: CertificatePaths, names: string): Certificate {
  try {
    return parseCertificate({ cert: readFileSync(certificate), key: readFileSync(key) });
  } catch (error) {
    throw new ConfigError(`${names}: ${wordsOf(error)}`);
  }
}

/** @throws Error in words, without what stands in the files */
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

async function contentOf(path: string): Promise<Buffer> {
  await using file = await open(path, 'r');
  const { size } = await file.stat();
  if (size > FILE_BYTES_MAX) throw new Error(`a file has more than ${FILE_BYTES_MAX} bytes`);
  return await file.readFile();
}

const same = (a: TlsPair, b: TlsPair): boolean => a.cert.equals(b.cert) && a.key.equals(b.key);
const iso = (at: number): string => new Date(at).toISOString();

/** The rule that is broken, or the system's code: never the content. */
function wordsOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? message : `a file cannot be read (${code})`;
}
