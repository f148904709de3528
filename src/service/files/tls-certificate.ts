import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { TlsPair } from '../../api/listener/http-server.ts';
import type { ConfiguredFile } from '../../config/files/configured-file.ts';
import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';
import type { FileUse } from './watched-file.ts';

/** A certificate that can be presented, and its expiry. */
export interface Certificate {
  readonly pair: TlsPair;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The certificates of authorities that are trusted. */
interface Authorities {
  readonly pem: Buffer;
  /** From then on one of them is valid no more that was when the file was taken, in milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface CertificateDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Log, 'error'>;
}

/**
 * A certificate and its key, which are renewed while the service runs.
 * @param taken is called with each new pair
 */
export function certificateUse(
  files: readonly [certificate: ConfiguredFile, key: ConfiguredFile],
  { clock, log }: CertificateDeps,
  taken: (certificate: Certificate) => void,
): FileUse<Certificate> {
  const [{ variable }] = files;
  return {
    files,
    parse([cert, key = Buffer.alloc(0)], current) {
      const next = parseCertificate({ cert, key });
      const hasExpired = next.expiresAt <= clock.now();
      if (hasExpired && current) throw new Error(`the new certificate has expired, ${iso(next.expiresAt)}`);
      // A service that starts is better than none: some clients look at no expiry.
      if (hasExpired)
        log.error({ file: variable, expiresAt: iso(next.expiresAt) }, 'a certificate has expired: renew it');
      return next;
    },
    taken(next) {
      taken(next);
      return { expiresAt: iso(next.expiresAt) };
    },
    expiresAt: ({ expiresAt }) => expiresAt,
  };
}

/** The authorities of a file. @param taken is called when they have changed */
export const authoritiesUse = (
  file: ConfiguredFile,
  { clock }: Pick<CertificateDeps, 'clock'>,
  taken: () => void = () => undefined,
): FileUse<Authorities> => ({
  files: [file],
  parse: ([pem]) => parseAuthorities(pem, clock.now()),
  taken(next) {
    taken();
    return { expiresAt: iso(next.expiresAt) };
  },
  expiresAt: ({ expiresAt }) => expiresAt,
});

/** @throws Error in words, without the content of the files */
export function parseCertificate(pair: TlsPair): Certificate {
  const expiresAt = expiryOf(pair.cert);
  try {
    createSecureContext(pair);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH') {
      throw new Error('the key is not that of the certificate', { cause: error });
    }
    throw new Error(`certificate and key are no PEM pair (${code ?? 'unknown'})`, { cause: error });
  }
  return { pair, expiresAt };
}

const PEM_CERTIFICATE =
  /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]*-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

/** A file that is cut off has fewer ends than beginnings. */
function parseAuthorities(pem: Buffer, now: number): Authorities {
  const text = pem.toString('latin1');
  const certificates = text.match(PEM_CERTIFICATE) ?? [];
  if (certificates.length === 0) throw new Error('there is no PEM certificate in it');
  if (certificates.length !== text.split('-----BEGIN ').length - 1)
    throw new Error(
      'it has more than whole PEM certificates: leave the certificates of the authorities alone in it, without a key, a ' +
        'list of revocations, or a certificate that is cut off',
    );
  const expiries = certificates.map((one) => expiryOf(Buffer.from(one, 'latin1')));
  // A bundle may have expired ones, which do no harm. Nobody but a person knows which of the others is needed.
  const valid = expiries.filter((at) => at > now);
  return { pem, expiresAt: valid.length === 0 ? Math.max(...expiries) : Math.min(...valid) };
}

function expiryOf(certificate: Buffer): number {
  try {
    return Date.parse(new X509Certificate(certificate).validTo);
  } catch (error) {
    throw new Error('the certificate is no PEM certificate', { cause: error });
  }
}

const iso = (at: number): string => new Date(at).toISOString();
